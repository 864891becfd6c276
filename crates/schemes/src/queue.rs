//! The queue before the link, emptied at the link's rate, with a lane for repairs that goes first.
//! A box that repairs at high priority must own the queue, and one that blames the link for losses
//! must know which were its own.

use crate::Site;
use crate::pacer::Pacer;
use airtcp_core::{Backlog, ByteSize, Context, Duration, FlowKey, Instant, Packet, Port, Rate, SeqNum};
use alloc::collections::VecDeque;

/// Queue of a link whose limit is not known: this much time at its rate.
const DEFAULT_TIME: Duration = Duration::from_millis(100);
/// Queue of a link whose rate is not known either: packets wait here only while the port refuses them.
const DEFAULT_BYTES: u64 = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Queue {
    pacer: Pacer,
    limit: u64,
    repairs: Lane,
    fifo: Lane,
    /// The port refused a packet; wait for it instead of the clock.
    blocked: bool,
}

#[derive(Debug, Default)]
struct Lane {
    packets: VecDeque<Packet>,
    bytes: u64,
    bytes_max: u64,
}

impl Lane {
    /// Gives the packet back beyond the limit; one may always wait.
    fn push(&mut self, packet: Packet, limit: u64) -> Result<(), Packet> {
        let bytes = self.bytes + u64::from(packet.wire_len());
        if !self.packets.is_empty() && bytes > limit {
            return Err(packet);
        }
        self.bytes = bytes;
        self.bytes_max = self.bytes_max.max(bytes);
        self.packets.push_back(packet);
        Ok(())
    }

    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_len());
        Some(packet)
    }

    fn put_back(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.wire_len());
        self.packets.push_front(packet);
    }
}

/// A packet that left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// Flow and first sequence number, if it is TCP and occupies sequence space.
    pub segment: Option<(FlowKey, SeqNum)>,
}

impl Queue {
    /// A queue for `site`; what is not set is taken from the link.
    pub fn new(rate: Option<Rate>, limit: Option<ByteSize>, site: &Site<'_>) -> Self {
        let rate = rate.or(site.link.rate);
        let wanted = limit
            .or(site.link.queue)
            .map_or_else(|| rate.map_or(DEFAULT_BYTES, |rate| rate.bytes_in(DEFAULT_TIME)), |limit| limit.0);
        Queue {
            pacer: Pacer::new(rate),
            limit: wanted.clamp(2 * 1500, (site.max_memory.0 / 4).max(2 * 1500)),
            repairs: Lane::default(),
            fifo: Lane::default(),
            blocked: false,
        }
    }

    /// Takes a packet to the tail; gives it back when the queue is full.
    pub fn push(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        self.begin_if_idle(now);
        self.fifo.push(packet, self.limit)
    }

    /// Takes a repair, ahead of everything but earlier repairs; gives it back beyond the limit.
    pub fn push_repair(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        self.begin_if_idle(now);
        self.repairs.push(packet, self.limit)
    }

    fn begin_if_idle(&mut self, now: Instant) {
        if self.backlog().packets == 0 {
            self.pacer.begin(now);
        }
    }

    /// Sends the next packet if it may leave now.
    pub fn send_next(&mut self, cx: &mut Context<'_>) -> Option<Departure> {
        if self.blocked || self.pacer.free_at() > cx.now() {
            return None;
        }
        let (packet, is_repair) = match self.repairs.pop() {
            Some(repair) => (repair, true),
            None => (self.fifo.pop()?, false),
        };
        let (len, occupies) = (packet.wire_len(), packet.sequence_len() > 0);
        let segment = packet.flow().zip(packet.tcp().map(|tcp| tcp.sequence)).filter(|_| occupies);
        if let Err(packet) = cx.try_send(Port::LINK, packet) {
            self.blocked = true;
            let lane = if is_repair { &mut self.repairs } else { &mut self.fifo };
            lane.put_back(packet);
            return None;
        }
        self.pacer.charge(cx.now(), len);
        Some(Departure { segment })
    }

    /// Most bytes that may wait.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The port has room again.
    pub fn on_ready(&mut self) {
        self.blocked = false;
    }

    /// When the next packet may leave.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.blocked && self.backlog().packets > 0).then_some(self.pacer.free_at())
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.fifo.packets.len() + self.repairs.packets.len(),
            bytes: self.fifo.bytes + self.repairs.bytes,
        }
    }

    /// Most bytes that ever waited for their turn.
    pub fn bytes_max(&self) -> u64 {
        self.fifo.bytes_max
    }

    /// The bound on each of the two lanes; one packet may always wait.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_over = |lane: &Lane| lane.packets.len() > 1 && lane.bytes > self.limit;
        if is_over(&self.fifo) || is_over(&self.repairs) {
            return Err("the queue before the link is longer than its limit");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use airtcp_core::testing::Recorder;
    use airtcp_core::{Ledger, Rng};

    fn drain(queue: &mut Queue, io: &mut Recorder, now: Instant) {
        let mut rng = Rng::derive(1, "queue");
        while queue.send_next(&mut Context::new(now, &mut rng, &mut Ledger::default(), io)).is_some() {}
    }

    #[test]
    fn repairs_overtake_what_waits() {
        let (mut queue, mut io) = (with_site(|site| Queue::new(None, None, site)), Recorder::default());
        for sequence in [0, 1000, 2000] {
            queue.push(at(0), data(sequence)).unwrap();
        }
        drain(&mut queue, &mut io, at(0));
        queue.push_repair(at(0), data(9000)).unwrap();
        for millis in 0..5 {
            drain(&mut queue, &mut io, at(millis));
        }
        assert_eq!(sequences(&io.link), [0, 9000, 1000, 2000]);
    }

    #[test]
    fn packets_leave_at_the_rate_of_the_link() {
        let (mut queue, mut io) = (with_site(|site| Queue::new(None, None, site)), Recorder::default());
        for n in 0..60 {
            queue.push(at(0), data(n * 1000)).unwrap();
        }
        drain(&mut queue, &mut io, at(0));
        while let Some(due) = queue.poll_timeout().filter(|due| *due <= at(20)) {
            drain(&mut queue, &mut io, due);
        }
        // 1040 bytes take 693 us at 12 Mbit/s: one at once, and one after each of these in 20 ms.
        assert_eq!(io.link.len(), 29);
    }

    #[test]
    fn a_full_queue_gives_the_packet_back() {
        let mut queue = with_site(|site| Queue::new(None, Some(ByteSize(3200)), site));
        let accepted = (0..5).filter(|n| queue.push(at(0), data(n * 1000)).is_ok()).count();
        assert_eq!(accepted, 3);
        assert_eq!(queue.check(), Ok(()));
    }
}
