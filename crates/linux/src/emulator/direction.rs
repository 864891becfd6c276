//! One direction of one link: the simulator's `Link` and what went through it.

use super::passage::Passages;
use super::report::DirectionReport;
use airtcp_core::{DropReason, Duration, Instant, Packet};
use airtcp_link::{Link, LinkSettings};
use bytes::Bytes;
use std::net::IpAddr;

/// One direction. Time is that of the emulator's clock, which is zero at the run's start.
pub(super) struct Direction {
    name: String,
    /// Addresses of the nodes that it leads from and to.
    ends: (Vec<IpAddr>, Vec<IpAddr>),
    settings: LinkSettings,
    link: Link,
    /// What came from the device and was no IP packet.
    foreign: u64,
    foreign_bytes: u64,
    /// Packets that the far device did not take.
    device_drops: u64,
    device_drop_bytes: u64,
}

impl Direction {
    /// `name` is the scenario's, for example `links.air.forward`; the link's random streams are
    /// derived from it as in the simulator.
    pub fn new(name: String, ends: (Vec<IpAddr>, Vec<IpAddr>), settings: LinkSettings, seed: u64) -> Self {
        let link = Link::new(&settings, seed, &name);
        Direction { name, ends, settings, link, foreign: 0, foreign_bytes: 0, device_drops: 0, device_drop_bytes: 0 }
    }

    /// The same direction at the beginning of another run.
    pub fn restart(&mut self, settings: Option<LinkSettings>, seed: u64) {
        let settings = settings.unwrap_or_else(|| self.settings.clone());
        let (name, ends) = (std::mem::take(&mut self.name), std::mem::take(&mut self.ends));
        *self = Direction::new(name, ends, settings, seed);
    }

    /// A packet enters at `now`.
    pub fn accept(&mut self, now: Instant, datagram: Bytes, passages: &mut Passages) {
        // The kernel sends nothing but IP into a TUN device, so this is a formality; parsing
        // itself is some tens of nanoseconds beside two system calls.
        let len = datagram.len() as u64;
        match Packet::parse(datagram) {
            // The link counts drops itself.
            Some(packet) => {
                if self.ends.0.contains(&packet.ip().source) {
                    passages.enter(now, &packet);
                }
                self.link.send(now, packet, &mut |_, _| {});
            }
            None => {
                self.foreign += 1;
                self.foreign_bytes += len;
            }
        }
    }

    /// When to ask [`release`](Self::release) again: the next packet leaves, or has its turn in
    /// the queue.
    pub fn next_event(&self) -> Option<Instant> {
        self.link.next_event()
    }

    /// The packet that is due at `now`, if one is, as the bytes to deliver and the time by
    /// which it is late.
    pub fn release(&mut self, now: Instant, passages: &mut Passages) -> Option<(Bytes, Duration)> {
        // A turn that comes up late is served as of its time, so the rate does not suffer.
        self.link.advance(now, &mut |_, _| {});
        let due = self.link.next_arrival()?;
        let packet = self.link.receive(now)?;
        if self.ends.1.contains(&packet.ip().destination) {
            passages.leave(now, &packet);
        }
        Some((packet.to_wire(), now.saturating_since(due)))
    }

    /// The device at the far end refused a packet of [`release`](Self::release).
    pub fn on_refused(&mut self, len: usize) {
        self.device_drops += 1;
        self.device_drop_bytes += len as u64;
    }

    /// What happened since the start.
    pub fn report(&self) -> DirectionReport {
        let counters = self.link.counters();
        let mut drops = counters.dropped.clone();
        if self.device_drops + self.foreign > 0 {
            drops.add(DropReason::DEVICE, self.device_drops + self.foreign);
        }
        DirectionReport {
            name: self.name.clone(),
            received_packets: counters.packets_in + self.foreign,
            received_bytes: counters.bytes_in + self.foreign_bytes,
            delivered_packets: counters.packets_delivered - self.device_drops,
            delivered_bytes: counters.bytes_delivered - self.device_drop_bytes,
            duplicated_packets: counters.duplicated,
            reordered_packets: counters.reordered,
            corrupted_packets: counters.corrupted,
            marked_packets: counters.marked,
            held_packets: self.link.held().packets as u64,
            drops,
            headers: counters.headers_dropped.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Ecn;
    use airtcp_core::ValueType;
    use airtcp_link::Queue;
    use std::net::Ipv4Addr;

    fn datagram(ecn: Ecn) -> Bytes {
        let address = Ipv4Addr::LOCALHOST.into();
        let mut packet = Packet::opaque(address, address, 17, vec![0; 1480].into());
        packet.set_ecn(ecn);
        packet.to_wire()
    }

    #[test]
    fn a_managed_queue_is_served_at_its_events_and_what_it_drops_and_marks_is_told() {
        let queue = Queue::read(&"{ kind = \"codel\", ecn = true }".into()).unwrap();
        let settings = LinkSettings { rate: "12Mbit".parse().ok().into(), queue, ..LinkSettings::default() };
        let mut direction = Direction::new("links.air.forward".into(), Default::default(), settings, 1);
        let mut passages = Passages::new(Instant::ZERO);
        // A packet takes a millisecond; three come in two, and every other one understands marks.
        let (mut sent, mut marked) = (0, 0);
        for micros in 0..2_000_000u64 {
            let now = Instant::from_nanos(micros * 1000);
            if micros % 667 == 0 {
                direction.accept(now, datagram(if sent % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct }), &mut passages);
                sent += 1;
            }
            if direction.next_event().is_some_and(|event| event <= now) {
                while let Some((datagram, late)) = direction.release(now, &mut passages) {
                    assert!(late < Duration::from_micros(1));
                    marked += u64::from(datagram[1] & 3 == 3);
                }
            }
        }
        let report = direction.report();
        assert!(report.is_conserved(), "{report:?}");
        assert!(report.delivered_packets >= 1998, "the link was never idle: {report:?}");
        assert!(marked > 5 && report.dropped(DropReason::AQM) > 5, "{report:?}");
        // A marked packet may still be in transmission.
        assert!(report.marked_packets == marked || report.marked_packets == marked + 1, "{report:?}");
        assert_eq!(report.packets_exposed_to_loss(), sent - report.dropped(DropReason::AQM));
    }
}
