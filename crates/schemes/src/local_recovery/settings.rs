//! Parameters of local recovery.

use crate::link_rate::Oracle;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Duration, Rate, parameters};
use airtcp_link::Queue;
use airtcp_link::varying::Forecast;

parameters! {
    /// Parameters of local recovery.
    pub struct Settings {
        /// The most that the link is given, in IP bits; the link's own rate if auto. What it carries is learned, so this may be too much, or left out.
        pub rate: Option<Rate> = None, "ours";
        /// Follow what the link carries, which the packets themselves tell; if false, the link is given the rate, or without one whatever it takes.
        pub learn: bool = true, "ours";
        /// Most that may be in flight on the link, in percent of what it carries until a packet is reported, at the mean rate of the last 100 ms; 8 packets come on top. Beyond that a quarter of the rate leaves. 0 for no limit.
        pub in_flight: u32 = 150, "ours; docs/link-rate.md has the sweep";
        /// Give the link what it will carry in the coming round trip of the hop, where the world tells, as the simulator does of links whose rate varies: for comparisons.
        pub oracle: bool = false, "ours";
        /// Most that may be on the link, in percent of what it could carry in a round trip of the hop, and two packets, if the world tells exactly what happened on the link until a round trip ago, as the simulator does of links whose rate varies: for comparisons.
        pub hindsight: Option<u32> = None, "ours; docs/limits.md";
        /// Egress queue, a limit or a discipline, as the queue of a link. If auto: FQ-CoDel with the target of a round trip between the two ends (at least 100 ms) and the interval of three.
        pub queue: Option<Queue> = None, "RFC 8290; docs/gsnoop.md has the sweep of targets";
        /// Bytes of a flow that leave ahead of flows that have sent more, if it begins or had nothing to send for a second; where several such flows have packets waiting, they have every second byte. 0 lets all take turns. A queue that is given has its own.
        pub head_start: u32 = 15_000, "RFC 6928: ten packets; docs/local-recovery.md has the sweep";
        /// An acknowledgment of TCP that comes to an earlier one of its flow, which waits in the queue and says no more, takes its place.
        pub thin_acks: bool = true, "RFC 3449 section 5.2.1; Linux sch_cake";
        /// Of a flow with so many acknowledgments of TCP in a round trip of the hop (or in 50 ms, if that is longer), and more, one has a frame in each, and the others leave as they are: the next one says what a lost one said. 0 puts all into frames.
        pub many_acks: u32 = 8, "ours";
        /// Transmissions of a packet before it is given up; copies that go out together count once.
        pub tries: u8 = 8, "IEEE 802.11 dot11ShortRetryLimit 7, and the first";
        /// Longest time that a packet waits for an earlier one of its flow; five times the round trip and guard, at least 50 ms, at most 500 ms or time for two tries, whichever is longer, if auto.
        pub hold: Option<Duration> = None, "as gsnoop";
        /// What waited leaves so many times as fast as it came, until its flow has caught up, and slower while more than 256 packets wait; 0 lets it go at once.
        pub catch_up: u32 = 8, "ours; docs/local-recovery.md has the sweep";
        /// Send the last packet of a burst twice if the link is otherwise idle and packets were lost recently.
        pub redundancy: bool = true, "as gsnoop";
        /// Send short packets that are not TCP twice, and voice, if packets were lost recently or the link is not known yet: not those of a flow with more than one each 4 ms, and at most 2 % of the link where its rate is known, and no more than half of what it lost in the last 10 s, if enough left to tell.
        pub short_twice: bool = true, "ours";
        /// Send codes ahead of the losses from so many losses in a round trip of the hop on, where that is 50 ms or longer; 0 sends none.
        pub codes_from: u32 = 8, "ours";
        /// Send codes where the link has time for them, behind bursts and while little is known of it, if a round trip of the hop is so long or longer.
        pub spare_codes: Duration = Duration::from_millis(50), "ours";
        /// Packets that a loss waits for codes, on average and at most, beside 40 % of those in a round trip: fewer cost more codes.
        pub codes_wait: u32 = 100, "ours";
        /// Repair also flows of TCP that keep their window after a loss, as those of BBR do. If false, their data leave as they came while the link loses 3 % or less, and their sender repairs.
        pub repair_tolerant: bool = false, "ours; docs/local-recovery.md";
        /// Put packets into frames also on a hop below 50 ms that has lost nothing for 10 s or longer.
        pub always_framed: bool = false, "ours";
        /// Longest IP packet that the link carries; the link's own MTU if auto, else 1500.
        pub mtu: Option<u32> = None, "RFC 894 (Ethernet)";
        /// Time between two HELLO messages; longer where they would take more than a quarter of the link.
        pub hello: Duration = Duration::from_millis(100), "as gsnoop";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "as gsnoop";
    }
}

impl Settings {
    /// What the world that makes `forecast` is to tell of the link.
    pub(super) fn told(&self, forecast: &Forecast) -> Option<Oracle> {
        let ahead = self.oracle.then(|| Oracle::ahead(forecast));
        ahead.or(self.hindsight.map(|percent| Oracle::behind(forecast, percent)))
    }

    /// # Errors
    /// Both are told.
    pub(super) fn check_told(&self) -> Result<(), ParameterError> {
        if self.oracle && self.hindsight.is_some() {
            return Err(ParameterError::bad("hindsight", "oracle tells the rate already; leave one of them out"));
        }
        Ok(())
    }
}
