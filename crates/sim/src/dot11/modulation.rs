//! How data frames of 802.11n, ac and ax are modulated, and how long they take (IEEE 802.11-2020 clauses 19.4.3 HT, 21.4.3
//! VHT; IEEE 802.11ax-2021 clause 27.4.3 HE).
//!
//! A frame is a preamble and symbols. A symbol carries the bits of all subcarriers and streams at the coding rate; the first
//! has the SERVICE field in front, the last the tail of each encoder. With a short guard interval, HT and VHT frames end at a
//! multiple of 4 us. What is left out: space-time block codes, the extra symbol and missing tail of LDPC, HE packet extension.

use super::phy::{Band, OFDM_PREAMBLE, Phy};
use airtcp_core::{Duration, Rate};

/// Bits of a subcarrier in a symbol, and the coding rate, for each index of modulation and coding.
const CODING: [(u64, u64, u64); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];
/// The rate of 802.11a with that modulation and coding, Mbit/s (table 10-10): what answers may be as fast as.
const REFERENCE_MBIT: [u64; 12] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54];
/// Rates that every station can receive, Mbit/s.
const BASIC_MBIT: [u64; 3] = [24, 12, 6];
/// Bits of the SERVICE field.
const SERVICE_BITS: u64 = 16;
/// Tail bits of each encoder.
const TAIL_BITS: u64 = 6;
/// What frames of HT and VHT are a multiple of, behind the preamble.
const LEGACY_SYMBOL_NS: u64 = 4_000;

/// What modulation and coding depend on, as a scenario says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    pub phy: Phy,
    pub band: Band,
    /// Index of modulation and coding of one stream.
    pub mcs: u32,
    pub streams: u32,
    /// MHz.
    pub width: u32,
    pub guard_interval: Duration,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulation {
    preamble: Duration,
    symbol_ns: u64,
    bits_per_symbol: u64,
    encoders: u64,
    /// A frame ends with so much silence.
    extension: Duration,
    /// Behind the preamble, a frame is a multiple of this.
    multiple_ns: u64,
    reference_mbit: u64,
}

impl Modulation {
    /// The modulation of these keys.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn new(keys: &Keys) -> Result<Self, String> {
        let Keys { phy, band, mcs, streams, width, guard_interval } = *keys;
        check(keys)?;
        let is_he = phy == Phy::Ax;
        let subcarriers = match (is_he, width) {
            (false, 20) => 52,
            (false, 40) => 108,
            (false, 80) => 234,
            (false, _) => 468,
            (true, 20) => 234,
            (true, 40) => 468,
            (true, 80) => 980,
            (true, _) => 1960,
        };
        let (bits, of, over) = CODING[mcs as usize];
        let coded = subcarriers * bits * u64::from(streams);
        // HE rounds down instead.
        if !is_he && coded * of % over != 0 || is_left_out(keys) {
            return Err(format!(
                "mcs {mcs} does not exist with streams = {streams} and width = {width}; choose another mcs"
            ));
        }
        let bits_per_symbol = coded * of / over;
        let guard_ns = guard_interval.as_nanos();
        let long_ns = LEGACY_SYMBOL_NS;
        Ok(Modulation {
            preamble: preamble(phy, streams, guard_interval),
            symbol_ns: guard_ns + if is_he { 12_800 } else { 3_200 },
            bits_per_symbol,
            encoders: match phy {
                // An encoder takes 320 Mbit/s in HT and 540 Mbit/s in VHT, counted with the long guard interval.
                Phy::N => (bits_per_symbol * 1_000 / long_ns).div_ceil(320),
                Phy::Ac => (bits_per_symbol * 1_000 / long_ns).div_ceil(540),
                _ => 1,
            },
            extension: band.signal_extension(),
            multiple_ns: if is_he { 1 } else { LEGACY_SYMBOL_NS },
            reference_mbit: REFERENCE_MBIT[mcs as usize],
        })
    }

    /// Bits in a second, rounded to 0.1 Mbit/s as the standard's tables have it.
    pub fn rate(&self) -> Rate {
        let tenths = (self.bits_per_symbol * 10_000 + self.symbol_ns / 2) / self.symbol_ns;
        Rate::from_bps(tenths * 100_000)
    }

    /// The rate of answers if nothing else is said: the fastest of 6, 12 and 24 Mbit/s that is not above the reference rate.
    pub fn control_rate(&self) -> Rate {
        let fastest = BASIC_MBIT.into_iter().find(|mbit| *mbit <= self.reference_mbit);
        Rate::from_bps(fastest.unwrap_or(6) * 1_000_000)
    }

    /// Time on the air of `bytes`, a frame or an aggregate.
    pub fn ppdu(&self, bytes: u32) -> Duration {
        let bits = u64::from(bytes) * 8 + SERVICE_BITS + TAIL_BITS * self.encoders;
        let data_ns = bits.div_ceil(self.bits_per_symbol) * self.symbol_ns;
        self.preamble + Duration::from_nanos(data_ns.next_multiple_of(self.multiple_ns)) + self.extension
    }

    /// From the beginning of a frame to the end of the symbol that has the last bit of its first `bytes`.
    pub fn until(&self, bytes: u32) -> Duration {
        let symbols = (SERVICE_BITS + u64::from(bytes) * 8).div_ceil(self.bits_per_symbol);
        self.preamble + Duration::from_nanos(symbols * self.symbol_ns)
    }

    /// The most bytes that take at most `time`; 0 if it is shorter than a preamble.
    pub fn bytes_within(&self, time: Duration) -> u32 {
        let data_ns = time.saturating_sub(self.preamble + self.extension).as_nanos();
        let symbols = data_ns / self.multiple_ns * self.multiple_ns / self.symbol_ns;
        let bits = (symbols * self.bits_per_symbol).saturating_sub(SERVICE_BITS + TAIL_BITS * self.encoders);
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }
}

