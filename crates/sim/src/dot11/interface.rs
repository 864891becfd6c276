//! A station's interface to the medium: its queue, the frame it is sending, and its turn in the contention.

use super::agreement::{Aggregate, Agreements};
use super::airtime::{FrameKind, Usage};
use super::entry::{Entry, Tracked};
use super::riders::Riders;
use crate::index::InterfaceId;
use airtcp_core::{Backlog, Duration, Packet, Rng};
use airtcp_link::loss::LossProcess;
use airtcp_link::{LinkCounters, Queue, QueueLimit};
use std::collections::VecDeque;

/// What will happen to the next transmission of a frame, if nobody else sends at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives and is acknowledged.
    Acked,
    /// RTS or CTS is damaged: the frame itself is not sent.
    NoCts,
    /// It is damaged.
    Damaged,
    /// It arrives, and the ACK is damaged.
    AckLost,
}

/// What a frame is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// The frame's own packet.
    Packet,
    /// The first frames of an agreement.
    Aggregate(Aggregate),
    /// A block ACK request.
    Request,
    /// A PS-Poll.
    Poll,
}

/// The frame that an interface is sending; its own packet has left the queue.
#[derive(Debug)]
pub struct Frame {
    pub load: Load,
    /// Gone once it has arrived: what is sent again after a lost ACK is recognised by its number and ignored.
    pub packet: Option<Packet>,
    pub to: InterfaceId,
    pub tracked: Option<Tracked>,
    pub kind: FrameKind,
    /// Time on the air.
    pub air: Duration,
    /// Time on the air of the ACK or block ACK.
    pub answer: Duration,
    /// Bytes, header and FCS included.
    pub bytes: u32,
    /// Announced by RTS when its interface contends for it.
    pub has_rts: bool,
    /// Announced by the ACK for another frame, and sent without contention (DCF+).
    pub is_reverse: bool,
    /// Failed transmissions of RTS, or of a frame that needs none.
    pub short_tries: u32,
    /// Failed transmissions of a frame that was announced.
    pub long_tries: u32,
    /// Drawn when it may be sent next.
    pub fate: Option<Fate>,
}

impl Frame {
    /// One that carries no packet of its own: an aggregate, a BAR, a PS-Poll. `air` and `answer` are times on the air.
    pub fn without_packet(load: Load, to: InterfaceId, bytes: u32, [air, answer]: [Duration; 2]) -> Frame {
        Frame {
            load,
            packet: None,
            to,
            tracked: None,
            kind: FrameKind::Data,
            air,
            answer,
            bytes,
            has_rts: false,
            is_reverse: false,
            short_tries: 0,
            long_tries: 0,
            fate: None,
        }
    }

    /// Failed transmissions of the frame or its RTS.
    pub fn tries(&self) -> u32 {
        self.short_tries + self.long_tries
    }
}

/// How an interface contends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub cw_min: u32,
    pub cw_max: u32,
    /// How long it may go on once it won the medium.
    pub txop: Duration,
}

/// See the module.
#[derive(Debug)]
pub struct Interface {
    /// What waits, in a cell that does not aggregate.
    queue: VecDeque<Entry>,
    queued_bytes: u64,
    /// What waits, and what is not acknowledged, in a cell that aggregates.
    pub agreements: Option<Agreements>,
    /// TCP acknowledgments that wait for an answer to ride in, in a cell with HACK.
    pub riders: Option<Riders>,
    /// Exchanges that failed since one succeeded or the window began anew, in a cell that aggregates.
    pub failures: u32,
    /// What waits for sleeping stations, elsewhere.
    pub asleep: Backlog,
    limit: QueueLimit,
    /// A full queue gives packets back instead of dropping them.
    pub is_ring: bool,
    /// Somebody waits for room in a ring.
    pub wants_room: bool,
    pub head: Option<Frame>,
    pub access: Access,
    /// Contention window.
    pub cw: u32,
    /// It asks the access point for what that kept while it slept.
    pub asks: bool,
    /// It receives frames and acknowledges none (AST-11).
    pub is_silent: bool,
    pub backoff: Rng,
    /// Of data frames.
    pub data_loss: LossProcess,
    /// Of ACK, RTS and CTS.
    pub control_loss: LossProcess,
    pub usage: Usage,
    /// Packets in, out, dropped.
    pub counters: LinkCounters,
}

