//! `airtcp status`: what the gateways and forwarders on this machine do.

use super::told::{Told, told};
use super::watch;
use crate::{Failure, output};
use airtcp_core::{Gauge, Rate};
use airtcp_linux::forwarder;
use airtcp_linux::gateway::config::RUN_DIRECTORY;
use airtcp_linux::gateway::control::PeerState;
use airtcp_linux::gateway::status::{PeerStatus, Status, StatusError, names};
use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A gateway; all that run here if left out
    name: Option<String>,
    /// Directory with the gateways' sockets
    #[arg(long, default_value = RUN_DIRECTORY)]
    run_directory: PathBuf,
    /// Print JSON: everything that is counted; with --watch, a line each second of what the view shows
    #[arg(long)]
    json: bool,
    /// Show all links and forwarders on the terminal, each second anew, with the last minutes; q quits
    #[arg(long)]
    watch: bool,
    /// With --watch: look for a second, print one page and end
    #[arg(long, requires = "watch")]
    once: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let asked = || arguments.name.clone().map_or_else(|| names(&arguments.run_directory), |name| vec![name]);
    if arguments.watch {
        let ask = || ask_all(asked(), &arguments.run_directory);
        match (arguments.json, arguments.once) {
            (true, is_once) => watch::print_json(&ask, is_once)?,
            (false, true) => watch::once(&ask),
            (false, false) => watch::run(&ask)?,
        }
        return Ok(());
    }
    let asked = asked();
    if asked.is_empty() {
        let place = arguments.run_directory.display();
        return Err(Failure::input(anyhow!("no gateway runs here: there is no socket in {place}")));
    }
    let answers: Vec<(String, Result<Told, StatusError>)> =
        asked.into_iter().map(|name| (name.clone(), told(&arguments.run_directory, &name))).collect();
    if arguments.json {
        let all = answers.iter().map(|(name, answer)| match answer {
            Ok(Told::Gateway(status)) => json!(status),
            Ok(Told::Forwarder(status)) => json!(status),
            Err(error) => json!({"name": name, "error": error.to_string()}),
        });
        output::print(&format!("{:#}", json!(all.collect::<Vec<_>>())));
    } else {
        let page = |(name, answer): &(String, Result<Told, StatusError>)| match answer {
            Ok(Told::Gateway(status)) => page(status),
            Ok(Told::Forwarder(status)) => page_of_forwarder(status),
            Err(error) => format!("{name}: {error}\n"),
        };
        output::print(answers.iter().map(page).collect::<Vec<_>>().join("\n").trim_end());
    }
    let silent = answers.iter().any(|(_, answer)| answer.is_err());
    if silent { Err(Failure::Code(1)) } else { Ok(()) }
}

/// Asks all at the same time: one that is stopped takes a second to be silent.
fn ask_all(names: Vec<String>, run_directory: &Path) -> Vec<(String, Result<Told, String>)> {
    std::thread::scope(|scope| {
        let ask = |name: &String| told(run_directory, name).map_err(|error| error.to_string());
        let asked: Vec<_> = names.iter().map(|name| scope.spawn(move || ask(name))).collect();
        let answers = asked.into_iter().map(|asked| asked.join().expect("asking does not panic")).collect::<Vec<_>>();
        names.iter().cloned().zip(answers).collect()
    })
}

/// A forwarder in a few lines.
fn page_of_forwarder(status: &forwarder::Status) -> String {
    let count = |table: &BTreeMap<String, u64>, key: &str| table.get(key).copied().unwrap_or(0);
    let time = humantime(Duration::from_secs(status.uptime_ns / 1_000_000_000));
    let [opened, asked, finished, broken] =
        ["opened", "asked", "finished", "broken"].map(|key| count(&status.counters, key));
    let [connections, memory] = ["connections", "memory"].map(|key| count(&status.gauges, key));
    let mut text = format!("{}: forwarder\n  state    {}; up {time}\n", status.name, status.state);
    let _ = writeln!(text, "  peer     {} {}", status.peer, of_peer(Some(&status.peer_state)));
    let _ = writeln!(
        text,
        "  now      {connections} connections, {memory} bytes in buffers\n  so far   {opened} opened here, {asked} at the \
         peer's wish, {finished} complete, {broken} reset"
    );
    let refused = status.counters.iter().filter(|(name, count)| name.starts_with("refused") && **count > 0);
    for (what, counts) in [
        ("reset by", status.broken.iter().collect::<Vec<_>>()),
        ("refused", refused.collect()),
        ("ignored", status.ignored.iter().collect()),
    ] {
        let counts = counts.iter().filter(|(_, count)| **count > 0).map(|(reason, count)| format!("{reason} {count}"));
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            let _ = writeln!(text, "  {what:<8} {}", counts.join(", "));
        }
    }
    text
}

