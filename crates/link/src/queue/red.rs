//! Random early detection (Floyd and Jacobson, IEEE/ACM Trans. Networking 1(4), 1993; RFC 2309 and 7567).
//!
//! The length of the queue is averaged over arrivals, `avg += weight × (queue − avg)`; while the transmitter is idle
//! it decays as if small packets had gone on finding the queue empty. Between two thresholds an arriving packet is
//! dropped or marked with a probability that rises to `max_p`, counted so that the drops are spread evenly: with
//! `p_b` the probability by the average alone and `count` the packets since the last drop, `p_a = p_b ÷ (1 − count ×
//! p_b)`. Above the upper threshold every packet is dropped, or, with `gentle`, the probability rises from `max_p` to
//! one at twice the threshold.
//!
//! Differences: a packet's length does not change its probability (RFC 7141, section 2.3; in the paper it may); marks
//! are also set above the upper threshold (as in the paper, and in Linux without `harddrop`), so that an ECN flow
//! loses packets only to a full queue. RED decides on arrival and therefore holds no packets.
//!
//! With `weight = "100%"` the average is the queue as it is, and with `min` as much as `max` and `gentle = false` it is a
//! step: each packet that finds so much waiting is marked. So DCTCP wants its switches (RFC 8257 section 3.1; its
//! threshold K, which has to be exceeded, is `max` less one packet).

use super::discipline::{Arrival, ArrivalQueue, Discipline, QueueSettings, QueueSite};
use super::limit::QueueLimit;
use super::signals::Signals;
use airtcp_core::{Backlog, ByteSize, DropReason, Duration, Packet, Probability, Rate, Rng, parameters};
use alloc::boxed::Box;
use alloc::string::String;

parameters! {
    /// Random early detection.
    pub struct Red {
        /// How much may wait, not counting the packet in transmission; what does not fit is dropped.
        pub limit: QueueLimit = QueueLimit::Packets(50), "ns-2, limit_; DEC-U13";
        /// Average below which nothing is dropped; in the same unit as `max`.
        pub min: QueueLimit = QueueLimit::Packets(5), "ns-2, thresh_; DEC-U13";
        /// Average from which on every packet is dropped or, with `gentle`, more than `max_p` of them. As much as `min` is a
        /// step: nothing is dropped below it.
        pub max: QueueLimit = QueueLimit::Packets(15), "ns-2, maxthresh_; DEC-U13";
        /// Chance of a drop when the average reaches `max`.
        pub max_p: Probability = Probability::ratio(1, 10), "ns-2, linterm_; DEC-U13";
        /// Weight of the newest sample in the average.
        pub weight: Probability = Probability::ratio(2, 1000), "ns-2, q_weight_; DEC-U13";
        /// Whether the chance rises from `max_p` to one between `max` and twice `max`, instead of at once.
        pub gentle: bool = true, "ns-2, gentle_; Floyd 2000";
        /// Length of the packets that an idle link could have sent, for the decay of the average.
        pub mean_packet: ByteSize = ByteSize(500), "ns-2, mean_pktsize_";
        /// Whether packets of ECN-capable transports are marked instead of dropped.
        pub ecn: bool = false, "RFC 3168; ns-2, setbit_";
    }
}

impl QueueSettings for Red {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self) -> Result<(), String> {
        let (min, max) = match (self.min, self.max) {
            (QueueLimit::Bytes(min), QueueLimit::Bytes(max)) => (min, max),
            (QueueLimit::Packets(min), QueueLimit::Packets(max)) => (min, max),
            _ => return Err("'min' and 'max' have to be in the same unit, both in bytes or both in packets".into()),
        };
        if min > max {
            return Err("'min' has to be no more than 'max'; three times 'min' is a good 'max'".into());
        }
        if self.weight.is_never() {
            return Err("a weight of zero never sees the queue; write for example weight = \"0.2%\"".into());
        }
        if self.mean_packet.0 == 0 || u32::try_from(self.mean_packet.0).is_err() {
            return Err("'mean_packet' is the length of a packet; write for example mean_packet = \"500B\"".into());
        }
        Ok(())
    }

    fn start(&self, site: &QueueSite, rng: Rng) -> Discipline {
        Discipline::Arrival(Box::new(EarlyDetection::new(self, site.rate, rng)))
    }
}

