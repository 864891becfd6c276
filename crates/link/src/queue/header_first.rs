//! Header-first dropping, the router queue of TCP Decoupling that loses no data (Wang and Kung, section 4.7.1).
//!
//! One FIFO is shared by data and header packets (DEC-22). Every header packet stands for VMSS bytes of data before it, so
//! the number of headers that wait tells how much data does: the queue counts them, by their DSCP (DEC-12), and when
//! the count has reached a threshold an arriving header is dropped although there is room (DEC-23). Its control TCP
//! then slows down before the data needs more room than there is. Data is dropped only when the FIFO overflows.
//!
//! With a limit of B bytes, headers of HP bytes and no guaranteed traffic, `N_h ≤ B / (HP + VMSS)` bounds the threshold,
//! with no margin: data keeps coming for a round trip after the first drop, at up to twice the link's rate in slow
//! start, and a dropped header leaves its data in the queue. A threshold left to the software is therefore
//! `N_h = (B − C·RTT0) / (2·(HP + VMSS))` (DEC-U11). A link knows its rate C; of the base round trip RTT0 it knows
//! only its own part, so that is a setting. Where the limit counts packets a header stands for itself and the
//! packets that VMSS bytes take.
//!
//! It decides on arrival and holds no packets: when a header leaves the queue is known when it comes. What it is of
//! use for (DEC-24): a wire, where bit errors are rare (1e-12). On a wireless link (1e-5) headers are lost anyway.

use super::discipline::{Arrival, ArrivalQueue, Discipline, QueueSettings, QueueSite};
use super::header_levels::HeaderLevels;
use super::limit::QueueLimit;
use super::signals::Signals;
use airtcp_core::{ByteSize, CONTROL_DSCP, DropReason, Duration, Instant, Packet, Rng, parameters};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

parameters! {
    /// A queue that drops header packets of TCP Decoupling before any data is lost.
    pub struct HeaderFirst {
        /// How much may wait, data and header packets together, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(1000), "Linux, default txqueuelen";
        /// Header packets that may wait; (limit - rate x round_trip) / 2 / (header + vmss) if auto.
        pub threshold: Option<u64> = None, "DEC-U11; not above limit / (header + vmss) if no data is to be lost";
        /// Largest virtual segment size of the circuits that use the link: data before each header packet.
        pub vmss: ByteSize = ByteSize(1500), "DEC-U16";
        /// Length of a header packet: 52 bytes with timestamps, 40 without.
        pub header: ByteSize = ByteSize(52), "DEC-5, DEC-X1";
        /// Base round trip of the circuits, for an auto threshold; twice the link's delay if auto, the least that it can be.
        pub round_trip: Option<Duration> = None, "DEC-U11";
        /// DSCP of header packets, 0 to 63.
        pub dscp: u8 = CONTROL_DSCP, "DEC-12, DEC-U10";
    }
}

impl QueueSettings for HeaderFirst {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self) -> Result<(), String> {
        if self.vmss.0 == 0 || self.header.0 == 0 {
            return Err(
                "'vmss' and 'header' are lengths of 1 byte or more; write vmss = \"1500B\", header = \"52B\"".into()
            );
        }
        if self.threshold == Some(0) {
            return Err("a threshold of 0 lets no circuit send; write 1 or more, or leave it to auto".into());
        }
        if self.dscp > 63 {
            return Err("a DSCP has 6 bits, 0 to 63; leave it out for the DSCP of our own circuits".into());
        }
        Ok(())
    }

    fn check_at(&self, site: &QueueSite) -> Result<(), String> {
        if self.threshold_at(site) > 0 {
            return Ok(());
        }
        Err(format!(
            "a header-first queue of {} is too short for an auto threshold: less than a round trip and two virtual \
             segments fit; give it a longer limit or a threshold",
            self.limit
        ))
    }

    fn header_dscp(&self) -> u8 {
        self.dscp
    }

    fn start(&self, site: &QueueSite, _: Rng) -> Discipline {
        Discipline::Arrival(Box::new(HeaderDropper::new(self, site)))
    }
}

impl HeaderFirst {
    /// Header packets that may wait; zero if the limit leaves room for none.
    fn threshold_at(&self, site: &QueueSite) -> u64 {
        if let Some(threshold) = self.threshold {
            return threshold;
        }
        let round_trip = self.round_trip.unwrap_or(site.delay * 2);
        let flight = site.rate.map_or(0, |rate| rate.bytes_in(round_trip));
        let bytes = self.header.0 + self.vmss.0;
        let (limit, flight, each) = match self.limit {
            QueueLimit::Bytes(limit) => (limit, flight, bytes),
            QueueLimit::Packets(limit) => {
                let packets = 1 + self.vmss.0.div_ceil(u64::from(site.mtu.max(1)));
                (limit, flight.saturating_mul(packets) / bytes, packets)
            }
        };
        limit.saturating_sub(flight) / (2 * each)
    }
}