/// From the first training field to the first symbol of data.
fn preamble(phy: Phy, streams: u32, guard_interval: Duration) -> Duration {
    // Training fields for so many streams: table 19-13, 21-13, 27-33.
    let trainings = [1, 2, 4, 4, 6, 6, 8, 8][streams as usize - 1];
    let (signals_ns, training_ns) = match phy {
        // HT-SIG and HT-STF; HT-LTF.
        Phy::N => (8_000 + 4_000, 4_000),
        // VHT-SIG-A, VHT-STF, VHT-SIG-B; VHT-LTF.
        Phy::Ac => (8_000 + 4_000 + 4_000, 4_000),
        // RL-SIG, HE-SIG-A, HE-STF; HE-LTF of twice or, with the longest guard interval, four times 3.2 us.
        _ => (
            4_000 + 8_000 + 4_000,
            guard_interval.as_nanos() + if guard_interval.as_nanos() == 3_200 { 12_800 } else { 6_400 },
        ),
    };
    OFDM_PREAMBLE + Duration::from_nanos(signals_ns + trainings * training_ns)
}

/// Combinations of 802.11ac that the standard leaves out although their bits are whole (clause 21.5).
fn is_left_out(keys: &Keys) -> bool {
    let of_ac = [(6, 3, 80), (6, 7, 80), (9, 6, 80), (9, 3, 160)];
    keys.phy == Phy::Ac && of_ac.contains(&(keys.mcs, keys.streams, keys.width))
}

