//! The parameters of a cell.

use super::modulation::{Keys, Modulation};
use super::phy::{Band, Phy};
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

choices! {
    /// How stations that sleep fetch what waits for them.
    pub enum Fetch {
        /// After the beacon the access point sends all of it.
        All = "all",
        /// Each station asks for one packet after the other (PS-Poll).
        PsPoll = "ps-poll",
    }
}

choices! {
    /// When a receiver hands up the frames of an aggregate.
    pub enum HandUp {
        /// All at the end of the exchange.
        Aggregate = "aggregate",
        /// Each when its last bit has come.
        Frame = "frame",
    }
}

parameters! {
    /// An 802.11 cell: one access point and its stations, all within reach of each other.
    pub struct CellSettings {
        /// Physical layer.
        pub phy: Phy = Phy::BLong, "AST-U1";
        /// Rate of data frames; auto is the highest of b and g. Of n, ac and ax it follows from mcs, streams, width and guard_interval, and one that is given must be the one that follows.
        pub rate: Option<Rate> = None, "AST-U1";
        /// Rate of ACK, block ACK, RTS, CTS and beacons; auto is the lowest of b and g, and of n, ac and ax the highest of 6, 12 and 24 Mbit/s that is not above what 802.11a has for the modulation and coding.
        pub basic_rate: Option<Rate> = None, "AST-U2; IEEE 802.11-2020 10.6.6.5";
        /// Band; auto is 2.4GHz for b and g, 5GHz for n, ac and ax.
        pub band: Option<Band> = None, "IEEE 802.11-2020 17.3, 18.3";
        /// Modulation and coding of one stream, of n (0 to 7), ac (0 to 9) and ax (0 to 11).
        pub mcs: u32 = 7, "ours: 64-QAM 5/6, the fastest that n, ac and ax share";
        /// Spatial streams, of n, ac and ax.
        pub streams: u32 = 1, "ours: what every station has";
        /// Width of the channel in MHz, of n, ac and ax.
        pub width: u32 = 20, "ours: what every station has";
        /// Guard interval: 400ns or 800ns of n and ac; 800ns, 1600ns or 3200ns of ax.
        pub guard_interval: Duration = Duration::from_nanos(800), "IEEE 802.11-2020 19.3.6, 21.3.6; 802.11ax 27.3.9: what every station has";
        /// Slots of 20 us instead of 9 us at 2.4 GHz, as beside stations of 802.11b; b has them anyway.
        pub long_slot: bool = false, "IEEE 802.11-2020 18.4.4";
        /// Bytes that a data frame adds to an IP packet; auto is 36 (MAC header 24, LLC and SNAP 8, FCS 4) in b and g, 38 (QoS control 2) in n, ac and ax.
        pub overhead: Option<u32> = None, "IEEE 802.11, RFC 1042";
        /// Longest IP packet.
        pub mtu: u32 = 1500, "RFC 894";
        /// Smallest contention window of the stations; auto is the physical layer's.
        pub cw_min: Option<u32> = None, "IEEE 802.11";
        /// Largest contention window of the stations.
        pub cw_max: u32 = 1023, "IEEE 802.11";
        /// Slots after SIFS before a station may count down or send; auto is 2 (DIFS) in b and g, 3 (best effort) in n, ac and ax.
        pub aifs: Option<u32> = None, "IEEE 802.11-2020 table 9-155; R-19";
        /// How long a station that won the medium may go on with further exchanges, SIFS apart, of n, ac and ax; 0ms is one exchange.
        pub txop: Duration = Duration::ZERO, "IEEE 802.11-2020 table 9-155, best effort";
        /// What the contention windows follow.
        pub contention: Contention = Contention::Dcf, "IEEE 802.11; Heusse et al. 2005, AST-18";
        /// Smallest contention window of the access point; auto is that of the stations.
        pub ap_cw_min: Option<u32> = None, "R-19";
        /// Largest contention window of the access point; auto is that of the stations.
        pub ap_cw_max: Option<u32> = None, "R-19";
        /// AIFS of the access point; auto is that of the stations.
        pub ap_aifs: Option<u32> = None, "R-19";
        /// How long the access point may go on with further exchanges; auto is that of the stations.
        pub ap_txop: Option<Duration> = None, "IEEE 802.11-2020 table 9-155";
        /// Frames that may be on their way to a station without a block ACK, of n, ac and ax; auto is 64 in n and ac, 256 in ax. 1 is no aggregation.
        pub block_ack_window: Option<u32> = None, "IEEE 802.11-2020 10.25.6; 802.11ax 9.4.1.13";
        /// Longest aggregate in bytes, of n, ac and ax; auto is the most that the standard has: 65535 in n, 1048575 in ac, 6500631 in ax.
        pub ampdu_bytes: Option<u32> = None, "IEEE 802.11-2020 9.4.2.55.3, 9.4.2.157.2; 802.11ax 9.4.2.248.2";
        /// Longest time on the air of an aggregate, preamble included.
        pub ppdu_time: Duration = Duration::from_micros(5_484), "IEEE 802.11-2020 aPPDUMaxTime";
        /// When a receiver hands up what arrived, of n, ac and ax: all of an aggregate at the end of the exchange, or each frame when its last bit has come, as ns-3 does.
        pub hand_up: HandUp = HandUp::Aggregate, "ours: network cards tell of several frames at once; IEEE 802.11-2020 10.25.6.6 does not say how soon";
        /// Transmissions of a frame not longer than the RTS threshold, and of an RTS, before it is given up; in n, ac and ax of every frame.
        pub retry_limit: u32 = 7, "IEEE 802.11 dot11ShortRetryLimit; AST-U3";
        /// Transmissions of a longer frame before it is given up, in b and g.
        pub long_retry_limit: u32 = 4, "IEEE 802.11 dot11LongRetryLimit; AST-U3";
        /// Frames with more bytes than this, header and FCS included, are announced by RTS; auto is none.
        pub rts_threshold: Option<u32> = None, "AST-U3";
        /// Which frame a receiver may send back to the sender within the exchange, without contention: its ACK asks for the medium, and the sender answers with CTS (DCF+).
        pub reverse_frame: ReverseFrame = ReverseFrame::None, "R-18, Wu et al. 2002; IEEE 802.11: none";
        /// TCP acknowledgments wait for the next ACK or block ACK while more is to come from the same side, and leave compressed in it (HACK).
        pub hack: bool = false, "Salameh et al., USENIX ATC 2014; IEEE 802.11: none";
        /// Where a station's packets wait for the medium; drop-tail or ring. In n, ac and ax a packet counts until it is acknowledged or given up.
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
        /// How stations that sleep fetch what waits for them.
        pub power_save_fetch: Fetch = Fetch::All, "AST-U13: all; IEEE 802.11-2020 11.2.3.7: PS-Poll";
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
        /// How long it may go on with further exchanges once it won the medium, of n, ac and ax.
        pub txop: Option<Duration> = None, "IEEE 802.11-2020 table 9-155";
    }
}