/// Fractional bits of the average and the thresholds; the whole part is capped at 2^32 − 1 packets or bytes.
const FRACTION: u32 = 32;

/// Time in which a link of this rate sends a packet of mean length.
fn mean_transmission(settings: &Red, rate: Option<Rate>) -> Duration {
    let mean_packet = u32::try_from(settings.mean_packet.0).unwrap_or(u32::MAX);
    rate.map_or(Duration::ZERO, |rate| rate.serialisation(mean_packet, &mut 0))
}

fn scaled(length: u64) -> u64 {
    length.min(u64::from(u32::MAX)) << FRACTION
}

impl ArrivalQueue for EarlyDetection {
    fn admit(&mut self, arrival: &Arrival, packet: Packet, signals: &mut Signals<'_>) -> Option<Packet> {
        let is_idle = arrival.is_idle();
        if is_idle {
            self.decay(arrival.now.saturating_since(arrival.free_at));
        } else {
            self.sample(arrival.waiting);
        }
        // Without room there is nothing to choose, and a mark would be for nobody.
        if !is_idle && !self.settings.limit.admits(arrival.waiting, packet.wire_len()) {
            self.count = Some(0);
            signals.drop(packet, DropReason::QUEUE_FULL);
            return None;
        }
        if self.chooses() { signals.signal(packet, self.settings.ecn) } else { Some(packet) }
    }

    fn set_site(&mut self, site: &QueueSite) {
        self.mean_transmission = mean_transmission(&self.settings, site.rate);
    }
}

/// RED at work.
#[derive(Debug)]
pub(crate) struct EarlyDetection {
    settings: Red,
    rng: Rng,
    /// Time in which the link sends a packet of mean length; zero on a link without a rate.
    mean_transmission: Duration,
    /// Packets since the last drop; none while the average is below the lower threshold.
    count: Option<u64>,
    average: u64,
    min: u64,
    max: u64,
}

impl EarlyDetection {
    pub(crate) fn new(settings: &Red, rate: Option<Rate>, rng: Rng) -> Self {
        let threshold = |limit| match limit {
            QueueLimit::Bytes(length) | QueueLimit::Packets(length) => scaled(length),
        };
        EarlyDetection {
            rng,
            mean_transmission: mean_transmission(settings, rate),
            count: None,
            average: 0,
            min: threshold(settings.min),
            max: threshold(settings.max),
            settings: settings.clone(),
        }
    }

    /// `avg += weight × (queue − avg)`
    fn sample(&mut self, waiting: Backlog) {
        let queue = scaled(match self.settings.max {
            QueueLimit::Bytes(_) => waiting.bytes,
            QueueLimit::Packets(_) => waiting.packets as u64,
        });
        let part = |difference: u64| ((u128::from(difference) * self.weight()) >> 64) as u64;
        if queue >= self.average {
            self.average += part(queue - self.average);
        } else {
            self.average -= part(self.average - queue);
        }
    }

    /// The weight × 2^64; one is one.
    fn weight(&self) -> u128 {
        if self.settings.weight == Probability::ALWAYS { 1 << 64 } else { u128::from(self.settings.weight.fixed()) }
    }

    /// `avg ×= (1 − weight)^m`, where m packets of mean length could have been sent in the time `idle`.
    fn decay(&mut self, idle: Duration) {
        if self.settings.weight == Probability::ALWAYS {
            // The average is the queue as it is.
            self.average = 0;
            return;
        }
        let Some(packets) = idle.as_nanos().checked_div(self.mean_transmission.as_nanos()) else {
            self.average = 0;
            return;
        };
        if packets > 0 {
            let kept = self.settings.weight.complement().pow(packets);
            self.average = ((u128::from(self.average) * u128::from(kept.fixed())) >> 64) as u64;
        }
    }

