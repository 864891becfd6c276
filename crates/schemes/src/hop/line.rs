//! The queue in front of the link, emptied at the link's rate. A link protocol that repairs must
//! own it: a packet that a full queue drops behind it would look like a loss on the air and be
//! sent again, and congestion would be hidden from the hosts.

use super::PACKET_BYTES;
use airtcp_core::{Backlog, ByteSize, Context, Duration, Instant, Packet, Peer, Port, Rate};
use alloc::collections::VecDeque;

/// IP, UDP and envelope around a control message.
const CONTROL_OVERHEAD: u32 = 20 + 8 + 28;
/// What is sent with each HELLO: itself and a report.
const HELLO_BYTES: u32 = 2 * (CONTROL_OVERHEAD + 33);
/// Share of the link that HELLOs may take, as a divisor.
const HELLO_SHARE: u64 = 4;
/// Queue without a known limit: this much time at the link's rate.
const DEFAULT_QUEUE_TIME: Duration = Duration::from_millis(100);

/// Lateness of a timer that is made up for, so that it does not cost rate.
const CATCH_UP: Duration = Duration::from_millis(8);

/// A drop-tail queue with a rate; without a rate everything leaves at once.
#[derive(Debug)]
pub(crate) struct Line {
    rate: Option<Rate>,
    limit: u64,
    /// Packets that fit besides, if they are counted.
    packets: Option<u64>,
    fifo: VecDeque<Packet>,
    bytes: u64,
    bytes_max: u64,
    /// When the link has finished what was sent so far.
    free_at: Instant,
    carry: u64,
    /// The port refused a packet; wait for it instead of the clock.
    blocked: bool,
}

impl Line {
    /// A line of this rate and queue; without a known queue 100 ms at the rate. Two packets always fit, and never
    /// more than `most` bytes.
    pub fn new(rate: Option<Rate>, queue: Option<ByteSize>, most: u64) -> Line {
        let by_time = || rate.map_or(most, |rate| rate.bytes_in(DEFAULT_QUEUE_TIME));
        let limit = queue.map_or_else(by_time, |queue| queue.0).max(2 * u64::from(PACKET_BYTES)).min(most);
        let (fifo, free_at) = (VecDeque::new(), Instant::ZERO);
        Line { rate, limit, packets: None, fifo, bytes: 0, bytes_max: 0, free_at, carry: 0, blocked: false }
    }

    /// The same, and never more than so many packets, if it is said how many.
    pub fn with_packets(self, packets: Option<u64>) -> Line {
        Line { packets, ..self }
    }

    /// The same without a rate: what the link takes leaves at once, and only what it refuses waits.
    pub fn unpaced(self) -> Line {
        Line { rate: None, ..self }
    }

    /// Takes a packet to the tail, or gives it back when the queue is full.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        let len = u64::from(packet.wire_len());
        // A packet longer than the whole queue may still pass an empty one.
        let is_full = self.packets.is_some_and(|limit| self.fifo.len() as u64 >= limit);
        if !self.fifo.is_empty() && (is_full || self.bytes + len > self.limit) {
            return Err(packet);
        }
        self.bytes += len;
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.fifo.push_back(packet);
        Ok(())
    }

    /// Takes the packet at the head.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.fifo.pop_front()?;
        self.bytes -= u64::from(packet.wire_len());
        Some(packet)
    }

    /// Puts back what the link refused.
    pub fn unpop(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.wire_len());
        self.fifo.push_front(packet);
    }

    /// True if the link would begin with a packet given to it now.
    pub fn is_free(&self, now: Instant) -> bool {
        !self.blocked && self.free_at <= now
    }

    /// Gives a packet to the link.
    ///
    /// # Errors
    /// The packet itself: the link has no room, and says when it has.
    pub fn send(&mut self, cx: &mut Context<'_>, packet: Packet) -> Result<(), Packet> {
        let len = packet.wire_len();
        match cx.try_send(Port::LINK, packet) {
            Ok(()) => {
                self.charge(cx.now(), len);
                Ok(())
            }
            Err(packet) => {
                self.blocked = true;
                Err(packet)
            }
        }
    }

    /// Sends a control message to the other end of the link; it takes its time there.
    pub fn tell(&mut self, cx: &mut Context<'_>, message: &[u8]) {
        cx.send_control(Peer::OTHER_END, message);
        self.charge(cx.now(), message.len() as u32 + CONTROL_OVERHEAD);
    }

    /// The distance of HELLOs: as `wanted`, or longer where they would fill the link.
    pub fn hello_distance(&self, wanted: Duration) -> Duration {
        wanted.max(self.transmission(HELLO_BYTES) * HELLO_SHARE)
    }

    /// Charges bytes that take the link.
    fn charge(&mut self, now: Instant, bytes: u32) {
        if let Some(rate) = self.rate {
            let start = self.free_at.max(now - CATCH_UP);
            self.free_at = start.saturating_add(rate.serialisation(bytes, &mut self.carry));
        }
    }

    /// The link was idle until now: what it could have sent is not made up for.
    pub fn on_idle_end(&mut self, now: Instant) {
        self.free_at = self.free_at.max(now);
    }

    /// The port has room again.
    pub fn on_ready(&mut self) {
        self.blocked = false;
    }

    /// When a packet that waits may leave; `None` if that is not for the clock to say.
    pub fn next_free(&self) -> Option<Instant> {
        (!self.blocked).then_some(self.free_at)
    }

    /// Time the link takes for `bytes`.
    pub fn transmission(&self, bytes: u32) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.serialisation(bytes, &mut 0))
    }

    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.bytes }
    }

    /// Most bytes that ever waited.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The bound, plus one packet.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.fifo.len() > 1 && self.bytes > self.limit + u64::from(u16::MAX) {
            return Err("the queue before the link is longer than its limit");
        }
        Ok(())
    }
}
