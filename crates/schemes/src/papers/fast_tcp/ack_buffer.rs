//! The ACK buffer (FTC-5): a FIFO for all flows (FTC-U8), or one for each, served in turn. Acknowledgments of a lane
//! leave in the order they came.

use crate::tally::Tally;
use airtcp_core::{Duration, Instant, Packet};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

/// Memory of a waiting acknowledgment besides the packet: its place here and in three trees.
const OVERHEAD: u64 = 192;

/// An acknowledgment that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub packet: Packet,
    /// When it came.
    pub since: Instant,
    /// Data segments it newly acknowledges, in time on the link: the distance that is kept behind it below the
    /// threshold.
    pub distance: Duration,
    /// How to send it in parts, if that is safe.
    pub series: Option<super::split::Series>,
    /// How long it may wait; `None` without bound.
    pub longest: Option<Duration>,
}

impl Waiting {
    /// When it has waited as long as it may.
    fn overdue_at(&self) -> Option<Instant> {
        Some(self.since.saturating_add(self.longest?))
    }
}

/// Bounds of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// IP bytes that may wait.
    pub bytes: u64,
    /// Memory that they may take.
    pub memory: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct AckBuffer {
    limits: Limits,
    lanes: BTreeMap<u32, Lane>,
    /// Lanes in the order they are served.
    turns: BTreeMap<u64, u32>,
    next_turn: u64,
    /// When the first of each lane has waited long enough.
    overdue: BTreeSet<(Instant, u32)>,
    /// What waits.
    pub held: Tally,
}

#[derive(Debug)]
struct Lane {
    waiting: VecDeque<Waiting>,
    turn: u64,
}

impl AckBuffer {
    pub fn new(limits: Limits) -> Self {
        AckBuffer {
            limits,
            lanes: BTreeMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            overdue: BTreeSet::new(),
            held: Tally::default(),
        }
    }

    /// Takes an acknowledgment; gives it back when it does not fit.
    pub fn push(&mut self, lane: u32, ack: Waiting) -> Result<(), Waiting> {
        let (bytes, memory) = (u64::from(ack.packet.wire_len()), ack.packet.memory() as u64 + OVERHEAD);
        if self.held.waiting.bytes + bytes > self.limits.bytes || self.held.memory + memory > self.limits.memory {
            return Err(ack);
        }
        self.held.add(&ack.packet, OVERHEAD);
        match self.lanes.get_mut(&lane) {
            Some(found) => found.waiting.push_back(ack),
            None => self.open(lane, [ack].into()),
        }
        Ok(())
    }

    /// A lane with something in it gets the last turn.
    fn open(&mut self, lane: u32, waiting: VecDeque<Waiting>) {
        let Some(first) = waiting.front() else { return };
        self.overdue.extend(first.overdue_at().map(|at| (at, lane)));
        let turn = self.next_turn;
        self.next_turn += 1;
        self.turns.insert(turn, lane);
        self.lanes.insert(lane, Lane { waiting, turn });
    }

    fn close(&mut self, lane: u32) -> VecDeque<Waiting> {
        let Some(closed) = self.lanes.remove(&lane) else { return VecDeque::new() };
        self.turns.remove(&closed.turn);
        if let Some(at) = closed.waiting.front().and_then(Waiting::overdue_at) {
            self.overdue.remove(&(at, lane));
        }
        closed.waiting
    }

    /// The acknowledgment whose turn it is.
    pub fn next(&mut self) -> Option<&mut Waiting> {
        let lane = self.turns.first_key_value().map(|(_, lane)| *lane)?;
        self.lanes.get_mut(&lane)?.waiting.front_mut()
    }

    /// The lane whose turn it is goes behind the others, with everything it has.
    pub fn pass_turn(&mut self) {
        if let Some(lane) = self.turns.first_key_value().map(|(_, lane)| *lane) {
            let waiting = self.close(lane);
            self.open(lane, waiting);
        }
    }

    /// Takes the acknowledgment whose turn it is.
    pub fn pop(&mut self) -> Option<Waiting> {
        let lane = self.turns.first_key_value().map(|(_, lane)| *lane)?;
        self.pop_from(lane)
    }

    /// Takes an acknowledgment that may wait no longer.
    pub fn pop_overdue(&mut self, now: Instant) -> Option<(u32, Waiting)> {
        let lane = self.overdue.first().filter(|(due, _)| *due <= now).map(|(_, lane)| *lane)?;
        Some((lane, self.pop_from(lane)?))
    }

    fn pop_from(&mut self, lane: u32) -> Option<Waiting> {
        let mut waiting = self.close(lane);
        let ack = waiting.pop_front();
        self.open(lane, waiting);
        ack.inspect(|ack| self.held.remove(&ack.packet, OVERHEAD))
    }

