//! How long frames take on the air.

use airtcp_core::{Duration, Rate, choices};

choices! {
    /// The physical layer of a cell.
    pub enum Phy {
        /// 802.11b, long preamble (144 + 48 bits at 1 Mbit/s) on every frame.
        BLong = "b-long",
        /// 802.11b, short preamble; frames at 1 Mbit/s have the long one.
        BShort = "b-short",
        /// 802.11g without 802.11b stations: OFDM, short slot.
        G = "g",
        /// 802.11n (HT, mixed format): OFDM over several streams, aggregates.
        N = "n",
        /// 802.11ac (VHT), 5 GHz.
        Ac = "ac",
        /// 802.11ax (HE), for a single user at a time.
        Ax = "ax",
    }
}

choices! {
    /// Where a cell is in the spectrum.
    pub enum Band {
        /// 2.4 GHz.
        TwoFour = "2.4GHz",
        /// 5 GHz.
        Five = "5GHz",
    }
}

impl Band {
    /// Silence that an OFDM frame ends with, so that what follows is a SIFS of 10 us later.
    pub fn signal_extension(self) -> Duration {
        match self {
            Band::TwoFour => SIGNAL_EXTENSION,
            Band::Five => Duration::ZERO,
        }
    }

    /// aSIFSTime.
    pub fn sifs(self) -> Duration {
        Duration::from_micros(match self {
            Band::TwoFour => 10,
            Band::Five => 16,
        })
    }
}

const DSSS_RATES: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];
const OFDM_RATES: [u64; 8] =
    [6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000];

const LONG_PREAMBLE: Duration = Duration::from_micros(192);
const SHORT_PREAMBLE: Duration = Duration::from_micros(96);
/// Preamble and SIGNAL field of OFDM.
pub const OFDM_PREAMBLE: Duration = Duration::from_micros(20);
/// Silence that an OFDM frame at 2.4 GHz ends with.
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
const OFDM_SYMBOL: Duration = Duration::from_micros(4);
/// SERVICE and tail bits of OFDM.
const OFDM_EXTRA_BITS: u64 = 16 + 6;

impl Phy {
    /// Whether data frames are aggregated: 802.11n and what came after.
    pub fn aggregates(self) -> bool {
        matches!(self, Phy::N | Phy::Ac | Phy::Ax)
    }

    /// The band that it is used in if nothing else is said.
    pub fn usual_band(self) -> Band {
        if self.aggregates() { Band::Five } else { Band::TwoFour }
    }

    /// The rates that frames can have; of a cell that aggregates, control frames.
    pub fn rates(self) -> &'static [u64] {
        match self {
            Phy::BLong | Phy::BShort => &DSSS_RATES,
            Phy::G | Phy::N | Phy::Ac | Phy::Ax => &OFDM_RATES,
        }
    }

    /// Every station can receive this rate; the default of control frames in b and g.
    pub fn lowest_rate(self) -> Rate {
        Rate::from_bps(self.rates()[0])
    }

    /// The fastest rate of data frames in b and g.
    pub fn highest_rate(self) -> Rate {
        Rate::from_bps(self.rates()[self.rates().len() - 1])
    }

    /// aSlotTime.
    pub fn slot(self) -> Duration {
        Duration::from_micros(match self {
            Phy::BLong | Phy::BShort => 20,
            Phy::G | Phy::N | Phy::Ac | Phy::Ax => 9,
        })
    }

    /// aCWmin.
    pub fn cw_min(self) -> u32 {
        match self {
            Phy::BLong | Phy::BShort => 31,
            Phy::G | Phy::N | Phy::Ac | Phy::Ax => 15,
        }
    }

    /// Time on the air of a frame of `bytes`, header and FCS included, at `rate`, one of [`Phy::rates`].
    pub fn frame(self, band: Band, rate: Rate, bytes: u32) -> Duration {
        let (bits, bps) = (u64::from(bytes) * 8, rate.bps());
        if self.is_ofdm() {
            // Bits in a symbol of 4 us.
            let symbols = (bits + OFDM_EXTRA_BITS).div_ceil(bps * 4 / 1_000_000);
            return OFDM_PREAMBLE + OFDM_SYMBOL.saturating_mul(symbols) + band.signal_extension();
        }
        // The PLCP header tells the length in whole microseconds.
        let micros = (bits * 1_000_000).div_ceil(bps);
        self.preamble(rate) + Duration::from_micros(micros)
    }

    /// Time until a receiver knows that a frame has begun: what an ACK timeout waits for.
    pub fn preamble(self, rate: Rate) -> Duration {
        match self {
            _ if self.is_ofdm() => OFDM_PREAMBLE,
            Phy::BShort if rate.bps() > DSSS_RATES[0] => SHORT_PREAMBLE,
            _ => LONG_PREAMBLE,
        }
    }

    fn is_ofdm(self) -> bool {
        !matches!(self, Phy::BLong | Phy::BShort)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(phy: Phy, mbit: &str, bytes: u32) -> u64 {
        phy.frame(phy.usual_band(), mbit.parse().unwrap(), bytes).as_micros()
    }

    #[test]
    fn frames_take_as_long_as_the_standard_says() {
        // 802.11b-1999 18.3.4: preamble and header, then the payload in whole microseconds.
        assert_eq!(micros(Phy::BLong, "1Mbit", 14), 192 + 112);
        assert_eq!(micros(Phy::BLong, "11Mbit", 1064), 192 + 774);
        assert_eq!(micros(Phy::BShort, "11Mbit", 1064), 96 + 774);
        assert_eq!(micros(Phy::BShort, "1Mbit", 14), 192 + 112);
        // 802.11g: 54 Mbit/s carry 216 bits in a symbol.
        assert_eq!(micros(Phy::G, "54Mbit", 1500), 20 + 4 * 56 + 6);
        assert_eq!(micros(Phy::G, "6Mbit", 14), 20 + 4 * 6 + 6);
        // At 5 GHz without the signal extension: a block ACK at 24 Mbit/s, 96 bits in a symbol.
        assert_eq!(micros(Phy::N, "24Mbit", 32), 20 + 4 * 3);
    }
}
