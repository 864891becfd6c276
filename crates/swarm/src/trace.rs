//! The packets of one network as lines, for whoever looks for the cause of a failure.

use crate::scenario::Scenario;
use airtcp_core::packet::TcpFlags;
use airtcp_core::{DropReason, FlowKey, Instant, Packet, SeqNum};
use airtcp_sim::{Direction, RunSettings, Tap};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the network and writes a line for every packet at both ends of every link, and for each that is lost. Numbers
/// count from the SYN on. The run ends early when nobody reads on.
///
/// # Errors
/// The network cannot be run.
pub fn write(scenario: &Scenario, out: &mut dyn Write) -> Result<(), String> {
    let closed = Arc::new(AtomicBool::new(false));
    let settings = RunSettings { stop: Some(closed.clone()), ..scenario.run_settings(1) };
    let mut lines = Lines { scenario, out, closed: closed.clone(), first: BTreeMap::new() };
    let outcome = scenario.topology().run_tapped(&settings, &mut lines);
    if closed.load(Ordering::Relaxed) { Ok(()) } else { outcome.map(drop).map_err(|error| error.to_string()) }
}

struct Lines<'a> {
    scenario: &'a Scenario,
    out: &'a mut dyn Write,
    /// Nobody reads any more.
    closed: Arc<AtomicBool>,
    /// The number of each SYN.
    first: BTreeMap<FlowKey, SeqNum>,
}

impl Lines<'_> {
    fn line(&mut self, at: Instant, place: &str, what: &str, packet: &Packet) {
        let text = self.describe(packet);
        if writeln!(self.out, "{at} {place} {what} {text}").is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    fn place(&self, direction: Direction) -> String {
        let [mut from, mut to] = self.scenario.links[direction.link].ends;
        if direction.reverse {
            (from, to) = (to, from);
        }
        format!("l{} n{from}>n{to}", direction.link)
    }

    fn describe(&mut self, packet: &Packet) -> String {
        let damage = if packet.is_corrupted() { " damaged" } else { "" };
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp()) else {
            return format!(
                "{} > {}, {} bytes{damage}",
                packet.ip().source,
                packet.ip().destination,
                packet.wire_len()
            );
        };
        if tcp.flags.syn() {
            self.first.insert(flow, tcp.sequence);
        }
        let since = |flow: FlowKey, number: SeqNum| {
            number.0.wrapping_sub(self.first.get(&flow).map_or(0, |first| first.0)).cast_signed()
        };
        let flags: String = FLAGS.iter().filter(|(flag, _)| tcp.flags.0 & flag.0 != 0).map(|(_, name)| *name).collect();
        let sack: String = tcp.options.sack.as_slice().iter().fold(String::new(), |text, (left, right)| {
            format!("{text} sack {}-{}", since(flow.reversed(), *left), since(flow.reversed(), *right))
        });
        let (sequence, acknowledged) = (since(flow, tcp.sequence), since(flow.reversed(), tcp.acknowledgment));
        let (length, window) = (packet.payload_len(), tcp.window);
        format!("{flow} {flags} seq {sequence} len {length} ack {acknowledged} win {window}{sack}{damage}")
    }
}

const FLAGS: [(TcpFlags, &str); 7] = [
    (TcpFlags::SYN, "S"),
    (TcpFlags::FIN, "F"),
    (TcpFlags::RST, "R"),
    (TcpFlags::PSH, "P"),
    (TcpFlags::ACK, "."),
    (TcpFlags::ECE, "E"),
    (TcpFlags::CWR, "W"),
];

impl Tap for Lines<'_> {
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.line(at, &self.place(direction), "sent", packet);
    }

    fn on_lost(&mut self, at: Instant, direction: Direction, packet: &Packet, reason: DropReason) {
        self.line(at, &self.place(direction), &format!("lost ({})", reason.label()), packet);
    }

    fn on_arrived(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.line(at, &self.place(direction), "arrived", packet);
    }

    fn on_dropped(&mut self, at: Instant, place: &str, packet: &Packet, reason: DropReason) {
        self.line(at, place, &format!("dropped ({})", reason.label()), packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::scenario::scenario;

    #[test]
    fn a_trace_shows_a_connection_from_its_syn_on() {
        let mut text = Vec::new();
        write(&scenario(2, &Tables::built_in()), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().any(|line| line.contains(" arrived ") && line.contains(" S seq 0 len 0 ")), "{text}");
    }

    /// A reader that leaves after some bytes.
    struct Short(usize);

    impl Write for Short {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_leaves_ends_the_trace() {
        assert_eq!(write(&scenario(2, &Tables::built_in()), &mut Short(5000)), Ok(()));
    }
}
