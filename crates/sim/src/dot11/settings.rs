//! The parameters of a cell.

use super::phy::Phy;
use airtcp_core::{Duration, Rate, choices, parameters};
use airtcp_link::table::Table;
use airtcp_link::{DropTail, Loss, Queue, QueueLimit};

const fn packets(limit: u64) -> Queue {
    Queue::DropTail(DropTail { limit: QueueLimit::Packets(limit) })
}

choices! {
    /// What the contention window of a station follows.
    pub enum Contention {
        /// Its own collisions: binary exponential backoff.
        Dcf = "dcf",
        /// The idle slots that all hear: Idle Sense. It begins with the stations' smallest window and sets every other itself.
        IdleSense = "idle-sense",
    }
}

choices! {
    /// Which frame a receiver may send back within the exchange (DCF+).
    pub enum ReverseFrame {
        /// None: plain DCF.
        None = "none",
        /// The frame that it would send next, if it is for the sender.
        Head = "head",
        /// The first waiting frame that is for the sender.
        Any = "any",
    }
}

parameters! {
    /// An 802.11 cell: one access point and its stations, all within reach of each other.
    pub struct CellSettings {
        /// Physical layer.
        pub phy: Phy = Phy::BLong, "AST-U1";
        /// Rate of data frames.
        pub rate: Rate = Rate::from_bps(11_000_000), "AST-U1";
        /// Rate of ACK, RTS, CTS and beacons; auto is the lowest of the physical layer.
        pub basic_rate: Option<Rate> = None, "AST-U2";
        /// Bytes that a data frame adds to an IP packet: MAC header 24, LLC and SNAP 8, FCS 4.
        pub overhead: u32 = 36, "IEEE 802.11, RFC 1042";
        /// Longest IP packet.
        pub mtu: u32 = 1500, "RFC 894";
        /// Smallest contention window of the stations; auto is the physical layer's.
        pub cw_min: Option<u32> = None, "IEEE 802.11";
        /// Largest contention window of the stations.
        pub cw_max: u32 = 1023, "IEEE 802.11";
        /// Slots after SIFS before a station may count down or send; 2 is DIFS.
        pub aifs: u32 = 2, "IEEE 802.11e; R-19";
        /// What the contention windows follow.
        pub contention: Contention = Contention::Dcf, "IEEE 802.11; Heusse et al. 2005, AST-18";
        /// Smallest contention window of the access point; auto is that of the stations.
        pub ap_cw_min: Option<u32> = None, "R-19";
        /// Largest contention window of the access point; auto is that of the stations.
        pub ap_cw_max: Option<u32> = None, "R-19";
        /// AIFS of the access point; auto is that of the stations.
        pub ap_aifs: Option<u32> = None, "R-19";
        /// Transmissions of a frame not longer than the RTS threshold, and of an RTS, before it is given up.
        pub retry_limit: u32 = 7, "IEEE 802.11 dot11ShortRetryLimit; AST-U3";
        /// Transmissions of a longer frame before it is given up.
        pub long_retry_limit: u32 = 4, "IEEE 802.11 dot11LongRetryLimit; AST-U3";
        /// Frames with more bytes than this, header and FCS included, are announced by RTS; auto is none.
        pub rts_threshold: Option<u32> = None, "AST-U3";
        /// Which frame a receiver may send back to the sender within the exchange, without contention: its ACK asks for the medium, and the sender answers with CTS (DCF+).
        pub reverse_frame: ReverseFrame = ReverseFrame::None, "R-18, Wu et al. 2002; IEEE 802.11: none";
        /// Where a station's packets wait for the medium; drop-tail or ring.
        pub queue: Queue = packets(50), "AST-U7";
        /// Where the access point's packets to all stations wait.
        pub ap_queue: Queue = packets(100), "AST-U7";
        /// How data frames are damaged; their length counts header and FCS.
        pub data_loss: Loss = Loss::default(), "AST-U6";
        /// How ACK, RTS and CTS are damaged.
        pub control_loss: Loss = Loss::default(), "AST-U6";
        /// Time between beacons; auto is none at all.
        pub beacon_interval: Option<Duration> = None, "IEEE 802.11; AST-E4";
        /// Bytes of a beacon, header and FCS included.
        pub beacon_bytes: u32 = 100, "ours: header, fixed fields, SSID, rates, TIM";
        /// Stations sleep between beacons: their packets wait at the access point until the next beacon.
        pub power_save: bool = false, "IEEE 802.11; AST-U13";
        /// Stations that heard a collision wait EIFS; off if overlapping preambles cannot be decoded, as in ns-3.
        pub eifs: bool = false, "IEEE 802.11 9.3.2.3.7";
    }
}

