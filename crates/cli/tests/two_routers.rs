//! README's section *Putting it on two routers*, as it is written, on two home routers: each masquerades, drops what was
//! not asked for, and lets the gateways' messages in. Needs root and TUN.

mod row_support;

use airtcp_linux::gateway::command::is_installed;
use airtcp_linux::gateway::status::{self, Status};
use airtcp_linux::testbed::{Exec, Family, Program, Testbed, check_available};
use airtcp_test_support::skip;
use row_support::{home_router, load_rules, network_state, run_on, upload};
use std::path::{Path, PathBuf};

const README: &str = include_str!("../../../README.md");
/// Where README's files are.
const ETC: &str = "/etc/airtcp";
/// More than a second at README's rate.
const FILE_BYTES: u64 = 3_000_000;

/// The blocks of README's section, in their order, without indentation.
fn blocks() -> Vec<String> {
    let section = README.split("## Putting it on two routers").nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its end");
    let fenced = section.split("```").skip(1).step_by(2);
    let block = |text: &str| {
        let lines = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    fenced.map(block).collect()
}

/// Two routers between a laptop and a server.
struct Home {
    testbed: Testbed,
    directory: PathBuf,
}

impl Home {
    fn new() -> Home {
        let testbed = row_support::home();
        let directory = std::env::temp_dir().join(format!("{}routers", testbed.prefix()));
        for router in ["a", "b"] {
            std::fs::create_dir_all(directory.join(router)).expect("a directory");
        }
        load_rules(&testbed, "a", &home_router("lan", "wlan0"));
        load_rules(&testbed, "b", &home_router("wlan0", "wan"));
        Home { testbed, directory }
    }

    /// Runs a command on a node; its exit code and what it says.
    fn run(&self, node: &str, program: &str, words: &[&str]) -> (Option<i32>, String) {
        run_on(&self.testbed, node, program, words)
    }

    /// README's gateway file and key on a router, where README's commands find them.
    fn configure(&self, router: &str, other: &str, toml: &str) {
        let peer = self.testbed.link_address("wlan0", other, Family::V4).expect("an end of the link");
        let directory = self.etc(router);
        assert!(toml.contains("\"10.9.0.2:4791\"") && toml.contains(ETC));
        let toml = toml.replace("10.9.0.2", &peer.to_string()).replace(ETC, &directory);
        // The machine's own directory is no place for a test; `schema` goes on being the first line.
        let toml = toml + &format!("\nrun_directory = \"{directory}\"\n");
        std::fs::write(format!("{directory}/gateway.toml"), toml).expect("a file");
    }

    fn etc(&self, router: &str) -> String {
        self.directory.join(router).display().to_string()
    }

    /// README's commands on a router; the last one goes on running.
    fn start(&self, router: &str, commands: &str) -> Program {
        let directory = self.etc(router);
        let commands: Vec<String> = commands.lines().map(|line| line.replace(ETC, &directory)).collect();
        let (daemon, checks) = commands.split_last().expect("commands");
        for line in checks {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words[0], "airtcp");
            let (code, said) = self.run(router, env!("CARGO_BIN_EXE_airtcp"), &words[1..]);
            assert_eq!(code, Some(0), "{line}: {said}");
            if line.contains("--dry-run") {
                assert!(said.contains("airtcp_leaving"), "{said}");
            }
        }
        let words = daemon.split(' ').skip(1);
        let exec = Exec::new(env!("CARGO_BIN_EXE_airtcp")).args(words).log(self.directory.join(router).join("log"));
        self.testbed.start(router, &exec).expect("it starts")
    }

    fn status(&self, router: &str) -> Option<Status> {
        status::query(Path::new(&self.etc(router)), "wlan0").ok()
    }

    /// Waits until the status of a router's gateway is as wanted.
    fn wait_for(&self, router: &str, what: &str, wanted: impl Fn(&Status) -> bool) {
        let is_so = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            self.status(router).is_some_and(|status| wanted(&status))
        });
        let log = std::fs::read_to_string(self.directory.join(router).join("log")).unwrap_or_default();
        assert!(is_so, "waited in vain for {what}: {log}");
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// True where a test cannot run, and tells why.
fn is_skipped() -> bool {
    let reason = match check_available() {
        Err(why) => why.to_string(),
        Ok(()) if is_installed("nft") => return false,
        Ok(()) => "the program 'nft' is missing; install the package 'nftables'".to_owned(),
    };
    skip(&reason);
    true
}

