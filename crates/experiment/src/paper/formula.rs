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
    Formula {
        name: "gaussian_share_above",
        about: "share of a Gaussian above its mean minus so many mean absolute deviations",
        source: "NZG-X6, NZG-N5",
        inputs: &[("deviations", "1")],
        // A mean absolute deviation is the root of 2 / pi of a standard deviation.
        compute: |inputs| gaussian_share_below(inputs[0] * (2.0 / std::f64::consts::PI).sqrt()),
    },
    Formula {
        name: "square_root_law_bps",
        about: "goodput of Reno at a random loss: segment / round trip x root of 3 / (2 x segments per acknowledgment x loss)",
        source: "NZG-N3",
        inputs: &[("segment", "\"1448B\""), ("time", "\"52.85ms\""), ("loss", "\"1%\""), ("segments_per_ack", "2")],
        compute: |inputs| inputs[0] * 8.0 / inputs[1] * (1.5 / (inputs[3] * inputs[2])).sqrt(),
    },
    Formula {
        name: "gentle_decrease_gain",
        about: "gain over halving of a window that keeps four fifths after a share of its losses and half after the others",
        source: "NZG-N4",
        inputs: &[("share", "\"41%\"")],
        compute: |inputs| {
            let decrease = 0.2 * inputs[0] + 0.5 * (1.0 - inputs[0]);
            ((2.0 - decrease) / (2.0 * decrease) / 1.5).sqrt()
        },
    },
];

/// Share of a Gaussian below so many standard deviations above its mean: the series of Abramowitz & Stegun 26.2.10.
fn gaussian_share_below(deviations: f64) -> f64 {
    let mut term = deviations;
    let mut sum = deviations;
    for n in 1..100 {
        term *= -deviations * deviations / (2.0 * f64::from(n));
        sum += term / f64::from(2 * n + 1);
    }
    0.5 + sum / (2.0 * std::f64::consts::PI).sqrt()
}

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
    fn nzg_n5_mean_absolute_deviations_of_a_gaussian() {
        let percent = |deviations: &str| (compute("gaussian_share_above", &[deviations]) * 1000.0).round() / 10.0;
        // 84.1 % if the deviation were a standard deviation (NZG-X6).
        assert_eq!([percent("1"), percent("0.5"), percent("1.2533141"), percent("0")], [78.8, 65.5, 84.1, 50.0]);
    }

    #[test]
    fn nzg_n3_the_square_root_law_gives_237_kilobytes_a_second() {
        let of = |loss: &str, every| compute("square_root_law_bps", &["1448B", "52.85ms", loss, every]) / 8e3;
        assert_eq!((of("1%", "2") * 10.0).round(), 2373.0);
        assert_eq!([of("0.1%", "2"), of("0.5%", "2"), of("1.5%", "2")].map(f64::round), [750.0, 336.0, 194.0]);
        assert_eq!((of("1%", "1") * 10.0).round(), 3356.0);
    }

    #[test]
    fn nzg_n4_the_gain_of_a_share_of_random_verdicts() {
        let percent = |share: &str| (compute("gentle_decrease_gain", &[share]) * 1000.0 - 1000.0).round() / 10.0;
        let gains = ["17%", "20%", "24%", "41%", "55%", "100%"].map(percent);
        assert_eq!(gains, [7.3, 8.7, 10.6, 19.8, 28.7, 73.2]);
    }

    #[test]
    fn gsn_n3_a_nack_finds_its_packet_27_packets_back() {
        assert_eq!((compute("cache_age_packets", &["5", "5Mbit", "10ms", "512B"]) * 10.0).round(), 272.0);
    }
}