/// Bytes of an ACK or CTS frame.
pub const ACK_BYTES: u32 = 14;
/// Bytes of a PS-Poll frame.
pub const POLL_BYTES: u32 = 20;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Bytes of a block ACK request (compressed).
pub const REQUEST_BYTES: u32 = 24;
/// Bytes of a block ACK (compressed) without its bitmap.
pub const BLOCK_ACK_BYTES: u32 = 24;

impl CellSettings {
    /// The rate of control frames.
    pub fn control_rate(&self) -> Rate {
        let usual = || self.modulation().map_or(self.phy.lowest_rate(), |modulation| modulation.control_rate());
        self.basic_rate.unwrap_or_else(usual)
    }

    /// The rate of data frames.
    pub fn data_rate(&self) -> Rate {
        self.modulation().map_or_else(|| self.rate.unwrap_or(self.phy.highest_rate()), |modulation| modulation.rate())
    }

    /// How data frames of n, ac and ax are modulated; none in b and g.
    pub(super) fn modulation(&self) -> Option<Modulation> {
        self.phy.aggregates().then(|| Modulation::new(&self.keys()).ok()).flatten()
    }

    fn keys(&self) -> Keys {
        let CellSettings { phy, mcs, streams, width, guard_interval, .. } = *self;
        Keys { phy, band: self.band(), mcs, streams, width, guard_interval }
    }

    pub(super) fn polls(&self) -> bool {
        self.power_save_fetch == Fetch::PsPoll
    }

    pub(super) fn band(&self) -> Band {
        self.band.unwrap_or(self.phy.usual_band())
    }

    pub(super) fn slot(&self) -> Duration {
        if self.long_slot { Phy::BLong.slot() } else { self.phy.slot() }
    }

    pub(super) fn aifs(&self) -> u32 {
        self.aifs.unwrap_or(if self.phy.aggregates() { 3 } else { 2 })
    }

    /// Bytes that a data frame adds to an IP packet.
    pub(super) fn overhead(&self) -> u32 {
        self.overhead.unwrap_or(if self.phy.aggregates() { 38 } else { 36 })
    }

    /// Frames that may be on their way to a station.
    pub(super) fn block_ack_window(&self) -> u32 {
        self.block_ack_window.unwrap_or(if self.phy == Phy::Ax { 256 } else { 64 })
    }

    /// Longest aggregate by the standard, bytes.
    fn longest_ampdu(&self) -> u32 {
        match self.phy {
            Phy::Ac => (1 << 20) - 1,
            Phy::Ax => 6_500_631,
            _ => (1 << 16) - 1,
        }
    }

