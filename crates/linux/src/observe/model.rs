//! What a sender carries that takes each loss for congestion: CUBIC's response function (RFC 9438, section 5.1), which is Reno's
//! where that allows more.
//!
//! Timeouts are left out, so at losses of several percent a sender carries less than this. What is expected of a repair is then
//! too little, never too much.

/// Average window in segments at `loss` (a share above 0) over a round trip of so many seconds.
pub fn window(loss: f64, round_trip: f64) -> f64 {
    // (C (3 + β) / (4 (1 − β)))^¼ with C = 0.4 and β = 0.7.
    let factor = (0.4f64 * 3.7 / 1.2).powf(0.25);
    let cubic = factor * (round_trip / loss).powf(0.75);
    let reno = 1.2 / loss.sqrt();
    cubic.max(reno)
}

/// The rate of `flows` such senders, in bit/s.
pub fn rate(loss: f64, round_trip: f64, segment_bytes: f64, flows: f64) -> f64 {
    flows * window(loss, round_trip) * segment_bytes * 8.0 / round_trip
}

/// The least that a link carries, in bit/s, on which so much is carried and packets of so many bytes wait for so many seconds: by
/// Pollaczek and Khinchine's formula for packets of one length (M/D/1), in which a link that is used by a share x lets packets
/// wait for x / (2 (1 − x)) times as long as it takes to send one. TCP's packets come in bursts and wait longer than there, so
/// that the link is used less, and carries more.
pub fn least_rate(carried: f64, wait: f64, segment_bytes: f64) -> f64 {
    // x² / (1 − x) = 2 · wait · carried / length.
    let right = 2.0 * wait * carried / (segment_bytes * 8.0);
    let used = (-right + (right * right + 4.0 * right).sqrt()) / 2.0;
    carried / used.max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438, table 2: RTT 0.1 s; and table 3: RTT 0.01 s, where CUBIC is as Reno.
    #[test]
    fn windows_are_those_of_the_table_in_rfc_9438() {
        for (loss, round_trip, wanted) in [
            (1e-2, 0.1, 12.0),
            (1e-3, 0.1, 38.0),
            (1e-4, 0.1, 187.0),
            (1e-5, 0.1, 1054.0),
            (1e-2, 0.01, 12.0),
            (1e-4, 0.01, 120.0),
        ] {
            let found = window(loss, round_trip);
            assert!((found / wanted - 1.0).abs() < 0.05, "{loss} {round_trip}: {found}");
        }
    }

    #[test]
    fn who_waits_long_uses_the_link_and_who_hardly_waits_does_not() {
        // Used by 90 %: 4.5 times 12 ms at 1 Mbit/s.
        let full = least_rate(0.9e6, 0.054, 1500.0);
        assert!((full / 1e6 - 1.0).abs() < 0.01, "{full}");
        assert!(least_rate(0.9e6, 0.0, 1500.0) > 100e6);
    }
}