    /// Empties a lane, in order.
    pub fn take(&mut self, lane: u32) -> VecDeque<Waiting> {
        let waiting = self.close(lane);
        waiting.iter().for_each(|ack| self.held.remove(&ack.packet, OVERHEAD));
        waiting
    }

    /// True if something waits in a lane.
    pub fn has(&self, lane: u32) -> bool {
        self.lanes.contains_key(&lane)
    }

    /// When the first acknowledgment has waited as long as one may.
    pub fn overdue_at(&self) -> Option<Instant> {
        self.overdue.first().map(|(due, _)| *due)
    }

    pub fn check(&self) -> Result<(), &'static str> {
        if self.held.waiting.bytes > self.limits.bytes || self.held.memory > self.limits.memory {
            return Err("more acknowledgments wait than the ACK buffer holds");
        }
        if self.turns.len() != self.lanes.len() || self.lanes.is_empty() != (self.held.waiting.packets == 0) {
            return Err("a lane of the ACK buffer has no turn, or a turn no lane");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, ack, acknowledgments, at};
    use airtcp_core::Backlog;
    use alloc::vec::Vec;

    fn buffer(bytes: u64) -> AckBuffer {
        AckBuffer::new(Limits { bytes, memory: 1 << 20 })
    }

    fn waiting(number: u32, millis: u64) -> Waiting {
        Waiting { packet: ack(number), since: at(millis), distance: MS, series: None, longest: Some(MS * 10) }
    }

    fn drain(mut next: impl FnMut() -> Option<Waiting>) -> Vec<u32> {
        let packets: Vec<Packet> = core::iter::from_fn(|| next().map(|ack| ack.packet)).collect();
        acknowledgments(&packets)
    }

    #[test]
    fn ftc_5_a_lane_is_a_fifo() {
        let mut buffer = buffer(1000);
        for n in 1..=5 {
            buffer.push(0, waiting(n, 0)).unwrap();
        }
        assert_eq!(drain(|| buffer.pop()), [1, 2, 3, 4, 5]);
        assert_eq!((buffer.held.waiting, buffer.held.memory, buffer.check()), (Backlog::default(), 0, Ok(())));
    }

    #[test]
    fn lanes_are_served_in_turn() {
        let mut buffer = buffer(1000);
        for (lane, number) in [(7, 71), (7, 72), (7, 73), (2, 21), (2, 22), (9, 91)] {
            buffer.push(lane, waiting(number, 0)).unwrap();
        }
        assert_eq!(drain(|| buffer.pop()), [71, 21, 91, 72, 22, 73]);
    }

    #[test]
    fn a_full_buffer_gives_the_packet_back() {
        let mut buffer = buffer(100);
        let taken = (0..5).filter(|n| buffer.push(n % 2, waiting(*n, 0)).is_ok()).count();
        assert_eq!((taken, buffer.held.waiting.bytes, buffer.held.bytes_max), (2, 80, 80));
        buffer.pop();
        assert!(buffer.push(0, waiting(9, 0)).is_ok());
    }

    fn overdue(buffer: &mut AckBuffer, millis: u64) -> Option<Waiting> {
        buffer.pop_overdue(at(millis)).map(|(_, ack)| ack)
    }

    #[test]
    fn the_oldest_of_a_lane_is_overdue_first() {
        let mut buffer = buffer(1000);
        for (lane, number, millis) in [(0, 1, 0), (1, 11, 2), (0, 2, 4)] {
            buffer.push(lane, waiting(number, millis)).unwrap();
        }
        assert_eq!((buffer.overdue_at(), drain(|| overdue(&mut buffer, 9))), (Some(at(10)), Vec::new()));
        assert_eq!(drain(|| overdue(&mut buffer, 12)), [1, 11]);
        assert_eq!(buffer.overdue_at(), Some(at(14)));
    }

    #[test]
    fn a_lane_is_emptied_in_order_and_the_others_keep_theirs() {
        let mut buffer = buffer(1000);
        for (lane, number) in [(0, 1), (1, 11), (0, 2)] {
            buffer.push(lane, waiting(number, 0)).unwrap();
        }
        let taken: Vec<Packet> = buffer.take(0).into_iter().map(|ack| ack.packet).collect();
        assert_eq!(acknowledgments(&taken), [1, 2]);
        assert_eq!((drain(|| buffer.pop()), buffer.check()), (alloc::vec![11], Ok(())));
    }

    #[test]
    fn a_lane_that_passes_its_turn_keeps_what_it_has() {
        let mut buffer = buffer(1000);
        for (lane, number) in [(0, 1), (1, 11), (0, 2)] {
            buffer.push(lane, waiting(number, 0)).unwrap();
        }
        buffer.pass_turn();
        assert_eq!(drain(|| buffer.pop()), [11, 1, 2]);
    }
}
