//! Which frame is on the air when, and what becomes of it: the simulator's 802.11 cell, with frames of real radios.
//!
//! Frames with a packet for one radio contend, take their time and can be lost, as `airtcp_sim::dot11` says. All others,
//! such as beacons, those that join a network and those for a group, arrive at once and take no time: the simulated cell
//! has none of them. A radio hands its frames over one by one: what of them share an aggregate, the cell decides.

use super::frame::Frame;
use super::hwsim::{Heard, Radio};
use airtcp_core::{Instant, Outcome, Packet, Token};
use airtcp_sim::dot11::{Bss, CellSettings, Entry, FrameKind, Report, Tracked};
use airtcp_sim::{ElementId, InterfaceId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// What is to be told to the radios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A radio receives a frame.
    Deliver(Radio, Rc<Heard>),
    /// The sender of a frame learns what became of it, after so many transmissions.
    Conclude(Rc<Heard>, Outcome, u8),
}

/// What one radio did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Frames with data that arrived.
    pub data_frames: u64,
    /// Frames with a TCP acknowledgment and nothing else that arrived.
    pub tcp_ack_frames: u64,
    /// Transmissions.
    pub transmissions: u64,
    /// Of these, such that met others.
    pub collisions: u64,
    /// Frames that were given up.
    pub given_up: u64,
    /// Frames for which the queue had no room.
    pub dropped: u64,
    /// Frames that took no time.
    pub at_once: u64,
}

/// A frame, who it is for, and the packet in it as the simulated cell has it.
struct OnItsWay {
    to: InterfaceId,
    packet: Bytes,
    heard: Rc<Heard>,
}

/// An access point, radio 0, and its stations, the radios behind it.
pub struct Cell {
    bss: Bss,
    stations: u8,
    /// By radio: frames that have neither arrived nor are lost, in the order in which they were sent.
    on_their_way: Vec<VecDeque<OnItsWay>>,
    /// Frames whose senders wait for a status.
    waiting: BTreeMap<u64, Rc<Heard>>,
    next_token: u64,
    dropped: Vec<u64>,
    at_once: Vec<u64>,
}

impl Cell {
    /// With so many stations.
    pub fn new(settings: &CellSettings, stations: u8, seed: u64) -> Cell {
        let radios = usize::from(stations) + 1;
        Cell {
            bss: Bss::new(settings, stations.into(), seed, "wifi"),
            stations,
            on_their_way: (0..radios).map(|_| VecDeque::new()).collect(),
            waiting: BTreeMap::new(),
            next_token: 0,
            dropped: vec![0; radios],
            at_once: vec![0; radios],
        }
    }

    /// A radio sends a frame; all that was due before has been done.
    pub fn hear(&mut self, now: Instant, heard: Heard, actions: &mut Vec<Action>) {
        let (from, heard) = (usize::from(heard.from.0), Rc::new(heard));
        let Some(frame) = Frame::new(&heard.bytes).filter(|_| from < self.on_their_way.len()) else { return };
        let to = Radio::of(frame.receiver()).filter(|to| self.has(*to) && *to != heard.from);
        let (Some(to), Some(packet)) = (to, frame.packet()) else {
            self.at_once[from] += 1;
            return self.pass_at_once(&heard, actions);
        };
        let (to, bytes) = (interface(to), bytes_of(&packet));
        let tracked = Tracked { element: ElementId::from(from), token: Token(self.next_token) };
        if self.bss.send(now, InterfaceId::from(from), Entry::new(to, packet, Some(tracked))).is_ok() {
            self.on_their_way[from].push_back(OnItsWay { to, packet: bytes, heard: Rc::clone(&heard) });
            self.waiting.insert(self.next_token, heard);
            self.next_token += 1;
        } else {
            self.dropped[from] += 1;
            actions.push(Action::Conclude(heard, Outcome::Dropped, 1));
        }
    }

    fn has(&self, radio: Radio) -> bool {
        radio.0 <= self.stations
    }

    fn pass_at_once(&self, heard: &Rc<Heard>, actions: &mut Vec<Action>) {
        let Some(frame) = Frame::new(&heard.bytes) else { return };
        let one = Radio::of(frame.receiver()).filter(|_| !frame.is_for_group());
        let receivers = (0..=self.stations).map(Radio).filter(|radio| *radio != heard.from);
        let receivers: Vec<Radio> = receivers.filter(|radio| frame.is_for_group() || one == Some(*radio)).collect();
        let outcome = if receivers.is_empty() { Outcome::RetryLimit } else { Outcome::Acked };
        actions.extend(receivers.into_iter().map(|to| Action::Deliver(to, Rc::clone(heard))));
        actions.push(Action::Conclude(Rc::clone(heard), outcome, 1));
    }

    /// When [`Cell::advance`] has something to do.
    pub fn next_event(&self) -> Option<Instant> {
        self.bss.next_event()
    }

