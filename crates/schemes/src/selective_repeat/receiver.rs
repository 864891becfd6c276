//! The receiving half: tells the sender what came, and passes each packet on once.

use super::frame::{Ack, Arrived, Frame};
use super::received::Received;
use crate::hop::{Onward, Order, Outlet, Turn};
use crate::position::{self, Position};
use airtcp_core::{Context, Duration, Instant, Packet, SeqNum};

/// A transmission is told of by so many acknowledgments, as most of them may be lost.
const TOLD: usize = 3;
/// Each of them tells of so many at least.
const MOST_UNTOLD: u64 = Received::MOST / (TOLD as u64 + 1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Receiver<O = Onward> {
    pub order: Order<O>,
    ack_every: u16,
    /// What is known of the sender's present incarnation.
    stream: Option<Stream>,
}

#[derive(Debug)]
struct Stream {
    incarnation: u16,
    newest: Position,
    received: Received,
    /// The newest at each of the latest acknowledgments, the oldest first.
    acknowledged: [Position; TOLD],
    arrived: Arrived,
    /// Frames since the last acknowledgment; where frames tell the order of flows, those that have a place in one.
    unacknowledged: u16,
    ack_due: Option<Instant>,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// An acknowledgment.
    pub ack_delay: Duration,
    /// A gap.
    pub hold: Duration,
}

impl<O: Outlet> Receiver<O> {
    pub fn new(order: Order<O>, ack_every: u16) -> Self {
        Receiver { order, ack_every, stream: None }
    }

    /// A packet that came in this frame. True if it is time for an acknowledgment.
    pub fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: Packet, patience: &Patience) -> bool {
        if self.stream.as_ref().is_none_or(|stream| stream.incarnation != frame.incarnation) {
            // The first frame of an incarnation names the oldest packet that may still come.
            self.order.restart(cx, position::first(frame.sequence) - u64::from(frame.back));
            self.stream = Some(Stream::new(frame));
        }
        let Some(stream) = self.stream.as_mut() else { return false };
        let is_gap = stream.note_number(frame);
        let sequence = position::near(self.order.expected(), frame.sequence);
        self.order.pass_over(cx, sequence.saturating_sub(u64::from(frame.back)));
        let turn = Turn { sequence, after: frame.after, part: frame.part };
        let is_new = self.order.take(cx, turn, packet);
        let is_due = if self.order.keeps_flows() {
            stream.is_due(frame.after > 0, is_gap, is_new, self.ack_every)
        } else {
            stream.unacknowledged += 1;
            is_gap || !is_new || stream.unacknowledged >= self.ack_every
        };
        if is_due {
            stream.begin_anew();
            return true;
        }
        stream.ack_due.get_or_insert(cx.now() + patience.ack_delay);
        false
    }

    /// True if there will be an acknowledgment soon, whatever comes.
    pub fn will_acknowledge(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.ack_due.is_some())
    }

    /// A frame that carries none of the packets that are counted. True if it is time for an acknowledgment.
    pub fn on_other_frame(&mut self, frame: &Frame) -> bool {
        let stream = self.stream.as_mut().filter(|stream| stream.incarnation == frame.incarnation);
        let is_gap = |stream: &mut Stream| {
            let is_gap = stream.note_number(frame);
            if is_gap {
                stream.begin_anew();
            }
            is_gap
        };
        stream.is_some_and(is_gap)
    }

    /// What came of all transmissions of the sender's present incarnation.
    pub fn arrived(&self) -> Arrived {
        self.stream.as_ref().map_or(Arrived::default(), |stream| stream.arrived)
    }

    /// An acknowledgment, of whatever came so far.
    pub fn acknowledge(&mut self) -> Option<Ack> {
        let expected = self.order.expected();
        self.stream.as_mut().map(|stream| stream.acknowledge(expected))
    }

    /// A packet that was restored from the redundancy in another packet of the same incarnation.
    pub fn on_recovered(
        &mut self,
        cx: &mut Context<'_>,
        incarnation: u16,
        sequence: SeqNum,
        make: impl FnOnce(&mut Context<'_>) -> Packet,
    ) {
        let position = position::near(self.order.expected(), sequence);
        if self.stream.as_ref().is_some_and(|stream| stream.incarnation == incarnation) && self.order.misses(position) {
            let packet = make(cx);
            self.order.take(cx, Turn { sequence: position, ..Turn::default() }, packet);
        }
    }

    /// The newest transmission that came, and the packet that is waited for, of this incarnation if it is the one that is
    /// acknowledged.
    pub fn places(&self, incarnation: u16) -> Option<(Position, Position)> {
        let stream = self.stream.as_ref().filter(|stream| stream.incarnation == incarnation)?;
        Some((stream.newest, self.order.expected()))
    }

    /// True if frames of this incarnation are those that are acknowledged.
    pub fn follows(&self, incarnation: u16) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.incarnation == incarnation)
    }

    /// The sender, in this incarnation, says that nothing before `oldest` will come again.
    pub fn on_oldest(&mut self, cx: &mut Context<'_>, incarnation: u16, oldest: SeqNum) {
        if self.stream.as_ref().is_some_and(|stream| stream.incarnation == incarnation) {
            let oldest = position::near(self.order.expected(), oldest);
            self.order.pass_over(cx, oldest);
        }
    }

    /// Passes on everything held and forgets the sender.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        self.order.release_all(cx);
        self.stream = None;
    }

    /// Waits no longer for what took too long. True if it is time for an acknowledgment.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, patience: &Patience) -> bool {
        self.order.handle_timeout(cx, patience.hold);
        let due = self.stream.as_mut().filter(|stream| stream.ack_due.is_some_and(|due| due <= cx.now()));
        due.map(Stream::begin_anew).is_some()
    }

    pub fn poll_timeout(&self, patience: &Patience) -> Option<Instant> {
        let ack = self.stream.as_ref().and_then(|stream| stream.ack_due);
        ack.into_iter().chain(self.order.poll_timeout(patience.hold)).min()
    }
}