/// Whether a physical layer has these values at all.
fn check(keys: &Keys) -> Result<(), String> {
    let Keys { phy, band, mcs, streams, width, guard_interval } = *keys;
    let (name, most_mcs, most_streams, widths, guards): (_, _, _, &[u32], &[u64]) = match (phy, band) {
        (Phy::N, _) => ("n", 7, 4, &[20, 40], &[400, 800]),
        (Phy::Ac, _) => ("ac", 9, 8, &[20, 40, 80, 160], &[400, 800]),
        (_, Band::TwoFour) => ("ax at 2.4 GHz", 11, 8, &[20, 40], &[800, 1600, 3200]),
        _ => ("ax", 11, 8, &[20, 40, 80, 160], &[800, 1600, 3200]),
    };
    if mcs > most_mcs {
        let sentence = "it is that of one stream; write mcs 15 of 802.11n as mcs = 7, streams = 2";
        return Err(format!("mcs is at most {most_mcs} in {name}, not {mcs}: {sentence}"));
    }
    if streams == 0 || streams > most_streams {
        return Err(format!("streams is 1 to {most_streams} in {name}, not {streams}"));
    }
    let listed = |values: Vec<String>| values.join(", ");
    if !widths.contains(&width) {
        let widths = listed(widths.iter().map(ToString::to_string).collect());
        return Err(format!("width is one of {widths} MHz in {name}, not {width}"));
    }
    if !guards.contains(&guard_interval.as_nanos()) {
        let guards = listed(guards.iter().map(|guard| format!("{guard}ns")).collect());
        return Err(format!("guard_interval is one of {guards} in {name}, not {guard_interval}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modulation(phy: Phy, mcs: u32, streams: u32, width: u32, guard: u64) -> Result<Modulation, String> {
        let guard_interval = Duration::from_nanos(guard);
        Modulation::new(&Keys { phy, band: Band::Five, mcs, streams, width, guard_interval })
    }

    #[test]
    fn rates_are_those_of_the_tables() {
        // IEEE 802.11-2020 tables 19-27 ff., 21-29 ff.; 802.11ax-2021 tables 27-55 ff.
        for (phy, mcs, streams, width, guard, mbit) in [
            (Phy::N, 0, 1, 20, 800, "6.5Mbit"),
            (Phy::N, 7, 1, 20, 800, "65Mbit"),
            (Phy::N, 7, 1, 20, 400, "72.2Mbit"),
            (Phy::N, 7, 2, 40, 400, "300Mbit"),
            (Phy::N, 7, 4, 40, 800, "540Mbit"),
            (Phy::Ac, 9, 1, 80, 800, "390Mbit"),
            (Phy::Ac, 9, 1, 80, 400, "433.3Mbit"),
            (Phy::Ac, 9, 3, 20, 800, "260Mbit"),
            (Phy::Ac, 9, 8, 160, 400, "6933.3Mbit"),
            (Phy::Ax, 0, 1, 20, 800, "8.6Mbit"),
            (Phy::Ax, 11, 1, 20, 800, "143.4Mbit"),
            (Phy::Ax, 11, 2, 80, 800, "1201Mbit"),
            (Phy::Ax, 11, 2, 80, 3200, "1020.8Mbit"),
            (Phy::Ax, 7, 1, 40, 1600, "162.5Mbit"),
        ] {
            let rate = modulation(phy, mcs, streams, width, guard).unwrap().rate();
            assert_eq!(rate, mbit.parse().unwrap(), "{phy:?} {mcs} {streams} {width} {guard}");
        }
    }

    #[test]
    fn frames_take_as_long_as_the_standard_says() {
        let nanos = |phy, mcs, streams, width, guard, bytes| {
            modulation(phy, mcs, streams, width, guard).unwrap().ppdu(bytes).as_nanos()
        };
        // 19.4.3: 36 us for a stream, 260 bits in a symbol: (1538 * 8 + 16 + 6) / 260 is 47.4.
        assert_eq!(nanos(Phy::N, 7, 1, 20, 800, 1538), 36_000 + 48 * 4_000);
        // Symbols of 3.6 us, 172.8 of them rounded up to a multiple of 4 us.
        assert_eq!(nanos(Phy::N, 7, 1, 20, 400, 1538), 36_000 + 176_000);
        // Two streams have a training field more; 1080 bits in a symbol at 40 MHz: 444.5 of them.
        assert_eq!(nanos(Phy::N, 7, 2, 40, 800, 60_000), 40_000 + 445 * 4_000);
        // 450 Mbit/s need two encoders, each with a tail: 1620 bits in a symbol, 1620 * 20 bits are 2 + 12 + 4050 * 8 - 14.
        assert_eq!(nanos(Phy::N, 7, 3, 40, 800, 4046), 48_000 + 20 * 4_000);
        assert_eq!(nanos(Phy::N, 7, 3, 40, 800, 4047), 48_000 + 21 * 4_000);
        // 21.4.3: 40 us, 1560 bits in a symbol: (100,000 * 8 + 22) / 1560 is 512.8.
        assert_eq!(nanos(Phy::Ac, 9, 1, 80, 800, 100_000), 40_000 + 513 * 4_000);
        // 27.4.3: 36 us and an HE-LTF of 6.4 + 0.8 us; 1950 bits in a symbol of 13.6 us: 410.3 of them.
        assert_eq!(nanos(Phy::Ax, 11, 1, 20, 800, 100_000), 36_000 + 7_200 + 411 * 13_600);
        assert_eq!(nanos(Phy::Ax, 11, 1, 20, 3200, 100_000), 36_000 + 16_000 + 411 * 16_000);
    }

    #[test]
    fn as_many_bytes_as_a_time_has_room_for_take_no_longer() {
        for (phy, mcs, streams, width, guard) in
            [(Phy::N, 7, 1, 20, 400), (Phy::Ac, 9, 2, 80, 400), (Phy::Ac, 0, 1, 20, 800), (Phy::Ax, 11, 2, 160, 800)]
        {
            let modulation = modulation(phy, mcs, streams, width, guard).unwrap();
            for micros in (60..5_484).step_by(97) {
                let time = Duration::from_micros(micros);
                let bytes = modulation.bytes_within(time);
                assert!(bytes == 0 || modulation.ppdu(bytes) <= time, "{phy:?} {time}");
                assert!(modulation.ppdu(bytes + 1) > time, "{phy:?} {time}");
            }
            assert_eq!(modulation.bytes_within(Duration::from_micros(20)), 0);
        }
    }

    #[test]
    fn answers_are_as_fast_as_basic_rates_allow() {
        for (mcs, mbit) in [(0, "6Mbit"), (1, "12Mbit"), (2, "12Mbit"), (3, "24Mbit"), (9, "24Mbit")] {
            assert_eq!(modulation(Phy::Ac, mcs, 1, 80, 800).unwrap().control_rate(), mbit.parse().unwrap());
        }
    }

    #[test]
    fn what_a_physical_layer_does_not_have_is_refused() {
        for (phy, mcs, streams, width, guard, word) in [
            (Phy::N, 15, 1, 20, 800, "streams = 2"),
            (Phy::N, 7, 5, 20, 800, "1 to 4"),
            (Phy::N, 7, 1, 80, 800, "20, 40 MHz"),
            (Phy::Ac, 9, 1, 20, 800, "does not exist"),
            (Phy::Ac, 6, 3, 80, 800, "does not exist"),
            (Phy::Ac, 7, 1, 20, 1600, "400ns, 800ns"),
            (Phy::Ax, 12, 1, 20, 800, "at most 11"),
            (Phy::Ax, 7, 0, 20, 800, "1 to 8"),
        ] {
            let error = modulation(phy, mcs, streams, width, guard).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
