//! *Is it for me?* `airtcp gateway FILE --observe` on links whose answer is known, because the same traffic was measured there
//! with gateways and without.
//!
//! Two links run by default. All twelve run with `AIRTCP_TEST_LONG`, and with `AIRTCP_OBSERVE=measure` also with gateways and
//! without, and the answer that this measurement gives is held against the one that was expected. `AIRTCP_OBSERVE=NAME` runs the
//! links whose name contains it; `AIRTCP_OBSERVE=measure:NAME` measures these. Needs root and TUN.

use airtcp_core::parameters::Parameters;
use airtcp_core::{Duration, Instant};
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::gateway::command::is_installed;
use airtcp_linux::gateway::status;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family, LinkSpec, NodeSpec, Program, Testbed, TestbedSpec, check_available};
use airtcp_linux::traffic::{self, Carrier, FlowSpec, Stream};
use airtcp_schemes::socket::datagram::Pace;
use airtcp_test_support::{is_long, skip};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::MutexGuard;

const PORT: u16 = 4791;
/// From so many times plain goodput on gateways gain, as the judgement has it.
const WORTH: f64 = 1.1;

/// How long a run with gateways or without is.
const MEASURED: Duration = Duration::from_secs(15);

/// What crosses a link.
#[derive(Clone, Copy)]
enum Traffic {
    Tcp(&'static str),
    Quic(&'static str),
    Tunnel(&'static str),
    /// Four downloads and a constant rate beside them.
    TooMuch,
}

/// Who is at the other end while the link is watched.
#[derive(Clone, Copy, PartialEq)]
enum Peer {
    /// Nobody, and the file names none.
    Impossible,
    /// Nobody yet.
    Silent,
    /// `airtcp probe --listen`.
    Answers,
}

struct Case {
    name: &'static str,
    out: &'static [(&'static str, &'static str)],
    back: &'static [(&'static str, &'static str)],
    traffic: Traffic,
    peer: Peer,
    answer: &'static str,
}

const BURSTS: &str = "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 20 }";
const STEPS: &str = "{ kind = \"steps\", steps = \"20Mbit, 5Mbit from 7s, 15Mbit from 14s\" }";

const fn case(
    name: &'static str,
    out: &'static [(&'static str, &'static str)],
    traffic: Traffic,
    answer: &'static str,
) -> Case {
    Case { name, out, back: &[], traffic, peer: Peer::Silent, answer }
}

const CASES: [Case; 12] = [
    case("clean", &[], Traffic::Tcp("cubic"), "no"),
    case("0.1 %", &[("loss", "0.1%")], Traffic::Tcp("cubic"), "yes"),
    case("1 %", &[("loss", "1%")], Traffic::Tcp("cubic"), "yes"),
    case("5 %", &[("loss", "5%")], Traffic::Tcp("cubic"), "yes"),
    case("bursts of 20, 2 %", &[("loss", BURSTS)], Traffic::Tcp("cubic"), "yes"),
    case("varying rate", &[("rate", STEPS)], Traffic::Tcp("cubic"), "no"),
    Case { peer: Peer::Answers, ..case("QUIC only, 2 %", &[("loss", "2%")], Traffic::Quic("cubic"), "yes") },
    Case { peer: Peer::Answers, ..case("VPN only, 2 %", &[("loss", "2%")], Traffic::Tunnel("cubic"), "yes") },
    case("BBR, 1 %", &[("loss", "1%")], Traffic::Tcp("bbr"), "no"),
    Case {
        peer: Peer::Impossible,
        ..case("no peer possible, 5 %", &[("loss", "5%")], Traffic::Tcp("cubic"), "not_here")
    },
    Case { back: &[("rate", "500kbit")], ..case("asymmetric, 1 %", &[("loss", "1%")], Traffic::Tcp("cubic"), "yes") },
    case("overloaded", &[], Traffic::TooMuch, "no"),
];

/// Those that run by default, and for how many seconds: 5 % lose about four segments in each of them.
const SHORT: [(&str, u64); 2] = [("clean", 4), ("5 %", 7)];

/// Settings of the link in the middle.
fn air(changes: &[(&str, &str)]) -> LinkSettings {
    let usual = [("rate", "20Mbit"), ("delay", "15ms"), ("queue", "{ kind = \"droptail\", limit = \"125kB\" }")];
    settings(&[&usual, changes].concat())
}

fn settings(keys: &[(&str, &str)]) -> LinkSettings {
    let mut settings = LinkSettings::default();
    keys.iter().for_each(|(key, value)| settings.set(key, &(*value).into()).expect("a setting"));
    settings
}

/// sender – a – b – receiver, 50 ms there and back.
struct Bed {
    testbed: Testbed,
    directory: PathBuf,
}

impl Bed {
    fn up() -> Bed {
        let wire = settings(&[("rate", "200Mbit"), ("delay", "9ms")]);
        let lan = settings(&[("rate", "200Mbit"), ("delay", "1ms")]);
        let link = |name, between, both: &LinkSettings| LinkSpec::new(name, between, both.clone(), both.clone());
        let node = |name: &str| NodeSpec { name: name.into(), forwards: name.len() == 1 };
        let spec = TestbedSpec {
            nodes: ["sender", "a", "b", "receiver"].map(node).into(),
            links: vec![
                link("wire", ["sender", "a"], &wire),
                link("air", ["a", "b"], &air(&[])),
                link("lan", ["b", "receiver"], &lan),
            ],
            default_controller: "cubic".into(),
            emulator: EmulatorOptions::default(),
        };
        let testbed = Testbed::up(spec).expect("a testbed");
        let directory = std::env::temp_dir().join(format!("{}observe", testbed.prefix()));
        for node in ["a", "b"] {
            std::fs::create_dir_all(directory.join(node)).expect("a directory");
        }
        Bed { testbed, directory }
    }

    fn restart(&self, case: &Case, seed: u64) -> Instant {
        let links = &self.testbed.spec().links;
        let of = |link: &LinkSpec| match link.name.as_str() {
            "air" => [air(case.out), air(case.back)],
            _ => [link.forward.clone(), link.reverse.clone()],
        };
        let settings = links.iter().map(of).collect();
        self.testbed.emulator().restart(seed, Some(settings), Duration::ZERO).expect("the emulator runs")
    }

    /// The gateway file of a node.
    fn file(&self, node: &str, other: &str, has_peer: bool) -> String {
        let peer = self.testbed.link_address("air", other, Family::V4).expect("an end of the air");
        let directory = self.directory.join(node).display().to_string();
        let peer = if has_peer { format!("peer = \"{peer}:{PORT}\"\ninsecure = true\n") } else { String::new() };
        let text =
            format!("schema = 1\nscheme = \"local-recovery\"\nlink = \"air\"\n{peer}run_directory = \"{directory}\"\n");
        let file = format!("{directory}/gateway.toml");
        std::fs::write(&file, text).expect("a file");
        file
    }

    fn start(&self, node: &str, words: &[&str], log: &str) -> Program {
        let log = self.directory.join(node).join(log);
        let exec = Exec::new(env!("CARGO_BIN_EXE_airtcp")).args(words).log(log);
        self.testbed.start(node, &exec).expect("it starts")
    }

    fn log(&self, node: &str, log: &str) -> String {
        std::fs::read_to_string(self.directory.join(node).join(log)).unwrap_or_default()
    }

    fn flows(&self, traffic: Traffic, seed: u64, until: Duration) -> Vec<FlowSpec> {
        let end = |node| self.testbed.end(node, Family::V4).expect("a node");
        let (warmup, long) = (Duration::from_secs(2), Carrier::Quic { receive_window: 6 << 20 });
        let flow = |name: &str, controller: &str, carrier: Carrier| {
            let bulk = FlowSpec::bulk(name, end("sender"), end("receiver"), controller, warmup, until);
            FlowSpec { seed, carrier, ..bulk }
        };
        match traffic {
            Traffic::Tcp(controller) => vec![flow("tcp", controller, Carrier::Tcp)],
            // The port tells QUIC from others in the middle of a connection.
            Traffic::Quic(controller) => vec![FlowSpec { port: 443, ..flow("quic", controller, long) }],
            Traffic::Tunnel(controller) => vec![flow("tunnel", controller, Carrier::Wireguard { mtu: 1420 })],
            Traffic::TooMuch => {
                let pace = Some(Pace::Every(Duration::from_millis(1)));
                let constant = Carrier::Datagrams(Stream { pace, via: None, packet: 1250, dscp: 0 });
                let downloads = (0..4).map(|number| flow(&format!("tcp{number}"), "cubic", Carrier::Tcp));
                downloads.chain([flow("constant", "cubic", constant)]).collect()
            }
        }
    }

    /// Runs the traffic of a case; its goodput in Mbit/s, of all flows.
    fn carry(&self, case: &Case, seed: u64, time: Duration) -> Result<f64, String> {
        let origin = self.restart(case, seed);
        let flows = self.flows(case.traffic, seed, time).into_iter().map(|spec| traffic::start(spec, origin));
        let running: Vec<_> = flows.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let results = running.into_iter().map(|flow| flow.join().map_err(|error| error.to_string()));
        Ok(results.collect::<Result<Vec<_>, _>>()?.iter().map(|result| result.goodput().bps() as f64 / 1e6).sum())
    }

    /// What is said of a link that is watched, and the goodput meanwhile.
    fn observe(&self, case: &Case, time: Duration) -> Result<(Value, f64), String> {
        let file = self.file("a", "b", case.peer != Peer::Impossible);
        let listening =
            (case.peer == Peer::Answers).then(|| self.start("b", &["probe", "--listen", "--insecure"], "listen"));
        let seconds = format!("{}s", time.as_nanos() / 1_000_000_000);
        let mut watch = self.start("a", &["gateway", &file, "--observe", "--for", &seconds, "--json"], "observe");
        let goodput = self.carry(case, 1, time)?;
        assert_eq!(watch.wait().expect("it ends").code(), Some(0), "{}", self.log("a", "observe"));
        drop(listening);
        Ok((serde_json::from_str(&self.log("a", "observe")).expect("JSON"), goodput))
    }

    /// Goodput with gateways over that without: of two runs each, their sums.
    fn gain(&self, case: &Case, time: Duration) -> Result<f64, String> {
        let sum = |bed: &Bed| (2..4).map(|seed| bed.carry(case, seed, time)).sum::<Result<f64, String>>();
        let plain = sum(self)?;
        let there = case.peer != Peer::Impossible;
        let ends: &[(&str, &str)] = if there { &[("a", "b"), ("b", "a")] } else { &[("a", "b")] };
        self.restart(case, 1);
        let gateways: Vec<Program> = ends
            .iter()
            .map(|(node, other)| self.start(node, &["gateway", &self.file(node, other, true)], "gateway"))
            .collect();
        for (node, _) in ends {
            let is_up = || {
                let status = status::query(&self.directory.join(node), "air");
                status.is_ok_and(|status| !there || status.diverting)
            };
            let asked = clock::now();
            while !is_up() {
                let waited = clock::now().saturating_since(asked);
                assert!(waited < Duration::from_secs(10), "no gateway: {}", self.log(node, "gateway"));
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        let helped = sum(self)?;
        drop(gateways);
        Ok(helped / plain)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn is_chosen(case: &Case) -> bool {
    match std::env::var("AIRTCP_OBSERVE") {
        Ok(wanted) if wanted != "measure" => case.name.contains(wanted.trim_start_matches("measure:")),
        _ => is_long() || SHORT.iter().any(|(name, _)| *name == case.name),
    }
}

/// Waits for this test's turn; `None`, with the reason told, where it cannot run.
fn turn() -> Option<MutexGuard<'static, ()>> {
    let needs_nft = || {
        let missing = "the program 'nft' is missing; install the package 'nftables'";
        if is_installed("nft") { Ok(()) } else { Err(missing.to_owned()) }
    };
    airtcp_test_support::turn(check_available().map_err(|why| why.to_string()).and_then(|()| needs_nft()))
}

#[test]
fn live_a_hop_is_probed_from_one_end_if_the_other_answers_with_the_same_key() {
    let Some(_turn) = turn() else { return };
    let bed = Bed::up();
    let lossy = &[("loss", "20%")];
    bed.restart(&Case { back: lossy, ..case("probed", lossy, Traffic::Tcp("cubic"), "yes") }, 1);
    let keys = ["one", "other"].map(|name| bed.directory.join(name).display().to_string());
    for key in &keys {
        assert_eq!(bed.start("a", &["key", key], "key").wait().expect("it ends").code(), Some(0));
    }
    let peer = bed.testbed.link_address("air", "b", Family::V4).expect("an end of the air").to_string();
    let _listening = bed.start("b", &["probe", "--listen", "--key", &keys[0]], "listen");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let probe = |key: &str, log: &str| {
        let words = ["probe", &peer, "--key", key, "--for", "6s", "--json"];
        (bed.start("a", &words, log).wait().expect("it ends").code(), bed.log("a", log))
    };
    if is_long() {
        let (code, said) = probe(&keys[1], "stranger");
        assert!(code == Some(1) && said.contains("answers no probes") && said.contains("--listen"), "{said}");
    }
    let (code, said) = probe(&keys[0], "probe");
    assert_eq!(code, Some(0), "{said}");
    let told: Value = serde_json::from_str(&said).expect("JSON");
    let hop = &told["evidence"]["hop"];
    let number = |key: &str| hop[key].as_f64().expect("a number");
    // A fifth each way, of fifty and more; 30 ms; 20 Mbit/s or what came of them.
    let lost = [number("lost") / number("sent"), number("answers_lost") / (number("sent") - number("lost"))];
    assert!(lost.iter().all(|share| (0.04..0.45).contains(share)), "{lost:?}");
    assert!((30.0..34.0).contains(&number("round_trip_ms")), "{hop}");
    assert!((4e6..22e6).contains(&number("rate_bps")), "{hop}");
    assert!(number("bytes") < 600_000.0, "{hop}");
    assert_eq!(told["verdict"]["answer"], "yes", "{told}");
}

#[test]
fn live_a_link_that_is_watched_is_told_from_one_where_gateways_gain_nothing() {
    let Some(_turn) = turn() else { return };
    let is_measured = std::env::var("AIRTCP_OBSERVE").is_ok_and(|wanted| wanted.starts_with("measure"));
    let bed = Bed::up();
    let (mut wrong, mut falsely_yes, mut asked) = (Vec::new(), Vec::new(), 0);
    println!("| link | answer | measured gain | expected gain | goodput, Mbit/s | sentence |");
    for case in CASES.iter().filter(|case| is_chosen(case)) {
        let short = SHORT.iter().find(|(name, _)| *name == case.name && !is_long());
        let time = Duration::from_secs(short.map_or(20, |(_, seconds)| *seconds));
        let (told, goodput) = match bed.observe(case, time) {
            Ok(told) => told,
            Err(reason) => {
                skip(&format!("{}: {reason}", case.name));
                continue;
            }
        };
        if std::env::var_os("AIRTCP_OBSERVE_ALL").is_some() {
            println!("{told:#}");
        }
        asked += 1;
        let (answer, verdict) = (told["verdict"]["answer"].as_str().expect("an answer"), &told["verdict"]);
        let gain = is_measured.then(|| bed.gain(case, MEASURED).expect("flows"));
        let supported = match gain {
            Some(gain) if case.peer == Peer::Impossible => ["not_here", "yes"][usize::from(gain >= WORTH)],
            Some(gain) => ["no", "yes"][usize::from(gain >= WORTH)],
            None => case.answer,
        };
        let measured = gain.map_or("-".to_owned(), |gain| format!("{gain:.2}"));
        println!(
            "| {} | {answer} | {measured} | {} | {goodput:.2} | {} |",
            case.name, verdict["gain"], verdict["sentence"]
        );
        if answer != supported {
            wrong.push(format!("{}: {answer}, supported is {supported}", case.name));
        }
        if answer == "yes" && supported != "yes" {
            falsely_yes.push(case.name);
        }
    }
    assert!(falsely_yes.is_empty(), "{falsely_yes:?}");
    // One in twelve may be wrong.
    assert!(wrong.len() * 12 <= asked && asked > 0, "{wrong:?} of {asked}");
}
