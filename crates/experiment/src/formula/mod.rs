//! Formulas of the papers, by name: what an `analytic` check computes, and a curve of a figure.

mod call;
pub mod decoupling;

pub use call::{Call, X};

use crate::paper::number;

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

/// Declares [`FORMULAS`]: `/// about` `name(input: example, …) = formula, source;`
macro_rules! formulas {
    ($(#[doc = $about:literal] $name:ident($($input:ident: $example:literal),+) = $compute:expr, $source:literal;)+) => {
        /// Every formula.
        pub const FORMULAS: &[Formula] = &[$(Formula {
            name: stringify!($name),
            about: $about.trim_ascii(),
            source: $source,
            inputs: &[$((stringify!($input), $example)),+],
            compute: |inputs| {
                let &[$($input),+] = inputs else { panic!("as many inputs as the formula has") };
                $compute
            },
        },)+];
    };
}

formulas! {
    /// packets that a rate carries in a time: rate x time / packet size
    bandwidth_delay_packets(rate: "\"10Mbit\"", time: "\"10ms\"", packet: "\"512B\"") =
        rate * time / (packet * 8.0), "GSN-N1";
    /// packets sent by all flows between a loss and its NACK at the cache: three more of the flow, and one round trip
    cache_age_packets(flows: "5", rate: "\"5Mbit\"", time: "\"10ms\"", packet: "\"512B\"") =
        3.0 * flows + rate * time / (packet * 8.0), "GSN-N3";
    /// share of a Gaussian above its mean minus so many mean absolute deviations
    // A mean absolute deviation is the root of 2 / pi of a standard deviation.
    gaussian_share_above(deviations: "1") =
        gaussian_share_below(deviations * (2.0 / std::f64::consts::PI).sqrt()), "NZG-X6, NZG-N5";
    /// goodput of Reno at a random loss: segment / round trip x root of 3 / (2 x segments per acknowledgment x loss)
    square_root_law_bps(segment: "\"1448B\"", time: "\"52.85ms\"", loss: "\"1%\"", segments_per_ack: "2") =
        segment * 8.0 / time * (1.5 / (segments_per_ack * loss)).sqrt(), "NZG-N3";
    /// gain over halving of a window that keeps four fifths after a share of its losses and half after the others
    gentle_decrease_gain(share: "\"41%\"") = {
        let decrease = 0.2 * share + 0.5 * (1.0 - share);
        ((2.0 - decrease) / (2.0 * decrease) / 1.5).sqrt()
    }, "NZG-N4";
    /// share of packets with a bit error: bit error rate x packet x 8
    decoupling_per(ber: "2e-6", packet: "\"1500B\"") = decoupling::per(ber, packet), "DEC-38, eq. 1";
    /// the same without its approximation: 1 - (1 - bit error rate) ^ bits
    decoupling_per_exact(ber: "2e-6", packet: "\"1500B\"") = decoupling::per_exact(ber, packet), "DEC-X13";
    /// window in packets that losses of this share allow, packets acknowledged so many at a time: eq. 2 solved
    decoupling_window(per: "0.14", packets_per_ack: "1") =
        decoupling::window(per, packets_per_ack), "DEC-38, eq. 2; DEC-X9";
    /// rate of a window that is halved and grows again: eq. 3 as printed, (3/4 W + 3/2) packets in a round trip
    decoupling_rate_printed_bps(window: "56", packet: "\"1500B\"", time: "\"100ms\"") =
        8.0 * decoupling::rate_printed(window, packet, time), "DEC-38, eq. 3";
    /// the same over the rounds that eq. 2 sums, W/2 + 1: 3/4 W packets in a round trip
    decoupling_rate_corrected_bps(window: "4", packet: "\"576B\"", time: "\"540ms\"") =
        8.0 * decoupling::rate_corrected(window, packet, time), "DEC-X2";
    /// a whole window in a round trip, which is how 119 kbit/s came about
    decoupling_rate_of_window_bps(window: "14", packet: "\"576B\"", time: "\"540ms\"") =
        8.0 * decoupling::rate_of_window(window, packet, time), "DEC-X2";
    /// most data of one flow: eq. 3 as printed at this window, less the packets with bit errors and the headers' share
    decoupling_bound_bps(
        window: "56", packet: "\"1500B\"", header: "\"52B\"", time: "\"100ms\"", ber: "2e-6"
    ) = 8.0 * decoupling::bound(window, packet, header, time, ber), "DEC-39, DEC-C17";
    /// most data of several flows together: each by the model at its own window, all by the link
    decoupling_capped_bound_bps(
        flows: "2", packets_per_ack: "1", rate: "\"10Mbit\"", packet: "\"1500B\"", header: "\"52B\"",
        time: "\"100ms\"", ber: "2e-6"
    ) = {
        let link = decoupling::Link { rate: rate / 8.0, framing: 0.0 };
        let circuit = decoupling::Circuit { packet, header, payload: packet };
        8.0 * circuit.bound_of_flows(flows, packets_per_ack, link, time, ber)
    }, "DEC-39, DEC-X4, DEC-X9, DEC-X10";
    /// most payload that a link carries with a header packet for each packet: Fig. 10
    decoupling_link_bound_bps(
        rate: "\"10Mbit\"", framing: "\"38B\"", packet: "\"1500B\"", header: "\"52B\"", payload: "\"1448B\"",
        ber: "2e-6"
    ) = {
        let link = decoupling::Link { rate: rate / 8.0, framing };
        let circuit = decoupling::Circuit { packet, header, payload };
        8.0 * circuit.bound_of_link(link, ber)
    }, "DEC-39, DEC-N5";
    /// gain of a small header: root of packet over header size
    decoupling_root_gain(packet: "\"1500B\"", header: "\"52B\"") = (packet / header).sqrt(), "DEC-C5";
    /// the same by the windows that eq. 2 gives
    decoupling_window_gain(packet: "\"1500B\"", header: "\"52B\"", ber: "2e-6") =
        decoupling::window_gain(ber, packet, header), "DEC-C18";
    /// control packets over data: one header packet of this size for each virtual segment, and so many acknowledgments
    decoupling_overhead(header: "\"52B\"", vmss: "\"1500B\"", acks: "0.5") =
        decoupling::overhead(header, vmss, acks), "DEC-27, DEC-C9";
    /// share of the rate that one loss takes from so many control TCPs: 1 / (2 M)
    decoupling_cut(controls: "4") = decoupling::cut(controls), "DEC-C23";
}

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

    /// Every formula of the paper's model takes its examples.
    #[test]
    fn dec_38_39_the_model_is_computed_from_inputs_as_files_write_them() {
        let example = |formula: &Formula| {
            let of = |(_, example): &(&str, &str)| input(example.trim_matches('"')).unwrap();
            (formula.compute)(&formula.inputs.iter().map(of).collect::<Vec<_>>())
        };
        let names = FORMULAS.iter().filter(|formula| formula.name.starts_with("decoupling_"));
        let found: Vec<(&str, f64)> = names.map(|formula| (formula.name, example(formula))).collect();
        let round = |name: &str, digits: i32| {
            let value = found.iter().find(|(known, _)| *known == name).unwrap().1;
            (value * 10f64.powi(digits)).round() / 10f64.powi(digits)
        };
        assert_eq!(round("decoupling_per", 3), 0.024);
        assert_eq!(round("decoupling_per_exact", 5), 0.02371);
        assert_eq!(round("decoupling_window", 2), 3.48);
        assert_eq!(round("decoupling_rate_printed_bps", 0), 652_500.0 * 8.0);
        assert_eq!(round("decoupling_rate_corrected_bps", 0), 25_600.0);
        assert_eq!(round("decoupling_rate_of_window_bps", -2), 119_500.0);
        assert_eq!(round("decoupling_bound_bps", -3), 4_924_000.0);
        assert_eq!(round("decoupling_capped_bound_bps", -4), 9_430_000.0);
        assert_eq!(round("decoupling_link_bound_bps", -4), 8_680_000.0);
        assert_eq!(round("decoupling_root_gain", 2), 5.37);
        assert_eq!(round("decoupling_window_gain", 2), 5.80);
        assert_eq!(round("decoupling_overhead", 4), 0.052);
        assert_eq!(round("decoupling_cut", 3), 0.125);
        assert_eq!(found.len(), 13);
    }

    #[test]
    fn gsn_n3_a_nack_finds_its_packet_27_packets_back() {
        assert_eq!((compute("cache_age_packets", &["5", "5Mbit", "10ms", "512B"]) * 10.0).round(), 272.0);
    }
}