    /// Longest aggregate, bytes.
    pub(super) fn ampdu_bytes(&self) -> u32 {
        self.ampdu_bytes.unwrap_or(self.longest_ampdu())
    }

    /// Whether a station can contend like this.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check_edca(&self, edca: &Edca) -> Result<(), String> {
        self.check_txop(edca.txop)?;
        self.check_windows(edca.cw_min, edca.cw_max)
    }

    fn check_txop(&self, txop: Option<Duration>) -> Result<(), String> {
        if !self.phy.aggregates() && txop.is_some_and(|txop| !txop.is_zero()) {
            return Err("txop is for cells of n, ac and ax; leave it out, or write phy = \"n\"".into());
        }
        Ok(())
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
        if self.phy.aggregates() {
            self.check_aggregated()?
        } else {
            self.check_plain()?
        }
        let (data, control) = (self.data_rate(), self.control_rate());
        let data = (!self.phy.aggregates()).then_some(data);
        for rate in [data, Some(control)].into_iter().flatten() {
            if !self.phy.rates().contains(&rate.bps()) {
                let rates: Vec<_> = self.phy.rates().iter().map(|bps| Rate::from_bps(*bps).to_string()).collect();
                return Err(format!("{rate} is no rate of this physical layer; it has {}", rates.join(", ")));
            }
        }
        if control.bps() > self.data_rate().bps() {
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
        if self.polls() && (!self.power_save || self.phy.aggregates()) {
            let sentence = "power_save_fetch = \"ps-poll\" is for stations of b and g with power_save = true; leave it out, or set these";
            return Err(sentence.into());
        }
        self.check_txop(Some(self.txop))?;
        self.check_txop(self.ap_txop)?;
        self.data_loss.check().and_then(|()| self.control_loss.check())
    }

    /// Whether what only b and g have makes sense.
    fn check_plain(&self) -> Result<(), String> {
        if self.band() != Band::TwoFour {
            return Err("b and g are at 2.4 GHz; leave band out, or write phy = \"n\", \"ac\" or \"ax\"".into());
        }
        if self.hand_up != HandUp::Aggregate {
            return Err("hand_up is for cells of n, ac and ax; leave it out, or write phy = \"n\"".into());
        }
        if self.block_ack_window.is_some() || self.ampdu_bytes.is_some() {
            return Err(
                "block_ack_window and ampdu_bytes are for cells of n, ac and ax; leave them out, or write phy = \"n\""
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether what only n, ac and ax have makes sense.
    fn check_aggregated(&self) -> Result<(), String> {
        let rate = Modulation::new(&self.keys())?.rate();
        if self.rate.is_some_and(|given| given != rate) {
            let keys = "mcs, streams, width and guard_interval";
            return Err(format!("{keys} make {rate}; write rate = \"{rate}\", or leave it out"));
        }
        if self.phy == Phy::Ac && self.band() == Band::TwoFour {
            return Err("ac is at 5 GHz; leave band out, or write phy = \"n\" or \"ax\"".into());
        }
        if self.long_slot && self.band() == Band::Five {
            return Err("long_slot is for 2.4 GHz, where stations of 802.11b may be; leave it out".into());
        }
        let most = if self.phy == Phy::Ax { 256 } else { 64 };
        if !(1..=most).contains(&self.block_ack_window()) {
            return Err(format!("block_ack_window is 1 to {most} here, not {}", self.block_ack_window()));
        }
        let (bytes, longest) = (self.mtu + self.overhead(), self.longest_ampdu());
        let longest_frame = if self.phy == Phy::N { 4_095 } else { 11_454 };
        if bytes > longest_frame {
            return Err(format!(
                "a frame of {bytes} bytes is too long: mtu and overhead together are at most {longest_frame}"
            ));
        }
        if self.ampdu_bytes() > longest || self.ampdu_bytes() < bytes + 4 {
            return Err(format!(
                "ampdu_bytes is {} (the longest frame) to {longest}, not {}",
                bytes + 4,
                self.ampdu_bytes()
            ));
        }
        if self.ppdu_time > Duration::from_micros(5_484)
            || Modulation::new(&self.keys())?.ppdu(bytes + 4) > self.ppdu_time
        {
            let sentence = "ppdu_time is at most 5484us, and the longest frame fits into it";
            return Err(format!("{sentence}; this one takes {}", Modulation::new(&self.keys())?.ppdu(bytes + 4)));
        }
        if self.reverse_frame != ReverseFrame::None {
            return Err(
                "reverse_frame (DCF+) is for cells of b and g; leave it out: aggregates have block ACK instead".into(),
            );
        }
        Ok(())
    }
}
