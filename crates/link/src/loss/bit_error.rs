//! Independent bit errors (DEC-40): a packet of *n* bits is lost with 1 − (1 − rate)^n.

use airtcp_core::{Probability, parameters};
use alloc::string::String;

parameters! {
    /// Every bit of an IP packet is wrong with the same chance; one wrong bit loses the packet.
    pub struct BitError {
        /// Bit error rate after the radio's own coding.
        pub rate: Probability = Probability::from_fixed(18_446_744_073_709), "ours: 1e-6, 1.2% of 1500-byte packets";
        /// Bytes of link framing around each IP packet whose bits can be wrong, too.
        pub framing: u16 = 0, "DEC-U15: IP bytes only; 18 are Ethernet's, 36 those of 802.11";
    }
}

impl BitError {
    pub(super) fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// The chance that a packet of `wire_len` IP bytes is lost.
    pub fn of_length(&self, wire_len: u32) -> Probability {
        self.rate.complement().pow((u64::from(wire_len) + u64::from(self.framing)) * 8).complement()
    }
}

/// How many packet lengths are remembered: data, acknowledgment and a few with options.
const REMEMBERED: usize = 4;

/// Loss by length; the power is computed once per length, since traffic has few.
#[derive(Clone, Debug)]
pub(super) struct ByLength {
    model: BitError,
    known: [(u32, Probability); REMEMBERED],
    oldest: usize,
}

impl ByLength {
    pub(super) fn new(model: &BitError) -> Self {
        ByLength { model: model.clone(), known: [(0, Probability::NEVER); REMEMBERED], oldest: 0 }
    }

    pub(super) fn probability(&mut self, wire_len: u32) -> Probability {
        if let Some((_, probability)) = self.known.iter().find(|(len, _)| *len == wire_len) {
            return *probability;
        }
        let probability = self.model.of_length(wire_len);
        self.known[self.oldest] = (wire_len, probability);
        self.oldest = (self.oldest + 1) % REMEMBERED;
        probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_follows_the_power_law_for_every_length() {
        for rate in ["1e-3", "1e-5", "1e-6", "1e-9"] {
            let model = BitError { rate: rate.parse().unwrap(), framing: 0 };
            let exact_rate: f64 = rate.parse().unwrap();
            let mut lengths = ByLength::new(&model);
            for wire_len in [20, 40, 52, 576, 1500, 9000, 52, 65535] {
                let exact = -(f64::from(wire_len) * 8.0 * (-exact_rate).ln_1p()).exp_m1();
                let ours = lengths.probability(wire_len).fixed() as f64 / 2f64.powi(64);
                assert!((ours / exact - 1.0).abs() < 1e-6, "{rate} {wire_len}: {ours} instead of {exact}");
            }
        }
    }

    #[test]
    fn no_bit_errors_lose_nothing() {
        let rate = "1e-5".parse().unwrap();
        assert_eq!(BitError { rate, framing: 36 }.of_length(52), BitError { rate, framing: 0 }.of_length(88), "DEC-N6");
        assert_eq!(BitError { rate: Probability::NEVER, framing: 0 }.of_length(65535), Probability::NEVER);
        assert_eq!(BitError { rate: Probability::ALWAYS, framing: 0 }.of_length(1), Probability::ALWAYS);
    }

    #[test]
    fn the_default_is_one_in_a_million() {
        assert_eq!(BitError::default().rate, "1e-6".parse().unwrap());
    }
}
