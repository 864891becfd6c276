//! Where sequence numbers of new connections begin on real networks (RFC 6528): nobody outside can guess the number of a
//! connection that is not theirs, and of the connections between two ports each begins above the one before.

use crate::packet::FlowKey;
use crate::serial::SeqNum;
use crate::time::Instant;
use core::hash::{Hash, Hasher};
use siphasher::sip::SipHasher24;

/// The numbers rise by one in this time (RFC 9293 section 3.4.1).
const TICK_NS: u64 = 4_000;

/// Keyed by a secret; as Linux, with SipHash-2-4.
#[derive(Clone)]
pub struct InitialSequences {
    hasher: SipHasher24,
}

impl InitialSequences {
    /// `secret` is random, and another one in each life of the host.
    pub fn new(secret: &[u8; 16]) -> Self {
        InitialSequences { hasher: SipHasher24::new_with_key(secret) }
    }

    /// The number of the SYN of a connection that is opened now, and whose segments from here are of `flow`.
    pub fn at(&self, now: Instant, flow: &FlowKey) -> SeqNum {
        let mut hasher = self.hasher;
        flow.hash(&mut hasher);
        // Both wrap by design.
        let (hash, clock) = (hasher.finish() as u32, (now.as_nanos() / TICK_NS) as u32);
        SeqNum(hash.wrapping_add(clock))
    }
}

impl core::fmt::Debug for InitialSequences {
    /// The secret is not shown.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("InitialSequences")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::time::Duration;
    use std::collections::BTreeSet;
    use std::format;
    use std::vec::Vec;

    fn flow(source_port: u16, host: u8) -> FlowKey {
        let address = |last| core::net::IpAddr::from([10, 0, 0, last]);
        FlowKey { source: address(1), destination: address(host), source_port, destination_port: 80 }
    }

    #[test]
    fn the_numbers_of_two_ports_rise_with_a_clock_of_four_microseconds() {
        let numbers = InitialSequences::new(&[7; 16]);
        let first = numbers.at(Instant::ZERO, &flow(1, 2));
        for micros in [0, 3, 4, 4_000_000, 4 * (1 << 32) + 40] {
            let later = numbers.at(Instant::ZERO + Duration::from_micros(micros), &flow(1, 2));
            assert_eq!(later, first + (micros / 4) as u32, "{micros}");
        }
    }

    #[test]
    fn other_ports_hosts_directions_and_secrets_have_other_numbers() {
        let (numbers, others) = (InitialSequences::new(&[7; 16]), InitialSequences::new(&[8; 16]));
        let at = |numbers: &InitialSequences, flow: &FlowKey| numbers.at(Instant::ZERO, flow).0;
        let mut flows: Vec<FlowKey> = (1..100).flat_map(|port| (2..100).map(move |host| flow(port, host))).collect();
        flows.extend((1..100).map(|port| flow(port, 2).reversed()));
        let mut seen: BTreeSet<u32> = flows.iter().map(|flow| at(&numbers, flow)).collect();
        seen.extend(flows.iter().map(|flow| at(&others, flow)));
        // Of 20,000 random numbers a twentieth of one pair is the same.
        assert!(seen.len() >= 2 * flows.len() - 2, "{} of {}", seen.len(), 2 * flows.len());
        // Neighbours tell nothing: each bit of the difference is as often set as not.
        let mut rng = Rng::derive(1, "ports");
        let differences = (0..4096).map(|_| {
            let port = rng.below(60_000) as u16;
            at(&numbers, &flow(port + 1, 2)).wrapping_sub(at(&numbers, &flow(port, 2)))
        });
        let mut ones = [0u32; 32];
        differences.for_each(|n| ones.iter_mut().enumerate().for_each(|(bit, count)| *count += n >> bit & 1));
        assert!(ones.iter().all(|count| (1850..2250).contains(count)), "{ones:?}");
    }

    #[test]
    fn the_secret_is_not_shown() {
        assert_eq!(format!("{:?}", InitialSequences::new(&[7; 16])), "InitialSequences");
    }
}