parameters! {
    /// How one station contends if it differs from the others (EDCA).
    pub struct Edca {
        /// Slots after SIFS before it may count down or send.
        pub aifs: Option<u32> = None, "IEEE 802.11e; R-19";
        /// Smallest contention window.
        pub cw_min: Option<u32> = None, "IEEE 802.11e; R-19";
        /// Largest contention window.
        pub cw_max: Option<u32> = None, "IEEE 802.11e; R-19";
    }
}

/// Bytes of an ACK or CTS frame.
pub const ACK_BYTES: u32 = 14;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;

impl CellSettings {
    /// The rate of control frames.
    pub fn control_rate(&self) -> Rate {
        self.basic_rate.unwrap_or(self.phy.lowest_rate())
    }

    /// Whether a station can contend like this.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check_edca(&self, edca: &Edca) -> Result<(), String> {
        self.check_windows(edca.cw_min, edca.cw_max)
    }

    /// Whether contention windows that replace those of the stations make sense.
    fn check_windows(&self, least: Option<u32>, most: Option<u32>) -> Result<(), String> {
        if self.contention == Contention::IdleSense && (least.is_some() || most.is_some()) {
            let sentence = "contention = \"idle-sense\" sets the windows of the access point and of every station; leave them \
                out, or write contention = \"dcf\"";
            return Err(sentence.into());
        }
        let least = least.or(self.cw_min).unwrap_or(self.phy.cw_min());
        let most = most.unwrap_or(self.cw_max);
        if least > most {
            return Err(format!("the smallest contention window, {least}, is above the largest, {most}"));
        }
        Ok(())
    }

    /// Whether the values make sense together.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check(&self) -> Result<(), String> {
        for rate in [self.rate, self.control_rate()] {
            if !self.phy.rates().contains(&rate.bps()) {
                let rates: Vec<_> = self.phy.rates().iter().map(|bps| Rate::from_bps(*bps).to_string()).collect();
                return Err(format!("{rate} is no rate of this physical layer; it has {}", rates.join(", ")));
            }
        }
        if self.control_rate().bps() > self.rate.bps() {
            return Err("basic_rate is above rate: control frames are answered at most as fast as data".into());
        }
        for queue in [&self.queue, &self.ap_queue] {
            if !matches!(queue, Queue::DropTail(_) | Queue::Ring(_)) {
                return Err("an interface of a cell has a queue of kind droptail or ring".into());
            }
        }
        self.check_windows(None, None)?;
        self.check_windows(self.ap_cw_min, self.ap_cw_max)?;
        if self.retry_limit == 0 || self.long_retry_limit == 0 {
            return Err("a retry limit counts transmissions: it is at least 1".into());
        }
        if self.beacon_interval.is_some_and(|interval| interval < Duration::from_millis(5)) {
            return Err("a beacon_interval below 5 ms leaves no time for anything else; 100ms is usual".into());
        }
        if self.power_save && self.beacon_interval.is_none() {
            return Err("power_save needs a beacon_interval: stations wake for beacons".into());
        }
        self.data_loss.check().and_then(|()| self.control_loss.check())
    }
}
