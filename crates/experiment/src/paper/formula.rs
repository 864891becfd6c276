//! Formulas of the papers, by name: what an `analytic` check computes.

use super::number;

/// A formula and its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// Name in files.
    pub name: &'static str,
    /// What it gives, with its unit.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Name and example of each input, in the order that `compute` takes them.
    pub inputs: &'static [(&'static str, &'static str)],
    /// From inputs in base units (bit/s, seconds, bytes, counts).
    pub compute: fn(&[f64]) -> f64,
}

/// Every formula.
pub const FORMULAS: &[Formula] = &[
    Formula {
        name: "bandwidth_delay_packets",
        about: "packets that a rate carries in a time: rate x time / packet size",
        source: "GSN-N1",
        inputs: &[("rate", "\"10Mbit\""), ("time", "\"10ms\""), ("packet", "\"512B\"")],
        compute: |inputs| inputs[0] * inputs[1] / (inputs[2] * 8.0),
    },
    Formula {
        name: "cache_age_packets",
        about: "packets sent by all flows between a loss and its NACK at the cache: three more of the flow, and one round trip",
        source: "GSN-N3",
        inputs: &[("flows", "5"), ("rate", "\"5Mbit\""), ("time", "\"10ms\""), ("packet", "\"512B\"")],
        compute: |inputs| 3.0 * inputs[0] + inputs[1] * inputs[2] / (inputs[3] * 8.0),
    },
];

/// The formula called `name`.
pub fn find(name: &str) -> Option<&'static Formula> {
    FORMULAS.iter().find(|formula| formula.name == name)
}

/// An input in base units.
pub fn input(text: &str) -> Option<f64> {
    number::of_label(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute(name: &str, inputs: &[&str]) -> f64 {
        let inputs: Vec<f64> = inputs.iter().map(|text| input(text).unwrap()).collect();
        (find(name).unwrap().compute)(&inputs)
    }

    #[test]
    fn gsn_n1_one_wireless_round_trip_is_24_packets_and_by_satellite_1343() {
        assert_eq!(compute("bandwidth_delay_packets", &["10Mbit", "10ms", "512B"]), 24.414_062_5);
        assert_eq!(compute("bandwidth_delay_packets", &["10Mbit", "550ms", "512B"]).round(), 1343.0);
    }

    #[test]
    fn gsn_n3_a_nack_finds_its_packet_27_packets_back() {
        assert_eq!((compute("cache_age_packets", &["5", "5Mbit", "10ms", "512B"]) * 10.0).round(), 272.0);
    }
}
