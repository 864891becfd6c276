//! Block ACK agreements: which frames of one station another has (IEEE 802.11-2020 10.25; compressed, immediate).
//!
//! The sender (originator) numbers its frames. Those without an acknowledgment span at most a window of numbers, so a frame
//! that is missing holds the window at its number. The receiver (recipient) keeps what came early and hands everything up
//! in order. A frame that the sender gave up leaves a hole; the receiver passes it
//! - when it hears a block ACK request (BAR), which names the first number that may still come,
//! - when a frame comes whose number is beyond its window, which then ends with that frame, or
//! - when the BAR is given up, too: by its own timer.
//!
//! Numbers are counted from 0 and never wrap: of the 12 bits on the air a window of 256 is a small part.

use super::airtime::FrameKind;
use super::entry::{Entry, Tracked};
use crate::index::InterfaceId;
use airtcp_core::{Backlog, Packet};
use std::collections::VecDeque;

/// Bytes before each frame of an aggregate.
const DELIMITER: u32 = 4;

/// What an aggregate may be at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Numbers from the first frame without an acknowledgment on.
    pub window: u32,
    /// Bytes, delimiters and padding included; the first frame has no limit.
    pub bytes: u32,
}

/// The first frames without an acknowledgment, together on the air (A-MPDU).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    pub frames: usize,
    /// Delimiters and padding included; the last frame is not padded.
    pub bytes: u32,
}

impl Aggregate {
    /// With a frame of `bytes` more, behind its delimiter, at a multiple of 4.
    pub fn with(self, bytes: u32) -> Self {
        Aggregate { frames: self.frames + 1, bytes: self.bytes.next_multiple_of(4) + DELIMITER + bytes }
    }

    /// Bytes on the air where a single frame has no delimiter (802.11n).
    pub fn bare_bytes(self) -> u32 {
        if self.frames == 1 { self.bytes - DELIMITER } else { self.bytes }
    }
}

/// A frame without an acknowledgment.
#[derive(Debug)]
pub struct Mpdu {
    pub sequence: u64,
    /// Gone once it has arrived.
    pub packet: Option<Packet>,
    pub tracked: Option<Tracked>,
    pub kind: FrameKind,
    /// Header and FCS included.
    pub bytes: u32,
    /// Of its packet.
    pub packet_bytes: u32,
    /// Transmissions that failed.
    pub tries: u32,
    /// It arrives in the exchange that ends.
    pub arrives: bool,
    /// Place among all that was given to the interface.
    turn: u64,
}

/// What one interface sends to another.
#[derive(Debug)]
pub struct Agreement {
    waiting: VecDeque<(u64, Entry)>,
    /// In the order of their numbers.
    pub outstanding: VecDeque<Mpdu>,
    next_sequence: u64,
    pub recipient: Recipient,
    /// A frame was given up, and the receiver is not known to have passed it.
    pub must_request: bool,
    /// BARs that failed.
    pub request_tries: u32,
}

impl Agreement {
    fn new(window: u32) -> Self {
        Agreement {
            waiting: VecDeque::new(),
            outstanding: VecDeque::new(),
            next_sequence: 0,
            recipient: Recipient::new(u64::from(window)),
            must_request: false,
            request_tries: 0,
        }
    }

    /// The first number that may still come.
    pub fn start(&self) -> u64 {
        self.outstanding.front().map_or(self.next_sequence, |mpdu| mpdu.sequence)
    }

    /// Lets an aggregate have what else there is, first what was sent before; `overhead` is what a frame adds to a packet.
    pub fn extend(&mut self, aggregate: &mut Aggregate, limits: Limits, overhead: u32) {
        while aggregate.frames < limits.window as usize {
            let known = self.outstanding.get(aggregate.frames).map(|mpdu| mpdu.bytes);
            let is_in_window = self.next_sequence < self.start() + u64::from(limits.window);
            let new = || self.waiting.front().filter(|_| is_in_window).map(|(_, entry)| entry.bytes + overhead);
            let Some(bytes) = known.or_else(new) else { return };
            let longer = aggregate.with(bytes);
            if aggregate.frames > 0 && longer.bytes > limits.bytes {
                return;
            }
            if known.is_none() {
                self.number_next(bytes);
            }
            *aggregate = longer;
        }
    }

    /// The first packet that waits becomes a frame.
    fn number_next(&mut self, bytes: u32) {
        let Some((turn, Entry { packet, bytes: packet_bytes, kind, tracked, .. })) = self.waiting.pop_front() else {
            return;
        };
        self.outstanding.push_back(Mpdu {
            sequence: self.next_sequence,
            tracked,
            kind,
            bytes,
            packet_bytes,
            tries: 0,
            arrives: false,
            turn,
            packet: Some(packet),
        });
        self.next_sequence += 1;
    }

    /// When its first packet was given to the interface, in turns.
    fn turn(&self) -> Option<u64> {
        let sent = self.outstanding.front().map(|mpdu| mpdu.turn);
        sent.or_else(|| self.waiting.front().map(|(turn, _)| *turn))
    }

