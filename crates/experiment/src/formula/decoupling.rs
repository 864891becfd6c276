//! The model of TCP Decoupling (Wang and Kung, sections 3, 7 and 8): what bit errors leave of a TCP's window and rate.
//!
//! Sizes are in bytes, times in seconds, rates in bytes per second, shares of one. The paper prints three numbers that
//! come from three different forms of its equation 3 (DEC-X2), so each has its function here and no other name:
//!
//! | printed | function |
//! |---|---|
//! | 652,500 bytes/s (C17) | [`rate_printed`] |
//! | 26 kbit/s (C3) | [`rate_corrected`] |
//! | 119 kbit/s (C4) | [`rate_of_window`] |
//!
//! For decoupling, the window comes from the header packet's size and the rate from the data packet's (DEC-38).

/// Equation 1: share of packets of `bytes` with a bit error, as long as it is small.
pub fn per(ber: f64, bytes: f64) -> f64 {
    ber * bytes * 8.0
}

/// The same without the approximation. (DEC-X13)
pub fn per_exact(ber: f64, bytes: f64) -> f64 {
    1.0 - (1.0 - ber).powf(bytes * 8.0)
}

/// Equation 2 solved for the window in packets: in a cycle from loss to loss `b` (3/8 W² + 3/4 W) packets are sent, where
/// the receiver acknowledges `b` at a time and the window grows by acknowledgments (DEC-X9).
pub fn window(per: f64, b: f64) -> f64 {
    (1.0 + 8.0 / (3.0 * per * b)).sqrt() - 1.0
}

/// Equation 3 as printed: the packets of a cycle over W/2 round trips.
pub fn rate_printed(window: f64, packet: f64, round_trip: f64) -> f64 {
    (0.75 * window + 1.5) * packet / round_trip
}

/// Equation 3 over the rounds that equation 2 sums up, W/2 + 1 of them. (DEC-X2)
pub fn rate_corrected(window: f64, packet: f64, round_trip: f64) -> f64 {
    0.75 * window * packet / round_trip
}

/// A whole window each round trip. (DEC-X2)
pub fn rate_of_window(window: f64, packet: f64, round_trip: f64) -> f64 {
    window * packet / round_trip
}

/// Fig. 11: most data of one flow at this window, by equation 3 as printed, less the share of data packets with bit errors and
/// that of the header packets. No link limits it. (DEC-39)
pub fn bound(window: f64, packet: f64, header: f64, round_trip: f64, ber: f64) -> f64 {
    rate_printed(window, packet, round_trip) * (1.0 - per(ber, packet)) * packet / (packet + header)
}

/// Gain of a window by the smaller header, as equation 2 has it without its approximation. (DEC-C18)
pub fn window_gain(ber: f64, packet: f64, header: f64) -> f64 {
    window(per(ber, header), 1.0) / window(per(ber, packet), 1.0)
}

/// Control packets over data: a header packet for each virtual segment, `acks` acknowledgments of the same size for each
/// header packet. (DEC-27)
pub fn overhead(header: f64, vmss: f64, acks: f64) -> f64 {
    (1.0 + acks) * header / vmss
}

/// Share of the rate of `controls` control TCPs that a single loss takes. (DEC-C23)
pub fn cut(controls: f64) -> f64 {
    0.5 / controls
}

/// A link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Everything it carries.
    pub rate: f64,
    /// What it adds to each IP packet: 38 bytes on Ethernet, with preamble and gap; 0 where the rate counts IP bytes.
    pub framing: f64,
}

/// The packets of a circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circuit {
    /// IP bytes of a data packet.
    pub packet: f64,
    /// IP bytes of the header packet that goes with each.
    pub header: f64,
    /// What counts of the data packet: its application bytes, or all of it.
    pub payload: f64,
}

impl Circuit {
    /// Fig. 10: most payload that the link carries, with the share of data packets without bit errors. (DEC-39, DEC-N5)
    pub fn bound_of_link(&self, link: Link, ber: f64) -> f64 {
        let on_the_link = self.packet + self.header + 2.0 * link.framing;
        link.rate * self.payload / on_the_link * (1.0 - per(ber, self.packet))
    }