/// Header-first dropping at work.
#[derive(Debug)]
pub(crate) struct HeaderDropper {
    settings: HeaderFirst,
    threshold: u64,
    /// When each header that waits goes to the transmitter, in order.
    turns: VecDeque<Instant>,
    most: u64,
    /// Time that all headers wait, those to come in `turns` included.
    waits: Duration,
}

impl HeaderDropper {
    pub(crate) fn new(settings: &HeaderFirst, site: &QueueSite) -> Self {
        HeaderDropper {
            // `check_at` refuses a queue without room for one.
            threshold: settings.threshold_at(site).max(1),
            settings: settings.clone(),
            turns: VecDeque::new(),
            most: 0,
            waits: Duration::ZERO,
        }
    }
}

impl ArrivalQueue for HeaderDropper {
    /// DEC-22, DEC-23
    fn admit(&mut self, arrival: &Arrival, packet: Packet, signals: &mut Signals<'_>) -> Option<Packet> {
        if arrival.is_idle() {
            return Some(packet);
        }
        let Arrival { now, free_at, waiting } = *arrival;
        let is_header = packet.ip().dscp() == self.settings.dscp;
        while self.turns.front().is_some_and(|turn| *turn <= now) {
            self.turns.pop_front();
        }
        if is_header && self.turns.len() as u64 >= self.threshold {
            signals.drop(packet, DropReason::AQM);
            return None;
        }
        if !self.settings.limit.admits(waiting, packet.wire_len()) {
            signals.drop(packet, DropReason::QUEUE_FULL);
            return None;
        }
        if is_header {
            self.turns.push_back(free_at);
            self.most = self.most.max(self.turns.len() as u64);
            self.waits += free_at.saturating_since(now);
        }
        Some(packet)
    }

    fn set_site(&mut self, site: &QueueSite) {
        self.threshold = self.settings.threshold_at(site).max(1);
    }

    fn header_levels(&self, now: Instant) -> Option<HeaderLevels> {
        let to_come = self.turns.iter().map(|turn| turn.saturating_since(now));
        let waiting = to_come.clone().filter(|wait| !wait.is_zero()).count() as u64;
        let waited = to_come.fold(self.waits, Duration::saturating_sub);
        Some(HeaderLevels { threshold: self.threshold, waiting, most: self.most, waited })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(rate: &str, delay: &str, mtu: u32) -> QueueSite {
        QueueSite { rate: Some(rate.parse().unwrap()), delay: delay.parse().unwrap(), mtu }
    }

    fn threshold(limit: &str, site: QueueSite) -> u64 {
        HeaderFirst { limit: limit.parse().unwrap(), ..HeaderFirst::default() }.threshold_at(&site)
    }

    #[test]
    fn dec_u11_an_auto_threshold_leaves_room_for_a_round_trip_and_for_as_much_again() {
        // 10 Mbit/s for 2 x 5 ms are 12,500 bytes; (75,000 - 12,500) / 2 / 1552 = 20.1.
        assert_eq!(threshold("75kB", on("10Mbit", "5ms", 1500)), 20);
        assert_eq!(threshold("75kB", on("10Mbit", "0ms", 1500)), 24);
        let known = HeaderFirst {
            limit: QueueLimit::Bytes(75_000),
            round_trip: Some("20ms".parse().unwrap()),
            ..HeaderFirst::default()
        };
        assert_eq!(known.threshold_at(&on("10Mbit", "5ms", 1500)), 16, "a round trip that is told");
        assert_eq!(HeaderFirst { threshold: Some(48), ..known }.threshold_at(&on("10Mbit", "5ms", 1500)), 48);
    }

    #[test]
    fn a_limit_of_packets_counts_a_header_and_the_packets_before_it() {
        assert_eq!(threshold("50packets", on("10Mbit", "0ms", 1500)), 12, "50 / 2 / 2");
        // 12,500 bytes are 16.1 packets where 1552 bytes are two.
        assert_eq!(threshold("50packets", on("10Mbit", "5ms", 1500)), 8);
        assert_eq!(threshold("50packets", on("10Mbit", "0ms", 576)), 6, "50 / 2 / 4");
    }

    #[test]
    fn a_link_without_a_rate_needs_no_room_for_a_round_trip() {
        assert_eq!(threshold("75kB", QueueSite { rate: None, ..on("10Mbit", "50ms", 1500) }), 24);
    }
}