    /// Whether the packet that has just been counted into the average is to be dropped or marked.
    fn chooses(&mut self) -> bool {
        if self.average < self.min {
            self.count = None;
            return false;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let base = self.probability();
        let chosen = base == Probability::ALWAYS || self.rng.chance(spread(base, count));
        self.count = Some(if chosen { 0 } else { count });
        chosen
    }

    /// `p_b`: the probability by the average alone, which is not below the lower threshold.
    fn probability(&self) -> Probability {
        let Red { max_p, gentle, .. } = self.settings;
        if self.average < self.max {
            max_p.and(Probability::ratio(self.average - self.min, self.max - self.min))
        } else if gentle {
            let rise = max_p.complement().and(Probability::ratio(self.average - self.max, self.max));
            Probability::from_fixed(max_p.fixed().saturating_add(rise.fixed()))
        } else {
            Probability::ALWAYS
        }
    }
}

/// `p_a = p_b ÷ (1 − count × p_b)`
fn spread(base: Probability, count: u64) -> Probability {
    let passed = u64::try_from(u128::from(count) * u128::from(base.fixed())).unwrap_or(u64::MAX);
    Probability::ratio(base.fixed(), u64::MAX - passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkCounters;
    use airtcp_core::Ecn;
    use airtcp_core::Instant;
    use core::net::Ipv4Addr;
    use std::vec;
    use std::vec::Vec;

    /// A queue with the default thresholds, 5 and 15 packets, before a link that sends a mean packet in a millisecond.
    fn red(settings: Red) -> EarlyDetection {
        settings.check().unwrap();
        EarlyDetection::new(&settings, Some(Rate::from_bps(4_000_000)), Rng::derive(1, "red"))
    }

    fn average(red: &EarlyDetection) -> f64 {
        red.average as f64 / (1u64 << FRACTION) as f64
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// What becomes of a packet that finds `packets` of 1000 bytes waiting; the transmitter is busy.
    fn meets(red: &mut EarlyDetection, packets: usize) -> Result<Ecn, DropReason> {
        let (mut counters, mut verdict) = (LinkCounters::default(), None);
        let address = Ipv4Addr::LOCALHOST.into();
        let mut packet = Packet::opaque(address, address, 17, vec![0; 980].into());
        packet.set_ecn(Ecn::Ect0);
        let waiting = Backlog { packets, bytes: packets as u64 * 1000 };
        let mut drops = |_, reason| verdict = Some(reason);
        let mut signals = Signals { counters: &mut counters, drops: &mut drops, header_dscp: 3 };
        let passed = red.admit(&Arrival { now: at(0), free_at: at(1), waiting }, packet, &mut signals);
        passed.map(|packet| packet.ip().ecn()).ok_or_else(|| verdict.expect("a reason"))
    }

    #[test]
    fn the_average_follows_the_queue_by_its_weight() {
        for (text, weight) in [("0.2%", 0.002), ("20%", 0.2), ("100%", 1.0)] {
            let mut red = red(Red { weight: text.parse().unwrap(), ..Red::default() });
            let mut expected = 0.0;
            for queue in [3, 9, 9, 0, 27, 14, 1].into_iter().cycle().take(500) {
                let _ = meets(&mut red, queue);
                expected += weight * (queue as f64 - expected);
                assert!((average(&red) - expected).abs() < 1e-6, "{text}: {} {expected}", average(&red));
            }
        }
    }

    #[test]
    fn thresholds_in_bytes_average_bytes() {
        let (min, max) = (QueueLimit::Bytes(5000), QueueLimit::Bytes(15_000));
        let mut red = red(Red { min, max, weight: Probability::ALWAYS, ..Red::default() });
        let _ = meets(&mut red, 9);
        assert_eq!(average(&red), 9000.0);
    }

    #[test]
    fn the_average_decays_in_idle_time_as_if_small_packets_had_passed() {
        let mut red = red(Red { weight: "10%".parse().unwrap(), ..Red::default() });
        for _ in 0..200 {
            let _ = meets(&mut red, 4);
        }
        let before = average(&red);
        // Idle from 5 ms to 25 ms: 20 packets of 500 bytes at 4 Mbit/s.
        let (mut counters, address) = (LinkCounters::default(), Ipv4Addr::LOCALHOST.into());
        let packet = Packet::opaque(address, address, 17, vec![0; 80].into());
        let mut signals = Signals { counters: &mut counters, drops: &mut |_, _| panic!("dropped"), header_dscp: 3 };
        let arrival = Arrival { now: at(25), free_at: at(5), waiting: Backlog::default() };
        assert!(red.admit(&arrival, packet, &mut signals).is_some());
        let expected = before * 0.9f64.powi(20);
        assert!((average(&red) - expected).abs() < 1e-6, "{} {expected}", average(&red));
    }

    #[test]
    fn nothing_is_dropped_below_the_lower_threshold() {
        let mut red = red(Red { weight: Probability::ALWAYS, max_p: Probability::ALWAYS, ..Red::default() });
        assert!((0..1000).all(|_| meets(&mut red, 4).is_ok()));
        assert!((0..1000).any(|_| meets(&mut red, 10).is_err()));
    }

    #[test]
    fn between_the_thresholds_drops_are_spread_evenly_at_the_rate_of_the_average() {
        // An average of 10 is half way: p_b = max_p ÷ 2 = 1/20. With `count` the distance between two drops is uniform
        // from 1 to 19, so its mean is 10 and its variance (19² − 1) ÷ 12 = 30.
        let mut red = red(Red { weight: Probability::ALWAYS, ..Red::default() });
        let drops: Vec<usize> = (0..200_000).filter(|_| meets(&mut red, 10) == Err(DropReason::AQM)).collect();
        let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        assert!((mean - 10.0).abs() < 4.0 * (30.0 / gaps.len() as f64).sqrt(), "{mean}");
        assert!(gaps.iter().all(|gap| (1..=19).contains(gap)));
        let expected = gaps.len() as f64 / 19.0;
        let chi_square: f64 = (1..=19)
            .map(|length| gaps.iter().filter(|gap| **gap == length).count() as f64)
            .map(|seen| (seen - expected).powi(2) / expected)
            .sum();
        assert!(chi_square < 45.0, "{chi_square}: beyond 99.95 % of a chi-square with 18 degrees of freedom");
    }

    #[test]
    fn the_probability_rises_linearly_and_gently_to_one_at_twice_the_upper_threshold() {
        for (queue, gentle, expected) in
            [(5, true, 0.0), (8, true, 0.03), (15, true, 0.1), (20, true, 0.4), (15, false, 1.0), (30, true, 1.0)]
        {
            let mut red = red(Red { weight: Probability::ALWAYS, gentle, ..Red::default() });
            let _ = meets(&mut red, queue);
            let probability = red.probability().fixed() as f64 / 2f64.powi(64);
            assert!((probability - expected).abs() < 1e-6, "{queue}: {probability}, not {expected}");
        }
    }

    #[test]
    fn equal_thresholds_on_the_queue_as_it_is_are_a_step() {
        let (min, max) = (QueueLimit::Packets(20), QueueLimit::Packets(20));
        let mut red = red(Red { min, max, weight: Probability::ALWAYS, gentle: false, ecn: true, ..Red::default() });
        for _ in 0..100 {
            assert_eq!(meets(&mut red, 19), Ok(Ecn::Ect0));
            assert_eq!(meets(&mut red, 20), Ok(Ecn::Ce));
        }
        // A packet that finds nothing waiting is not marked, however short a time that has been so.
        let (mut counters, address) = (LinkCounters::default(), Ipv4Addr::LOCALHOST.into());
        let mut packet = Packet::opaque(address, address, 17, vec![0; 80].into());
        packet.set_ecn(Ecn::Ect0);
        let mut signals = Signals { counters: &mut counters, drops: &mut |_, _| panic!("dropped"), header_dscp: 3 };
        let arrival = Arrival { now: at(5), free_at: at(5), waiting: Backlog::default() };
        assert_eq!(red.admit(&arrival, packet, &mut signals).unwrap().ip().ecn(), Ecn::Ect0);
        let (min, max) = (QueueLimit::Packets(21), QueueLimit::Packets(20));
        assert!(Red { min, max, ..Red::default() }.check().unwrap_err().contains("no more than 'max'"));
    }

    #[test]
    fn from_twice_the_upper_threshold_on_nothing_passes() {
        let mut gentle = red(Red { weight: Probability::ALWAYS, ..Red::default() });
        assert!((0..1000).any(|_| meets(&mut gentle, 16).is_ok()));
        assert!((0..1000).all(|_| meets(&mut gentle, 30) == Err(DropReason::AQM)));
        let mut abrupt = red(Red { weight: Probability::ALWAYS, gentle: false, ..Red::default() });
        assert!((0..1000).all(|_| meets(&mut abrupt, 16) == Err(DropReason::AQM)));
    }

    #[test]
    fn a_full_queue_drops_even_what_could_be_marked() {
        let mut red = red(Red { ecn: true, weight: Probability::ALWAYS, ..Red::default() });
        assert_eq!(meets(&mut red, 49), Ok(Ecn::Ce));
        assert_eq!(meets(&mut red, 50), Err(DropReason::QUEUE_FULL));
    }
}