impl Stream {
    fn new(frame: &Frame) -> Stream {
        let newest = position::first(frame.number) - 1;
        let arrived = Arrived::default();
        Stream {
            incarnation: frame.incarnation,
            newest,
            received: Received::default(),
            acknowledged: [newest; TOLD],
            arrived,
            unacknowledged: 0,
            ack_due: None,
        }
    }

    /// Notes a transmission; true if some before it are missing.
    fn note_number(&mut self, frame: &Frame) -> bool {
        let number = position::near(self.newest, frame.number);
        if number <= self.newest {
            if self.received.note(self.newest - number) {
                self.arrived.frames = self.arrived.frames.wrapping_add(1);
            }
            return false;
        }
        self.arrived.frames = self.arrived.frames.wrapping_add(1);
        let step = number - self.newest;
        self.received.advance(step);
        self.newest = number;
        if step > 1 {
            self.arrived.gaps = self.arrived.gaps.wrapping_add(1);
        }
        step > 1
    }

    /// True if a frame is to be acknowledged at once, where frames tell the order of flows. What has no place in one (an
    /// acknowledgment, voice) is told of by time, unless something is missing. The second copy of what will be acknowledged soon
    /// says nothing new; of what was acknowledged, that the acknowledgment was lost.
    fn is_due(&mut self, has_place: bool, is_gap: bool, is_new: bool, ack_every: u16) -> bool {
        self.unacknowledged += u16::from(has_place);
        let is_told_again = !is_new && self.ack_due.is_none();
        let untold = self.newest.saturating_sub(self.acknowledged[TOLD - 1]);
        is_gap || is_told_again || self.unacknowledged >= ack_every || untold >= MOST_UNTOLD
    }

    /// It is time for an acknowledgment: the next one is due after as many packets, and as long.
    fn begin_anew(&mut self) {
        self.unacknowledged = 0;
        self.ack_due = None;
    }

    fn acknowledge(&mut self, expected: Position) -> Ack {
        self.begin_anew();
        let count = self.newest.saturating_sub(self.acknowledged[0]);
        self.acknowledged.rotate_left(1);
        self.acknowledged[TOLD - 1] = self.newest;
        Ack {
            incarnation: self.incarnation,
            newest: position::sequence(self.newest),
            expected: position::sequence(expected),
            received: self.received.telling(count),
        }
    }
}
