//! Every script in `scripts/` against both stacks.

mod live;

use airtcp_drill::{Ours, Script, collection, play};
use live::can_run;
use std::sync::Mutex;

/// So many scripts are kept at least.
const SCRIPTS: usize = 60;
/// Scripts wait more than they work.
const AT_ONCE: usize = 6;

#[test]
fn our_tcp_does_to_the_microsecond_what_the_scripts_say() {
    let scripts = collection::read(&collection::kept()).unwrap();
    assert!(scripts.len() >= SCRIPTS, "{} scripts", scripts.len());
    let difference = |script: &Script| play(script, &mut Ours::new(script)).err();
    let differences: Vec<String> = scripts
        .iter()
        .filter_map(|(path, script)| Some(format!("{}: {}", path.display(), difference(script)?)))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn live_the_kernel_does_what_the_scripts_say() {
    if !can_run() {
        return;
    }
    let scripts = collection::read(&collection::kept()).unwrap();
    let left = Mutex::new(scripts.iter());
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((path, script)) = { left.lock().unwrap().next() } {
                    if let Some(difference) = collection::play_on_kernel(script).unwrap() {
                        differences.lock().unwrap().push(format!("{}: {difference}", path.display()));
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A script, a change that makes it say what our TCP does not do, and a part of what is said about it.
struct Wrong {
    script: &'static str,
    from: &'static str,
    to: &'static str,
    said: &'static str,
}

const WRONG: [Wrong; 6] = [
    Wrong {
        script: "send-initial-window",
        from: "tcpi_snd_cwnd == 12",
        to: "tcpi_snd_cwnd == 13",
        said: "tcpi_snd_cwnd is 12, expected Equal 13",
    },
    Wrong {
        script: "send-write-cut",
        from: "2001:2501(500)",
        to: "2001:2500(499)",
        said: "expected P. 2001:2500(499)",
    },
    Wrong { script: "loss-rto", from: "+.3 >", to: "+.29 >", said: "nothing was sent until" },
    Wrong { script: "loss-rto", from: "+.3 >", to: "+.31 >", said: "was sent at" },
    Wrong {
        script: "receive-sack-order",
        from: "3001:4001 1001:2001",
        to: "1001:2001 3001:4001",
        said: "expected . 1:1(0) ack 1 <sack",
    },
    Wrong { script: "close-active", from: "+0 > . 2:2(0) ack 2", to: "", said: "the script ends without it" },
];

#[test]
fn a_script_that_says_something_else_fails_with_what_happened() {
    for Wrong { script: name, from, to, said } in WRONG {
        let text = std::fs::read_to_string(collection::kept().join(format!("{name}.pkt"))).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        let script = Script::parse(&text.replacen(from, to, 1)).unwrap();
        let difference = play(&script, &mut Ours::new(&script)).expect_err("a difference").to_string();
        assert!(difference.contains(said) && difference.starts_with("line "), "{name}: {difference}");
    }
}
