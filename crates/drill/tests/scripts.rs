//! Every script in `scripts/` against both stacks.

use airtcp_drill::{Kernel, Ours, Script, play};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

/// So many scripts are kept at least.
const SCRIPTS: usize = 60;
/// A script that the kernel plays too late on a busy machine is played again.
const ATTEMPTS: usize = 4;
/// Scripts wait more than they work.
const AT_ONCE: usize = 6;

fn scripts() -> BTreeMap<String, Script> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: &Path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let script = Script::parse(&std::fs::read_to_string(path).unwrap());
        (name.clone(), script.unwrap_or_else(|error| panic!("{name}:{error}")))
    };
    paths.map(|path| read(&path)).collect()
}

fn can_run(test: &str) -> bool {
    let Err(reason) = Kernel::check_available() else { return true };
    eprintln!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("AIRTCP_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(log, "{test}: {reason}").unwrap();
    }
    false
}

#[test]
fn our_tcp_does_to_the_microsecond_what_the_scripts_say() {
    let scripts = scripts();
    assert!(scripts.len() >= SCRIPTS, "{} scripts", scripts.len());
    let differences: Vec<String> = scripts
        .iter()
        .filter_map(|(name, script)| Some(format!("{name}: {}", play(script, &mut Ours::new(script)).err()?)))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn live_the_kernel_does_what_the_scripts_say() {
    if !can_run("live_the_kernel_does_what_the_scripts_say") {
        return;
    }
    let scripts = scripts();
    let left = Mutex::new(scripts.iter());
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, script)) = { left.lock().unwrap().next() } {
                    let attempt = |_| play(script, &mut Kernel::new(script).unwrap()).err();
                    let failed: Option<Vec<_>> = (0..ATTEMPTS).map(attempt).collect();
                    if let Some(last) = failed.and_then(|mut all| all.pop()) {
                        differences.lock().unwrap().push(format!("{name}: {last}"));
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Each a script that our TCP does not follow, and a part of what is said about it.
const WRONG: [(&str, &str, &str); 6] = [
    ("send-initial-window", "tcpi_snd_cwnd == 12", "tcpi_snd_cwnd is 12, expected Equal 13"),
    ("send-write-cut", "2001:2501(500)", "expected P. 2001:2500(499)"),
    ("loss-rto", "+.3 >", "nothing was sent until"),
    ("loss-rto", "+.3 >", "was sent at"),
    ("receive-sack-order", "3001:4001 1001:2001", "expected . 1:1(0) ack 1 <sack"),
    ("close-active", "+0 > . 2:2(0) ack 2", "the script ends without it"),
];

#[test]
fn a_script_that_says_something_else_fails_with_what_happened() {
    let changes = ["tcpi_snd_cwnd == 13", "2001:2500(499)", "+.29 >", "+.31 >", "1001:2001 3001:4001", ""];
    for ((name, from, expected), to) in WRONG.into_iter().zip(changes) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(format!("{name}.pkt"));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        let script = Script::parse(&text.replacen(from, to, 1)).unwrap();
        let difference = play(&script, &mut Ours::new(&script)).expect_err("a difference").to_string();
        assert!(difference.contains(expected) && difference.starts_with("line "), "{name}: {difference}");
    }
}
