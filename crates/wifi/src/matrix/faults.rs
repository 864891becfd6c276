//! `make wifi-faults`: both gateways are killed and stopped while a station uploads, at seeded times.
//!
//! Whatever happens, the server sees all bytes and a clean end, or no clean end; who waits is told within a minute; new
//! connections pass; and the network is afterwards as it was before.

use super::{Phy, Run, machine, told};
use anyhow::ensure;
use std::path::Path;

/// What the station uploads meanwhile.
const BYTES: u64 = 2_000_000;
/// Who did not hear of it has waited so long at most, in seconds, the rest of the transfer included.
const MOST: f64 = 65.0;
/// Host seconds for one machine.
const LIMIT: u64 = 1800;

/// Whom and how, in turn.
const KINDS: [(u32, &str); 4] = [(1, "KILL"), (0, "KILL"), (1, "STOP"), (0, "STOP")];

fn plan(seeds: std::ops::Range<u64>) -> String {
    let line = |seed: u64| {
        let (who, how) = KINDS[(seed % KINDS.len() as u64) as usize];
        format!("fault {who} {how} {seed} {BYTES}\n")
    };
    seeds.map(line).collect()
}

/// What is wrong with a drill, if anything.
fn complaint(run: &Run) -> Option<&'static str> {
    let [sent, again] = &run.sent[..] else { return Some("a sender did not end") };
    let [received, received_again] = &run.received[..] else { return Some("a receiver did not end") };
    let is_whole = received.bytes == BYTES && received.sha256 == sent.sha256;
    if received.end == "clean" && !is_whole {
        return Some("a cut stream ended cleanly");
    }
    if sent.end == "clean" && !is_whole {
        return Some("the sender saw a clean end of a stream that did not arrive");
    }
    if run.lasted.is_none_or(|[from, to]| to - from > MOST) {
        return Some("it took longer than a minute until both ends knew");
    }
    if again.sha256 != received_again.sha256 || received_again.end != "clean" {
        return Some("a new connection does not pass afterwards");
    }
    (run.is_network_same != Some(true)).then_some("the network is not as it was")
}

/// So many drills, a line each.
///
/// # Errors
/// One of them went wrong.
pub fn run(root: &Path, count: u64) -> anyhow::Result<()> {
    let mut wrong = 0;
    for first in (0..count).step_by(KINDS.len()) {
        let text = machine(root, (Phy::B, 1), &plan(first..count.min(first + KINDS.len() as u64)), LIMIT, 0)?;
        let runs = told::read(&text)?;
        for run in &runs {
            let complaint = complaint(run);
            wrong += u32::from(complaint.is_some());
            let ends = run.sent.first().zip(run.received.first()).map(|(sent, received)| {
                format!("{} of {} bytes; server: {}, station: {}", received.bytes, BYTES, received.end, sent.end)
            });
            let seconds = run.lasted.map_or(0.0, |[from, to]| to - from);
            let verdict = complaint.map_or("ok".to_owned(), |complaint| format!("WRONG: {complaint}"));
            println!(
                "{} seed {}: {} after {seconds:.1} s; {verdict}",
                run.asked.scheme,
                run.asked.seed,
                ends.unwrap_or_default()
            );
        }
        ensure!(runs.len() as u64 == KINDS.len() as u64, "a drill did not end; the machine said:\n{text}");
    }
    ensure!(wrong == 0, "{wrong} drills went wrong");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = r#"{"bytes":2000000,"sha256":"ab","end":"clean","span":[1.0,3.0]}"#;

    fn complaint_of(received: &str, sent: &str, lasted: &str, network: &str) -> Option<&'static str> {
        let asked = r#"{"scheme":"wlan1 KILL","stations":1,"seed":1,"bytes":2000000,"settings":""}"#;
        let text = format!(
            "@run {asked}\n@lasted {lasted}\n@sent {sent}\n@received {received}\n@sent {SENT}\n@received {SENT}\n@network {network}\n@end\n"
        );
        complaint(&told::read(&text).unwrap()[0])
    }

    #[test]
    fn a_whole_stream_and_one_that_both_ends_know_to_be_cut_are_right() {
        assert_eq!(complaint_of(SENT, SENT, "[1.0,4.0]", "\"same\""), None);
        let cut = SENT.replace("2000000", "7000").replace("ab", "cd").replace("clean", "connection reset");
        assert_eq!(complaint_of(&cut, &SENT.replace("clean", "connection reset"), "[1.0,40.0]", "\"same\""), None);
    }

    #[test]
    fn a_clean_end_of_a_cut_stream_a_long_wait_and_a_changed_network_are_wrong() {
        let cut = SENT.replace("2000000", "7000").replace("ab", "cd");
        assert!(complaint_of(&cut, SENT, "[1.0,4.0]", "\"same\"").is_some());
        let reset = cut.replace("clean", "connection reset");
        assert!(complaint_of(&reset, SENT, "[1.0,4.0]", "\"same\"").is_some(), "the sender saw a clean end");
        assert!(complaint_of(SENT, SENT, "[1.0,99.0]", "\"same\"").is_some());
        assert!(complaint_of(SENT, SENT, "[1.0,4.0]", "\"changed\"").is_some());
    }

    #[test]
    fn drills_take_all_kinds_in_turn() {
        assert_eq!(plan(0..4).lines().filter(|line| line.starts_with("fault 1")).count(), 2);
        assert_eq!(plan(0..20).lines().filter(|line| line.contains("STOP")).count(), 10);
    }
}