impl Interface {
    /// `window`: of block ACK, if it aggregates.
    pub fn new(access: Access, queue: &Queue, backoff: Rng, losses: [LossProcess; 2], window: Option<u32>) -> Self {
        let [data_loss, control_loss] = losses;
        Interface {
            queue: VecDeque::new(),
            queued_bytes: 0,
            agreements: window.map(Agreements::new),
            riders: None,
            failures: 0,
            asleep: Backlog::default(),
            limit: queue.limit(),
            is_ring: matches!(queue, Queue::Ring(_)),
            wants_room: false,
            head: None,
            access,
            cw: access.cw_min,
            asks: false,
            is_silent: false,
            backoff,
            data_loss,
            control_loss,
            usage: Usage::default(),
            counters: LinkCounters::default(),
        }
    }

    /// Whether a packet of so many bytes may come. One that is sent at once does not wait, unless all wait for
    /// stations to wake.
    pub fn admits(&self, bytes: u32, all_wait: bool) -> bool {
        (self.head.is_none() && !all_wait) || self.limit.admits(self.backlog(), bytes)
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } =
            self.agreements.as_ref().map(|agreements| agreements.backlog).unwrap_or_default();
        let riding = self.riders.as_ref().map(|riders| riders.backlog).unwrap_or_default();
        Backlog {
            packets: self.queue.len() + packets + self.asleep.packets + riding.packets,
            bytes: self.queued_bytes + bytes + self.asleep.bytes + riding.bytes,
        }
    }

    /// Whether something waits for `to`, in a cell that does not aggregate.
    pub fn waits_for(&self, to: InterfaceId) -> bool {
        self.queue.iter().any(|entry| entry.to == to)
    }

    /// Packets, waiting or on their way.
    pub fn held(&self) -> usize {
        let is_sending = self.head.as_ref().is_some_and(|frame| frame.packet.is_some());
        let agreed = self.agreements.as_ref().map_or(0, Agreements::held);
        let riding = self.riders.as_ref().map_or(0, |riders| riders.backlog.packets);
        self.queue.len() + self.asleep.packets + usize::from(is_sending) + agreed + riding
    }

    /// Packets of at most `mtu` bytes that are sure to be taken.
    pub fn room(&self, mtu: u32, all_wait: bool) -> usize {
        let at_once = usize::from(self.head.is_none() && !all_wait);
        self.limit.room(self.backlog(), mtu).saturating_add(at_once)
    }

    /// True if a packet that comes now is the next frame: nothing waits or is being sent, and there is nothing to ask for.
    pub fn is_idle(&self) -> bool {
        self.head.is_none() && self.queue.is_empty() && !self.asks && self.agreements.is_none()
    }

    pub fn push(&mut self, entry: Entry) {
        if let Some(agreements) = &mut self.agreements {
            return agreements.push(entry);
        }
        self.queued_bytes += u64::from(entry.bytes);
        self.queue.push_back(entry);
    }

    pub fn pop(&mut self) -> Option<Entry> {
        let entry = self.queue.pop_front()?;
        self.queued_bytes -= u64::from(entry.bytes);
        Some(entry)
    }

    /// The aggregate that it is sending, and whom to.
    pub fn aggregate(&self) -> Option<(InterfaceId, Aggregate)> {
        match self.head.as_ref()? {
            Frame { load: Load::Aggregate(aggregate), to, .. } => Some((*to, *aggregate)),
            _ => None,
        }
    }

    /// Puts the first packet for `to` before everything else that waits, and in place of the frame at the head if that
    /// was never tried; what to send instead of it.
    pub fn bring_forward(&mut self, to: InterfaceId) -> Option<Entry> {
        let head = self.head.as_mut().filter(|frame| frame.to != to && frame.tries() == 0)?;
        let index = self.queue.iter().position(|entry| entry.to == to)?;
        let packet = head.packet.take()?;
        let displaced = Entry::new(head.to, packet, head.tracked);
        let first = self.queue.remove(index)?;
        self.queued_bytes += u64::from(displaced.bytes);
        self.queued_bytes -= u64::from(first.bytes);
        self.queue.push_front(displaced);
        Some(first)
    }

    /// The slots of a new backoff.
    pub fn draw_backoff(&mut self) -> u32 {
        self.backoff.below(u64::from(self.cw) + 1) as u32
    }

    /// A transmission failed: the window doubles.
    pub fn widen(&mut self) {
        self.cw = (self.cw * 2 + 1).min(self.access.cw_max);
    }
}