    /// Does what is due at the time of [`Cell::next_event`].
    pub fn advance(&mut self, at: Instant, actions: &mut Vec<Action>) {
        let mut reports = Vec::new();
        self.bss.advance(at, &mut reports);
        for report in reports {
            match report {
                Report::Delivered { from, to, packet } => {
                    let radio = Radio(usize::from(to) as u8);
                    actions.extend(self.take(from, to, &packet).map(|heard| Action::Deliver(radio, heard)));
                }
                // The status is what its sender hears of it.
                Report::Dropped { from, to, packet, .. } => drop(self.take(from, to, &packet)),
                Report::Status { status, .. } => {
                    let heard = self.waiting.remove(&status.token.0);
                    actions.extend(heard.map(|heard| Action::Conclude(heard, status.outcome, status.tries)));
                }
                Report::Room { .. } => {}
            }
        }
    }

    /// The frame with this packet: the first, if several carry the same.
    fn take(&mut self, from: InterfaceId, to: InterfaceId, packet: &Packet) -> Option<Rc<Heard>> {
        let (frames, bytes) = (&mut self.on_their_way[usize::from(from)], bytes_of(packet));
        let place = frames.iter().position(|frame| frame.to == to && frame.packet == bytes)?;
        frames.remove(place).map(|frame| frame.heard)
    }

    /// What each radio did so far, the access point first.
    pub fn totals(&self) -> Vec<Totals> {
        let of = |(index, (dropped, at_once))| {
            let usage = self.bss.usage(InterfaceId::from(index));
            Totals {
                data_frames: usage.frames_delivered[FrameKind::Data as usize],
                tcp_ack_frames: usage.frames_delivered[FrameKind::TcpAck as usize],
                transmissions: usage.transmissions,
                collisions: usage.collisions,
                given_up: usage.given_up,
                dropped,
                at_once,
            }
        };
        self.dropped.iter().copied().zip(self.at_once.iter().copied()).enumerate().map(of).collect()
    }
}

/// All of a packet that was parsed or is opaque.
fn bytes_of(packet: &Packet) -> Bytes {
    packet.datagram().cloned().or_else(|| packet.payload_bytes()).unwrap_or_default()
}

