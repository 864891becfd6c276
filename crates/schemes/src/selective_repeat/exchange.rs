//! What each end of a hop that sends again has, whatever it frames: the queue before the link, the other end, what was
//! sent and may be lost, what came and may have a gap before it.

use super::frame::{Frame, Message};
use super::receiver::{Patience, Receiver};
use super::sender::Sender;
use crate::egress::Egress;
use crate::hop::{self, Onward, Outlet, hello_share, tell, times};
use crate::peer::{Change, Peer};
use airtcp_core::{Backlog, Context, DropReason, Duration, Event, Gauge, Instant, Packet, Peer as PeerId};

/// See the module.
#[derive(Debug)]
pub(crate) struct Exchange<O = Onward> {
    pub egress: Egress,
    pub peer: Peer,
    pub sender: Sender,
    pub receiver: Receiver<O>,
    /// Half a round trip of the link if there is none.
    pub ack_delay: Option<Duration>,
    /// By the round trip of the link if there is none.
    pub hold: Option<Duration>,
    /// False if nothing is ever sent again, so that acknowledgments would be of no use.
    pub acknowledges: bool,
}

impl<O: Outlet> Exchange<O> {
    pub fn patience(&self) -> Patience {
        let rtt = self.peer.rtt();
        Patience {
            ack_delay: self.ack_delay.unwrap_or_else(|| (rtt / 2).max(Duration::from_millis(1))),
            hold: self.hold.unwrap_or_else(|| auto_hold(rtt, guard(rtt, &self.egress))),
        }
    }

    /// Time without an acknowledgment after which a transmission counts as lost: one acknowledgment may be lost and the
    /// next be late.
    fn acknowledged_within(&self) -> Duration {
        let rtt = self.peer.rtt();
        rtt + self.patience().ack_delay * 2 + guard(rtt, &self.egress)
    }

    /// Sends what was lost again, as `framed` makes it of the copy that was kept.
    pub fn send_repair(&mut self, cx: &mut Context<'_>, framed: impl FnOnce(Packet, &Frame) -> Packet) -> Option<()> {
        let (copy, frame) = self.sender.repair(cx)?;
        match self.egress.send(cx, framed(copy, &frame)) {
            Ok(()) => {
                cx.emit(Event::REPAIR);
                self.sender.on_repaired(cx.now());
                Some(())
            }
            // It is made again when there is room.
            Err(packet) => {
                cx.discard(packet, DropReason::QUEUE_FULL);
                None
            }
        }
    }

    /// What came of the other end's frame: `packet` goes on in its turn.
    pub fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: Packet) {
        let patience = self.patience();
        let is_due = self.receiver.on_frame(cx, frame, packet, &patience);
        self.tell_ack(cx, is_due);
    }

    /// A message of the other end. True if the other end restarted; the caller then calls [`reset`](Self::reset).
    pub fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8], has_sendable: bool) -> bool {
        let Some(message) = self.peer.hear(cx, peer, bytes, Message::decode) else { return false };
        match message {
            Message::Hello(hello) => return self.peer.on_hello(cx, &hello) == Change::Restarted,
            Message::Ack(ack) => {
                self.on_work(cx.now(), has_sendable);
                self.sender.on_ack(cx, &ack, None, self.acknowledged_within());
                self.tell_oldest(cx);
            }
            Message::Oldest(incarnation, oldest) => self.receiver.on_oldest(cx, incarnation, oldest),
        }
        false
    }

    /// HELLOs; true if the other end fell silent, and the caller then calls [`reset`](Self::reset).
    pub fn handle_peer_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        self.peer.keep_distance(hello_share(&self.egress));
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            tell(cx, &mut self.egress, &Message::Hello(hello).encode());
        }
        tick.fell_silent
    }

    /// What was not acknowledged in time, and what waited long enough for a gap.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, has_sendable: bool) {
        self.on_work(cx.now(), has_sendable);
        let (patience, within) = (self.patience(), self.acknowledged_within());
        self.sender.handle_timeout(cx, within);
        self.tell_oldest(cx);
        let is_due = self.receiver.handle_timeout(cx, &patience);
        self.tell_ack(cx, is_due);
    }

    /// The other end is gone or forgot everything.
    pub fn reset(&mut self, cx: &mut Context<'_>) {
        self.receiver.release_all(cx);
        self.sender.clear();
    }

    /// Call before something may become sendable that was not.
    pub fn on_work(&mut self, now: Instant, has_sendable: bool) {
        if !has_sendable {
            self.egress.begin(now);
        }
    }

    fn tell_ack(&mut self, cx: &mut Context<'_>, is_due: bool) {
        if is_due
            && self.acknowledges
            && let Some(ack) = self.receiver.acknowledge()
        {
            tell(cx, &mut self.egress, &Message::Ack(ack).encode());
        }
    }

    /// What was given up must not be waited for. If the message is lost, the next frame says it.
    fn tell_oldest(&mut self, cx: &mut Context<'_>) {
        if let Some((incarnation, oldest)) = self.sender.take_oldest() {
            tell(cx, &mut self.egress, &Message::Oldest(incarnation, oldest).encode());
        }
    }

    pub fn poll_timeout(&self, has_sendable: bool) -> Option<Instant> {
        let send = if has_sendable { self.egress.next_free() } else { None };
        let lost = self.sender.poll_timeout(self.acknowledged_within());
        let receive = self.receiver.poll_timeout(&self.patience());
        [send, lost, receive].into_iter().flatten().chain([self.peer.poll_timeout()]).min()
    }

    pub fn held(&self) -> Backlog {
        self.egress.backlog() + self.receiver.order.held.waiting
    }

    pub fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let held = &self.receiver.order.held;
        gauge(Gauge::CACHE_BYTES, self.sender.memory());
        gauge(Gauge::MEMORY_BYTES, self.egress.backlog().bytes + self.sender.memory() + held.memory);
        hop::observe(gauge, &self.egress, held, &self.peer);
    }

    /// What holds at any time, where copies may take at most `window` bytes of memory.
    pub fn check(&self, window: u64) -> Result<(), &'static str> {
        self.egress.check()?;
        self.sender.check(window)?;
        self.receiver.order.check()
    }
}

/// The guard at the rate of the queue.
pub(crate) fn guard(rtt: Duration, egress: &Egress) -> Duration {
    times::guard(rtt, times::packet_time(egress.rate()))
}

pub(crate) fn auto_hold(rtt: Duration, guard: Duration) -> Duration {
    ((rtt + guard) * 4).clamp(Duration::from_millis(50), Duration::from_millis(500))
}