/// A gateway in a few lines.
fn page(status: &Status) -> String {
    let mut text = format!("{}: {} on {}\n", status.name, status.scheme, status.link);
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "  {what:<8} {value}");
    };
    let time = humantime(Duration::from_secs(status.uptime_ns / 1_000_000_000));
    let taken = match status.diverting {
        true => format!("packets are taken {}", status.method),
        false => "no packets are taken, the kernel forwards".to_owned(),
    };
    line("state", format!("{taken}; up {time}, {} restarts", status.restarts));
    if let Some(peer) = &status.peer {
        line("peer", format!("{peer} {}", of_peer(status.peer_state.as_ref())));
    }
    for peer in &status.peers {
        line("peer", page_of_peer(peer));
    }
    for sentence in status.advice.iter().chain(&status.broken) {
        line("notice", sentence.clone());
    }
    if status.peers.is_empty() {
        line("link", of_link(&status.gauges));
    }
    let count = |table: &BTreeMap<String, u64>, key: &str| table.get(key).copied().unwrap_or(0);
    let [to, from] = ["received_inner", "received_link"].map(|key| count(&status.packets, key));
    line("packets", format!("{to} towards the link, {from} from it, {} repairs", count(&status.events, "repairs")));
    for (what, table) in [("dropped", &status.discarded), ("ignored", &status.control_ignored)] {
        let counts = table.iter().filter(|(_, count)| **count > 0).map(|(reason, count)| format!("{reason} {count}"));
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            line(what, counts.join(", "));
        }
    }
    text
}

/// One of several peers: who, whether it answers, what is known of the link to it, and what should be done about it.
fn page_of_peer(peer: &PeerStatus) -> String {
    let address = peer.peer.as_ref().map_or(String::new(), |address| format!(" at {address}"));
    let mut text = format!("{}{address} {}", peer.name, of_peer(peer.peer_state.as_ref()));
    if peer.peer_state.as_ref().is_some_and(|state| state.up) {
        let _ = write!(text, "; {}", of_link(&peer.gauges));
    }
    for sentence in peer.advice.iter().chain(&peer.broken) {
        let _ = write!(text, "; notice: {sentence}");
    }
    text
}

fn of_peer(state: Option<&PeerState>) -> String {
    match state {
        Some(state) if state.up => {
            let program = state.introduction.as_ref().map_or("", |who| who.program.as_str());
            let secured = if state.secured { "messages are authenticated" } else { "without a key" };
            format!("answers (airtcp {program}); {secured}")
        }
        Some(state) => format!("is not in reach: {}", state.why),
        None => "is not known yet".to_owned(),
    }
}

fn of_link(gauges: &BTreeMap<String, u64>) -> String {
    let gauge = |gauge: Gauge| gauges.get(gauge.label()).copied().filter(|value| *value > 0);
    let millis = |nanos: u64| format!("{:.1} ms", nanos as f64 / 1e6);
    let parts = [
        gauge(Gauge::RATE_BPS).map(|bps| format!("sent to at {}bit/s", in_short(Rate::from_bps(bps)))),
        gauge(Gauge::LINK_RTT_NS).map(|nanos| format!("{} round trip", millis(nanos))),
        gauge(Gauge::LINK_WAIT_NS).map(|nanos| format!("{} wait in it", millis(nanos))),
        gauge(Gauge::QUEUE_BYTES).map(|bytes| format!("{bytes} bytes wait before it")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing is known of it yet".to_owned() } else { parts.join(", ") }
}

/// `8.93 M`
fn in_short(rate: Rate) -> String {
    let (bps, units) = (rate.bps() as f64, [(1e9, "G"), (1e6, "M"), (1e3, "k")]);
    let unit = units.into_iter().find(|(factor, _)| bps >= *factor);
    unit.map_or_else(|| format!("{bps} "), |(factor, name)| format!("{:.3} {name}", bps / factor))
}

/// `3 d 4 h`, `12 min`, `7 s`
fn humantime(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_are_short() {
        let rates = [999, 32_000, 8_930_000, 1_000_000_000].map(|bps| in_short(Rate::from_bps(bps)));
        assert_eq!(rates, ["999 ", "32.000 k", "8.930 M", "1.000 G"]);
        let times = [7, 720, 7_500, 273_600].map(|seconds| humantime(Duration::from_secs(seconds)));
        assert_eq!(times, ["7 s", "12 min", "2 h 5 min", "3 d 4 h"]);
    }

    #[test]
    fn a_peer_is_told_in_a_line() {
        let state = |up| PeerState { up, why: "nothing is heard from it".into(), secured: true, introduction: None };
        let mut peer = PeerStatus { name: "east".into(), peer_state: Some(state(false)), ..PeerStatus::default() };
        assert_eq!(page_of_peer(&peer), "east is not in reach: nothing is heard from it");
        peer.peer = Some("10.9.0.2:4791".into());
        peer.peer_state = Some(state(true));
        peer.gauges = [("rate_bps".to_owned(), 8_930_000)].into();
        peer.advice = Some("send less".into());
        let line = page_of_peer(&peer);
        assert!(line.starts_with("east at 10.9.0.2:4791 answers") && line.contains("8.930 Mbit/s"), "{line}");
        assert!(line.ends_with("notice: send less"), "{line}");
    }

    #[test]
    fn what_is_not_known_of_a_link_is_left_out() {
        let gauges = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        assert_eq!(of_link(&gauges(&[])), "nothing is known of it yet");
        let known = gauges(&[("rate_bps", 8_930_000), ("link_rtt_ns", 30_400_000), ("link_wait_ns", 0)]);
        assert_eq!(of_link(&known), "sent to at 8.930 Mbit/s, 30.4 ms round trip");
    }
}