fn interface(radio: Radio) -> InterfaceId {
    InterfaceId::from(usize::from(radio.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;
    use airtcp_core::Value;
    use airtcp_core::parameters::Parameters;

    /// A frame with a packet of so many bytes that is not IP.
    fn data(from: u8, to: u8, bytes: usize) -> Heard {
        let mut frame = vec![0; 24 + 8 + bytes];
        frame[0] = 0x08;
        frame[4..10].copy_from_slice(&[2, 0, 0, 0, to, 0]);
        Heard::for_tests(from, frame)
    }

    fn run(cell: &mut Cell) -> (Instant, Vec<Action>) {
        let (mut end, mut actions) = (Instant::ZERO, Vec::new());
        while let Some(at) = cell.next_event() {
            cell.advance(at, &mut actions);
            end = at;
        }
        (end, actions)
    }

    fn settings(keys: &[(&str, &str)]) -> CellSettings {
        let mut settings = CellSettings::default();
        for (key, value) in keys {
            let is_number = value.parse::<f64>().is_ok();
            let value = if is_number { Value::Number((*value).into()) } else { Value::from(*value) };
            settings.set(key, &value).unwrap();
        }
        settings
    }

    #[test]
    fn a_frame_arrives_after_its_time_on_the_air_and_then_its_sender_hears_of_it() {
        let mut cell = Cell::new(&settings(&[]), 1, 1);
        let heard = Rc::new(data(1, 0, 1500));
        // The medium is idle for longer than DIFS by then, so the frame is sent at once.
        let begin = Instant::ZERO + Duration::from_millis(1);
        cell.hear(begin, Heard::clone(&heard), &mut Vec::new());
        let (end, actions) = run(&mut cell);
        assert_eq!(actions, [Action::Deliver(Radio(0), heard.clone()), Action::Conclude(heard, Outcome::Acked, 1)]);
        // Preamble and 1536 bytes at 11 Mbit/s, SIFS, preamble and ACK at 1 Mbit/s (802.11b).
        assert_eq!(end, begin + Duration::from_micros(192 + 1118 + 10 + 192 + 112));
        assert_eq!(cell.totals()[1].data_frames, 1);
    }

    #[test]
    fn a_frame_that_is_always_lost_is_given_up_at_the_limit_and_does_not_arrive() {
        let mut cell = Cell::new(&settings(&[("data_loss", "100%"), ("retry_limit", "3")]), 1, 1);
        let heard = Rc::new(data(1, 0, 100));
        cell.hear(Instant::ZERO, Heard::clone(&heard), &mut Vec::new());
        assert_eq!(run(&mut cell).1, [Action::Conclude(heard, Outcome::RetryLimit, 3)]);
        assert_eq!((cell.totals()[1].given_up, cell.totals()[1].transmissions), (1, 3));
    }

    #[test]
    fn a_frame_whose_acknowledgment_is_always_lost_arrives_once_and_counts_as_lost() {
        let mut cell = Cell::new(&settings(&[("control_loss", "100%"), ("retry_limit", "2")]), 1, 1);
        let heard = Rc::new(data(1, 0, 100));
        cell.hear(Instant::ZERO, Heard::clone(&heard), &mut Vec::new());
        let expected = [Action::Deliver(Radio(0), heard.clone()), Action::Conclude(heard, Outcome::RetryLimit, 2)];
        assert_eq!(run(&mut cell).1, expected);
    }

    #[test]
    fn frames_of_a_radio_keep_their_order_and_those_of_several_share_the_air() {
        let mut cell = Cell::new(&settings(&[("data_loss", "20%")]), 3, 5);
        for number in 0..40 {
            for from in 1..=3 {
                cell.hear(Instant::ZERO, data(from, 0, 500 + number), &mut Vec::new());
            }
        }
        let (_, actions) = run(&mut cell);
        let concluded: Vec<_> = actions
            .iter()
            .filter_map(|action| if let Action::Conclude(heard, ..) = action { Some(heard) } else { None })
            .collect();
        assert_eq!(concluded.len(), 120);
        for from in 1..=3 {
            let lengths: Vec<_> =
                concluded.iter().filter(|heard| heard.from == Radio(from)).map(|heard| heard.bytes.len()).collect();
            assert!(lengths.is_sorted(), "{lengths:?}");
        }
        let first_half: Vec<u8> = concluded[..60].iter().map(|heard| heard.from.0).collect();
        assert!((1..=3).all(|from| first_half.iter().filter(|other| **other == from).count() > 8), "{first_half:?}");
    }

    #[test]
    fn aggregates_keep_the_order_of_each_receiver_and_every_sender_hears_of_every_frame() {
        let keys = [("phy", "n"), ("mcs", "1"), ("data_loss", "30%"), ("retry_limit", "3"), ("queue", "500packets")];
        let mut cell = Cell::new(&settings(&keys), 2, 7);
        // The same bytes again and again, but for the length: which frame arrived can still be told.
        (0..300).for_each(|number| cell.hear(Instant::ZERO, data(1, 0, 500 + number), &mut Vec::new()));
        let (_, actions) = run(&mut cell);
        let delivered =
            |action: &Action| if let Action::Deliver(_, heard) = action { Some(heard.bytes.len()) } else { None };
        let delivered: Vec<_> = actions.iter().filter_map(delivered).collect();
        let concluded = |wanted: Outcome| {
            actions
                .iter()
                .filter(|action| matches!(action, Action::Conclude(_, outcome, _) if *outcome == wanted))
                .count()
        };
        assert!(delivered.is_sorted_by(|one, next| one < next), "{delivered:?}");
        let [arrived, lost] = [Outcome::Acked, Outcome::RetryLimit].map(concluded);
        assert_eq!((arrived, arrived + lost), (delivered.len(), 300));
        assert!(lost > 0 && cell.totals()[1].transmissions < 300, "{lost} lost; no aggregates");
        assert!(cell.waiting.is_empty() && cell.on_their_way.iter().all(VecDeque::is_empty));
    }

    #[test]
    fn what_does_not_fit_into_the_queue_is_reported_as_not_sent() {
        let mut cell = Cell::new(&settings(&[("queue", "2packets")]), 1, 1);
        let mut actions = Vec::new();
        (0..5).for_each(|_| cell.hear(Instant::ZERO, data(1, 0, 100), &mut actions));
        // One is being sent.
        let dropped =
            actions.iter().filter(|action| matches!(action, Action::Conclude(_, Outcome::Dropped, _))).count();
        assert_eq!((dropped, cell.totals()[1].dropped), (2, 2));
        assert_eq!(run(&mut cell).1.len(), 6);
    }

    #[test]
    fn beacons_and_broadcasts_reach_all_others_at_once_and_frames_for_nobody_reach_nobody() {
        let mut cell = Cell::new(&settings(&[("data_loss", "100%")]), 2, 1);
        let mut broadcast = data(0, 0, 28);
        broadcast.bytes[4..10].fill(0xff);
        let mut actions = Vec::new();
        cell.hear(Instant::ZERO, broadcast.clone(), &mut actions);
        let broadcast = Rc::new(broadcast);
        let to = |radio| Action::Deliver(Radio(radio), Rc::clone(&broadcast));
        assert_eq!(actions, [to(1), to(2), Action::Conclude(broadcast.clone(), Outcome::Acked, 1)]);
        let mut probe = data(1, 7, 0);
        probe.bytes[0] = 0x40;
        actions.clear();
        cell.hear(Instant::ZERO, probe.clone(), &mut actions);
        assert_eq!(actions, [Action::Conclude(Rc::new(probe), Outcome::RetryLimit, 1)]);
        assert_eq!(cell.next_event(), None, "none of them takes time");
    }
}
