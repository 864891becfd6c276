//! One direction of one link: the simulator's `Link` and what went through it.

use super::report::DirectionReport;
use airtcp_core::{DropReason, Duration, Instant, Packet};
use airtcp_link::{Link, LinkSettings};
use bytes::Bytes;

/// One direction. Time is that of the emulator's clock, which is zero at the run's start.
pub(super) struct Direction {
    name: String,
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
    pub fn new(name: String, settings: LinkSettings, seed: u64) -> Self {
        let link = Link::new(&settings, seed, &name);
        Direction { name, settings, link, foreign: 0, foreign_bytes: 0, device_drops: 0, device_drop_bytes: 0 }
    }

    /// The same direction at the beginning of another run.
    pub fn restart(&mut self, settings: Option<LinkSettings>, seed: u64) {
        let settings = settings.unwrap_or_else(|| self.settings.clone());
        *self = Direction::new(std::mem::take(&mut self.name), settings, seed);
    }

    /// A packet enters at `now`.
    pub fn accept(&mut self, now: Instant, datagram: Bytes) {
        // The kernel sends nothing but IP into a TUN device, so this is a formality; parsing
        // itself is some tens of nanoseconds beside two system calls.
        let len = datagram.len() as u64;
        match Packet::parse(datagram) {
            // The link counts drops itself.
            Some(packet) => self.link.send(now, packet, &mut |_, _| {}),
            None => {
                self.foreign += 1;
                self.foreign_bytes += len;
            }
        }
    }

    /// When the next packet leaves.
    pub fn next_release(&self) -> Option<Instant> {
        self.link.next_arrival()
    }

    /// The packet that is due at `now`, if one is, as the bytes to deliver and the time by
    /// which it is late.
    pub fn release(&mut self, now: Instant) -> Option<(Bytes, Duration)> {
        let due = self.link.next_arrival()?;
        let packet = self.link.receive(now)?;
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
        let mut drops = counters.dropped;
        drops[DropReason::Device as usize] += self.device_drops + self.foreign;
        DirectionReport {
            name: self.name.clone(),
            received_packets: counters.packets_in + self.foreign,
            received_bytes: counters.bytes_in + self.foreign_bytes,
            delivered_packets: counters.packets_delivered - self.device_drops,
            delivered_bytes: counters.bytes_delivered - self.device_drop_bytes,
            duplicated_packets: counters.duplicated,
            reordered_packets: counters.reordered,
            corrupted_packets: counters.corrupted,
            held_packets: self.link.held().packets as u64,
            drops,
        }
    }
}