    /// Fig. 11 for `flows` that share a link: each has the bound of its own window, all together that of the link; a flow
    /// by itself is `flows` = 1. The receiver acknowledges `b` header packets at a time: the paper's curve has 1, and its
    /// receiver 2. (DEC-X4, DEC-X9, DEC-X10)
    pub fn bound_of_flows(&self, flows: f64, b: f64, link: Link, round_trip: f64, ber: f64) -> f64 {
        let window = window(per(ber, self.header), b);
        let of_each = bound(window, self.packet, self.header, round_trip, ber) * self.payload / self.packet;
        (flows * of_each).min(self.bound_of_link(link, ber))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(value: f64, digits: i32) -> f64 {
        let factor = 10f64.powi(digits);
        (value * factor).round() / factor
    }

    /// Header packet with timestamps. (DEC-5, DEC-X1)
    const HEADER_WITH_TIMESTAMPS: f64 = 52.0;
    /// Header packet without.
    const HEADER: f64 = 40.0;
    /// Compressed header packet whose timestamps go as they are. (DEC-41)
    const COMPRESSED_WITH_TIMESTAMPS: f64 = 15.0;
    /// Compressed header packet without timestamps.
    const COMPRESSED: f64 = 3.0;
    /// 10 Mbit/s Ethernet.
    const ETHERNET: Link = Link { rate: 1.25e6, framing: 38.0 };

    #[test]
    fn spec_8_1_the_rate_and_the_bound_of_c17() {
        assert_eq!(rate_printed(56.0, 1500.0, 0.1), 652_500.0);
        assert_eq!(rounded(bound(56.0, 1500.0, 52.0, 0.1, 2e-6) / 1e3, 1), 615.5);
    }

    #[test]
    fn dec_38_n1_a_packet_of_576_bytes_at_3e_5_is_lost_one_in_seven() {
        assert_eq!(rounded(per(3e-5, 576.0), 5), 0.13824);
        assert_eq!(rounded(per_exact(3e-5, 576.0), 4), 0.1291);
        assert_eq!(rounded(1.0 / per(3e-5, 576.0), 2), 7.23);
        assert_eq!(rounded(window(per(3e-5, 576.0), 1.0), 2), 3.50);
        assert_eq!(rounded(window(0.14, 1.0), 2), 3.48);
    }

    #[test]
    fn dec_38_eq_2_is_solved_for_its_window() {
        for (per, b) in [(0.14, 1.0), (0.0008, 1.0), (0.0008, 2.0), (1e-6, 2.0)] {
            let w = window(per, b);
            let packets = b * (0.375 * w * w + 0.75 * w);
            assert!((packets * per - 1.0).abs() < 1e-9, "{per} {b}");
        }
    }

    #[test]
    fn dec_38_n2_three_forms_of_eq_3_and_only_one_gives_each_printed_number() {
        let forms = |window| {
            [rate_printed, rate_corrected, rate_of_window].map(|form| rounded(form(window, 576.0, 0.54) * 8e-3, 1))
        };
        assert_eq!(forms(4.0), [38.4, 25.6, 34.1]);
        assert_eq!(forms(window(per(3e-5, 576.0), 1.0)), [35.2, 22.4, 29.9]);
        assert_eq!(forms(14.0), [102.4, 89.6, 119.5]);
        assert_eq!(forms(16.0), [115.2, 102.4, 136.5]);
        let unrounded = |header| rounded(window(per(3e-5, header), 1.0), 2);
        assert_eq!([unrounded(HEADER_WITH_TIMESTAMPS), unrounded(HEADER)], [13.65, 15.70]);
    }

    #[test]
    fn dec_39_n3_the_bound_of_fig_11_and_its_parts() {
        assert_eq!(rounded(per(2e-6, 52.0), 6), 0.000_832);
        assert_eq!(rounded(1.0 / per(2e-6, 52.0), 1), 1201.9);
        assert_eq!(rounded(window(per(2e-6, 52.0), 1.0), 1), 55.6);
        assert_eq!(rounded(window(0.0008, 1.0), 1), 56.7);
        assert_eq!(rate_corrected(56.0, 1500.0, 0.1), 630_000.0);
        assert_eq!(rounded(630_000.0 * (1.0 - per(2e-6, 1500.0)) * 1500.0 / 1552.0 / 1e3, 1), 594.3);
        assert_eq!(rounded(per_exact(2e-6, 1500.0), 5), 0.02371);
        assert_eq!(rounded(560.0 / 615.5, 3), 0.91);
    }

    #[test]
    fn dec_38_n4_rates_at_2e_6_over_the_round_trip() {
        let kilobytes = |rate: f64| (rate / 1e3).round();
        let reno = window(per(2e-6, 1500.0), 1.0);
        let [dec, every_second] = [1.0, 2.0].map(|b| window(per(2e-6, 52.0), b));
        assert_eq!([reno, dec, every_second].map(|w| rounded(w, 2)), [9.59, 55.62, 39.04]);
        let row = |rtt| {
            let [printed, corrected] = [rate_printed, rate_corrected];
            [
                printed(reno, 1500.0, rtt),
                corrected(reno, 1500.0, rtt),
                printed(dec, 1500.0, rtt),
                corrected(dec, 1500.0, rtt),
                corrected(every_second, 1500.0, rtt),
            ]
            .map(kilobytes)
        };
        assert_eq!(row(0.01), [1304.0, 1079.0, 6483.0, 6258.0, 4393.0]);
        assert_eq!(row(0.05), [261.0, 216.0, 1297.0, 1252.0, 879.0]);
        assert_eq!(row(0.1), [130.0, 108.0, 648.0, 626.0, 439.0]);
        assert_eq!(row(0.2), [65.0, 54.0, 324.0, 313.0, 220.0]);
        assert_eq!(rounded(dec / reno, 2), 5.80);
        assert_eq!(rounded(rate_printed(dec, 1.0, 1.0) / rate_printed(reno, 1.0, 1.0), 2), 4.97);
    }

    #[test]
    fn dec_39_n5_what_10_mbit_ethernet_carries() {
        let carries = |header: Option<f64>, payload: f64, ber: f64| {
            let alone = 1.25e6 * payload / (1500.0 + 38.0);
            let rate =
                header.map_or(alone, |header| Circuit { packet: 1500.0, header, payload }.bound_of_link(ETHERNET, ber));
            rounded(rate / 1e3, 1)
        };
        assert_eq!([carries(None, 1500.0, 0.0), carries(None, 1448.0, 0.0)], [1219.1, 1176.9]);
        assert_eq!(carries(Some(52.0), 1448.0, 0.0), 1111.8);
        assert_eq!(carries(Some(52.0), 1448.0, 2e-6).round(), 1085.0);
    }

    /// DEC-X4: the aggregate of two flows has another bound than one of them.
    #[test]
    fn dec_39_x4_two_flows_have_twice_the_bound_up_to_that_of_the_link() {
        assert_eq!(rounded(2.0 * bound(56.0, 1500.0, 52.0, 0.1, 2e-6) / 1e3, 0), 1231.0);
        let circuit = Circuit { packet: 1500.0, header: 52.0, payload: 1500.0 };
        let raw = Link { framing: 0.0, ..ETHERNET };
        assert_eq!(rounded(circuit.bound_of_flows(2.0, 1.0, raw, 0.1, 2e-6) / 1e3, 0), 1179.0);
        assert_eq!(rounded(circuit.bound_of_flows(1.0, 1.0, raw, 0.1, 2e-6) / 1e3, 0), 611.0, "W = 55.6, not 56");
        // DEC-X9: an acknowledgment for two.
        assert_eq!(rounded(circuit.bound_of_flows(1.0, 2.0, raw, 0.1, 2e-6) / 1e3, 0), 436.0, "W = 39.0");
        assert_eq!(rounded(circuit.bound_of_flows(2.0, 2.0, raw, 0.1, 2e-6) / 1e3, 0), 871.0);
        // DEC-X10: below 52 ms the model is above the link.
        let alone = |rtt| rate_printed(window(per(2e-6, 52.0), 1.0), 1500.0, rtt);
        assert!(alone(0.0515) > 1.25e6 && alone(0.0525) < 1.25e6);
    }

    #[test]
    fn dec_38_n6_framing_that_errs_too_makes_the_gain_smaller() {
        let gain = |framing| rounded(window_gain(2e-6, 1500.0 + framing, 52.0 + framing), 2);
        assert_eq!([gain(0.0), gain(18.0), gain(36.0)], [5.80, 5.02, 4.49]);
        assert_eq!(rounded(window_gain(3e-5, 576.0, 52.0), 2), 3.90);
    }

    #[test]
    fn dec_38_n8_smaller_headers_have_larger_windows() {
        let sizes = [HEADER_WITH_TIMESTAMPS, HEADER, COMPRESSED_WITH_TIMESTAMPS, COMPRESSED];
        let windows = sizes.map(|header| window(per(2e-6, header), 1.0));
        assert_eq!(windows.map(|window| rounded(window, 1)), [55.6, 63.6, 104.4, 234.7]);
        let rates = windows.map(|window| rounded(rate_printed(window, 1500.0, 0.1) / 1e3, 0));
        assert_eq!(rates, [648.0, 738.0, 1197.0, 2663.0]);
    }

    #[test]
    fn dec_38_n9_overhead_and_what_one_loss_takes() {
        let percent = |acks| rounded(overhead(52.0, 1500.0, acks) * 100.0, 2);
        assert_eq!([percent(0.0), percent(0.5)], [3.47, 5.20]);
        assert_eq!([cut(1.0), cut(4.0)], [0.5, 0.125]);
    }
}