    /// Packets that were given to it and are neither handed up nor given up.
    fn held(&self) -> usize {
        let on_their_way = self.outstanding.iter().filter(|mpdu| mpdu.packet.is_some()).count();
        self.waiting.len() + on_their_way + self.recipient.held()
    }
}

/// The receiver's part: a window of numbers that begins with the first that is missing.
#[derive(Debug)]
pub struct Recipient {
    start: u64,
    size: u64,
    /// What came early; the place of `start` is the first.
    early: VecDeque<Option<Packet>>,
}

impl Recipient {
    fn new(size: u64) -> Self {
        Recipient { start: 0, size, early: VecDeque::new() }
    }

    /// A frame arrived for the first time; `up` gets what can be handed up then.
    pub fn receive(&mut self, sequence: u64, packet: Packet, up: &mut Vec<Packet>) {
        self.move_to((sequence + 1).saturating_sub(self.size), up);
        debug_assert!(sequence >= self.start, "the sender's window begins before the receiver's");
        let place = sequence.saturating_sub(self.start) as usize;
        if self.early.len() <= place {
            self.early.resize_with(place + 1, || None);
        }
        self.early[place] = Some(packet);
        self.hand_up(up);
    }

    /// Nothing before `start` will come any more. What came behind it without a hole is handed up with what came before.
    pub fn move_to(&mut self, start: u64, up: &mut Vec<Packet>) {
        while self.start < start {
            up.extend(self.early.pop_front().flatten());
            self.start += 1;
        }
        self.hand_up(up);
    }

    fn hand_up(&mut self, up: &mut Vec<Packet>) {
        while let Some(packet) = self.early.front_mut().and_then(Option::take) {
            self.early.pop_front();
            self.start += 1;
            up.push(packet);
        }
    }

    /// Packets that wait for others.
    fn held(&self) -> usize {
        self.early.iter().flatten().count()
    }
}

/// What an interface of a cell that aggregates has for others.
#[derive(Debug)]
pub struct Agreements {
    window: u32,
    /// By interface; stations have one, with the access point.
    with: Vec<Agreement>,
    turns: u64,
    /// What was neither acknowledged nor given up.
    pub backlog: Backlog,
}

impl Agreements {
    pub fn new(window: u32) -> Self {
        Agreements { window, with: Vec::new(), turns: 0, backlog: Backlog::default() }
    }

    pub fn of(&mut self, to: InterfaceId) -> &mut Agreement {
        let index = usize::from(to);
        if self.with.len() <= index {
            let window = self.window;
            self.with.resize_with(index + 1, || Agreement::new(window));
        }
        &mut self.with[index]
    }