#[test]
fn live_the_section_on_two_routers_is_true_on_home_routers_that_masquerade() {
    if is_skipped() {
        return;
    }
    let home = Home::new();
    let [key, toml, commands] = &blocks()[..] else { panic!("three blocks: {:?}", blocks()) };
    let before = ["a", "b"].map(|router| network_state(&home.testbed, router));
    let plain = upload(&home.testbed, 1, FILE_BYTES);
    // One key, copied to the other router.
    let key = key.replace(ETC, &home.etc("a"));
    let words: Vec<&str> = key.split(' ').collect();
    assert_eq!(words[0], "airtcp");
    let (code, said) = home.run("a", env!("CARGO_BIN_EXE_airtcp"), &words[1..]);
    assert_eq!(code, Some(0), "{said}");
    std::fs::copy(format!("{}/link.key", home.etc("a")), format!("{}/link.key", home.etc("b"))).expect("copied");
    home.configure("a", "b", toml);
    home.configure("b", "a", toml);

    let mut a = home.start("a", commands);
    upload(&home.testbed, 2, FILE_BYTES / 10);
    let alone = home.status("a").expect("it runs");
    assert!(!alone.diverting && alone.link_packets.values().all(|count| *count == 0), "{alone:?}");

    let mut b = home.start("b", commands);
    ["a", "b"].iter().for_each(|router| home.wait_for(router, "packets to be taken", |status| status.diverting));
    let helped = upload(&home.testbed, 1, FILE_BYTES);
    println!("{FILE_BYTES} bytes at 2 % loss through two masquerades: plain {plain:.2} s, with gateways {helped:.2} s");
    assert!(helped * 1.5 < plain, "plain {plain}, with gateways {helped}");
    for router in ["a", "b"] {
        let status = home.status(router).expect("it runs");
        assert!(status.conserved && status.broken.is_none() && status.link_packets["taken_out"] > 1000, "{status:?}");
    }
    for daemon in [&mut a, &mut b] {
        daemon.signal(15).expect("it runs");
        assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
    }
    assert_eq!(["a", "b"].map(|router| network_state(&home.testbed, router)), before);
}

#[test]
fn live_a_gateway_is_changed_by_command_while_it_runs() {
    if is_skipped() {
        return;
    }
    let home = Home::new();
    let etc = home.etc("a");
    let file = format!("{etc}/gateway.toml");
    let text = format!(
        "schema = 1\nscheme = \"gsnoop\"\nlink = \"wlan0\"\npeer = \"192.0.2.1:4791\"\ninsecure = true\nrun_directory = \"{etc}\"\n"
    );
    std::fs::write(&file, &text).expect("a file");
    let log = home.directory.join("a/log");
    let exec = Exec::new(env!("CARGO_BIN_EXE_airtcpd")).args(["gateway", &file, "--log", "json"]).log(&log);
    let mut daemon = home.testbed.start("a", &exec).expect("it starts");
    home.wait_for("a", "an answer", |_| true);
    let airtcpd = |words: &[&str]| home.run("a", env!("CARGO_BIN_EXE_airtcpd"), words);
    let reload = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        airtcpd(&["reload", "wlan0", "--run-directory", &etc])
    };
    let worker = home.status("a").expect("it runs").pid;

    // Wrong: file, line and remedy, and all stays.
    let (code, said) = reload(&format!("{text}rate = \"fast\"\n"));
    assert!(code == Some(1) && said.contains("gateway.toml:7") && said.contains("all stays"), "{code:?} {said}");
    let (code, said) = reload(&format!("{text}ratte = \"20Mbit\"\n"));
    assert!(code == Some(1) && said.contains("'rate'"), "{code:?} {said}");
    assert_eq!(home.status("a").expect("it runs").pid, worker);
    // Right: in place.
    let (code, said) = reload(&format!("{text}rate = \"20Mbit\"\n"));
    assert!(code == Some(0) && said.contains("without a restart"), "{code:?} {said}");
    assert_eq!(home.status("a").expect("it runs").pid, worker);
    // A port for metrics needs another worker.
    let (code, said) = reload(&format!("{text}metrics = 9791\n"));
    assert!(code == Some(0) && said.contains("new worker"), "{code:?} {said}");
    assert_ne!(home.status("a").expect("it runs").pid, worker);
    let get = "exec 3<>/dev/tcp/127.0.0.1/9791; printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3";
    let (_, metrics) = home.run("a", "bash", &["-c", get]);
    assert!(metrics.contains("airtcp_reloads_refused_total{gateway=\"wlan0\"} 2\n"), "{metrics}");
    // SIGHUP by hand ends nothing either.
    daemon.signal(1).expect("it runs");
    home.wait_for("a", "the fifth reload", |status| status.reloads.asked == 5);
    let (code, page) = airtcpd(&["status", "--run-directory", &etc]);
    assert!(code == Some(0) && page.contains("wlan0") && page.contains("not in reach"), "{page}");

    daemon.signal(15).expect("it runs");
    assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
    let log = std::fs::read_to_string(&log).expect("a log");
    let events: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let count = |event: &str| events.iter().filter(|line| line["event"] == event).count();
    assert_eq!((count("reload_refused"), count("reloaded"), count("ending")), (2, 3, 1), "{log}");
}