    pub fn push(&mut self, entry: Entry) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(entry.bytes);
        let turn = self.turns;
        self.turns += 1;
        self.of(entry.to).waiting.push_back((turn, entry));
    }

    /// For whom the next frame is, and whether it is a BAR: those first, then what was given first.
    pub fn next(&self) -> Option<(InterfaceId, bool)> {
        let with = || self.with.iter().enumerate();
        let request = with().find(|(_, agreement)| agreement.must_request).map(|(to, _)| (InterfaceId::from(to), true));
        let first = || with().filter_map(|(to, agreement)| Some((agreement.turn()?, to))).min();
        request.or_else(|| first().map(|(_, to)| (InterfaceId::from(to), false)))
    }

    /// Packets for `to` that are neither acknowledged nor given up.
    pub fn waiting_for(&self, to: InterfaceId) -> usize {
        let agreement = self.with.get(usize::from(to));
        agreement.map_or(0, |agreement| agreement.waiting.len() + agreement.outstanding.len())
    }

    /// Bytes of a frame for `to` without an acknowledgment, header and FCS included, by its place.
    pub fn bytes_of(&self, to: InterfaceId, place: usize) -> Option<u32> {
        self.with.get(usize::from(to))?.outstanding.get(place).map(|mpdu| mpdu.bytes)
    }

    /// Packets that are neither handed up nor given up.
    pub fn held(&self) -> usize {
        self.with.iter().map(Agreement::held).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;
    use airtcp_core::Rng;

    /// Packets whose length says their number.
    fn numbered(sequence: u64) -> Packet {
        packet(100 + sequence as usize)
    }

    fn numbers(up: &mut Vec<Packet>) -> Vec<u64> {
        up.drain(..).map(|packet| u64::from(packet.wire_len()) - 100).collect()
    }

    #[test]
    fn what_comes_early_waits_for_what_is_missing() {
        let (mut recipient, mut up) = (Recipient::new(64), Vec::new());
        for (sequence, expected) in [(0, vec![0]), (2, vec![]), (4, vec![]), (1, vec![1, 2]), (3, vec![3, 4])] {
            recipient.receive(sequence, numbered(sequence), &mut up);
            assert_eq!(numbers(&mut up), expected, "after {sequence}");
        }
        assert_eq!(recipient.held(), 0);
    }

    #[test]
    fn a_frame_beyond_the_window_moves_it() {
        let (mut recipient, mut up) = (Recipient::new(4), Vec::new());
        for sequence in [1, 3] {
            recipient.receive(sequence, numbered(sequence), &mut up);
        }
        assert!(up.is_empty());
        // The window becomes 1 to 4.
        recipient.receive(4, numbered(4), &mut up);
        assert_eq!((numbers(&mut up), recipient.start, recipient.held()), (vec![1], 2, 2));
        // 6 to 9: 3 and 4 go up, 2 and 5 never come.
        recipient.receive(9, numbered(9), &mut up);
        assert_eq!((numbers(&mut up), recipient.start, recipient.held()), (vec![3, 4], 6, 1));
    }

    #[test]
    fn a_request_passes_what_was_given_up() {
        let (mut recipient, mut up) = (Recipient::new(64), Vec::new());
        for sequence in [1, 2, 5] {
            recipient.receive(sequence, numbered(sequence), &mut up);
        }
        recipient.move_to(1, &mut up);
        assert_eq!((numbers(&mut up), recipient.start), (vec![1, 2], 3));
        recipient.move_to(1, &mut up);
        assert_eq!((up.len(), recipient.held()), (0, 1));
    }

    #[test]
    fn frames_in_any_order_with_holes_are_handed_up_in_order_and_once() {
        let mut rng = Rng::derive(7, "reorder");
        for _ in 0..200 {
            let (mut recipient, mut up) = (Recipient::new(16), Vec::new());
            let (mut start, mut next) = (0u64, 0u64);
            let (mut missing, mut arrived): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
            for _ in 0..300 {
                match rng.below(4) {
                    // A new frame within the sender's window, which may be missing at first.
                    0 | 1 if next < start + 16 => {
                        missing.push(next);
                        next += 1;
                    }
                    // One of those that are missing arrives.
                    2 if !missing.is_empty() => {
                        let sequence = missing.remove(rng.below(missing.len() as u64) as usize);
                        arrived.push(sequence);
                        recipient.receive(sequence, numbered(sequence), &mut up);
                    }
                    // The first is given up.
                    3 if !missing.is_empty() => {
                        missing.remove(0);
                        recipient.move_to(missing.first().copied().unwrap_or(next), &mut up);
                    }
                    _ => {}
                }
                missing.sort_unstable();
                start = missing.first().copied().unwrap_or(next);
                assert!(recipient.start <= start);
            }
            recipient.move_to(next, &mut up);
            arrived.sort_unstable();
            assert_eq!((numbers(&mut up), recipient.held()), (arrived, 0));
        }
    }

    fn with_packets(lengths: &[usize]) -> Agreements {
        let mut agreements = Agreements::new(64);
        lengths.iter().for_each(|bytes| agreements.push(Entry::new(InterfaceId::AP, packet(*bytes), None)));
        agreements
    }

    #[test]
    fn an_aggregate_counts_delimiters_and_padding() {
        // Frames of 101 and 103 bytes fill 104 each, behind 4 of a delimiter; the last one is not padded.
        let mut agreements = with_packets(&[63, 65, 63]);
        let (mut aggregate, limits) = (Aggregate::default(), Limits { window: 64, bytes: 65_535 });
        agreements.of(InterfaceId::AP).extend(&mut aggregate, limits, 38);
        assert_eq!(aggregate, Aggregate { frames: 3, bytes: 108 + 108 + 4 + 101 });
        assert_eq!(aggregate.bare_bytes(), aggregate.bytes);
        assert_eq!(Aggregate::default().with(101).bare_bytes(), 101);
    }

    #[test]
    fn an_aggregate_ends_at_its_bytes_its_frames_and_the_window() {
        let frames = |agreements: &mut Agreements, window, bytes| {
            let mut aggregate = Aggregate::default();
            agreements.of(InterfaceId::AP).extend(&mut aggregate, Limits { window, bytes }, 38);
            aggregate.frames
        };
        // 4 + 138 bytes, padded to 144.
        let of_ten = || with_packets(&[100; 10]);
        assert_eq!(frames(&mut of_ten(), 64, 144 + 142), 2);
        assert_eq!(frames(&mut of_ten(), 64, 144 + 141), 1);
        assert_eq!(frames(&mut of_ten(), 64, 1), 1, "the first frame goes anyway");
        assert_eq!(frames(&mut of_ten(), 3, 65_535), 3);
        // The first of four is missing: numbers up to 3 may be sent, and 1 to 3 have been.
        let mut agreements = of_ten();
        assert_eq!(frames(&mut agreements, 4, 65_535), 4);
        agreements.of(InterfaceId::AP).outstanding.truncate(1);
        assert_eq!(frames(&mut agreements, 4, 65_535), 1, "the window is stalled");
        agreements.of(InterfaceId::AP).outstanding.clear();
        assert_eq!(frames(&mut agreements, 4, 65_535), 4);
    }
}
