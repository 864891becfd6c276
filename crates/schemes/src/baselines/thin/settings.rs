//! Parameters of the thinner.

use airtcp_core::{Duration, Rate, choices, parameters};

choices! {
    /// At which interfaces acknowledgments are thinned.
    pub enum Interfaces {
        /// At all of them.
        Both = "both",
        /// At the near end: the access point of a cell, which sends the acknowledgments of uploads.
        Near = "near",
        /// At the far end: the stations, which send those of downloads.
        Far = "far",
    }
}

parameters! {
    /// Parameters of the thinner.
    pub struct ThinSettings {
        /// One acknowledgment leaves for so many; 1 thins nothing.
        pub every: u32 = 3, "bcmdhd DEFAULT_TCPACK_SUPP_RATIO; 15 where a vendor sets CUSTOM_TCPACK_SUPP_RATIO";
        /// Longest time that an acknowledgment waits for a later one.
        pub delay: Duration = Duration::from_millis(10), "bcmdhd DEFAULT_TCPACK_DELAY_TIME";
        /// Nothing waits on a link of a lower rate. Where the link's rate is not known, what came over it in the last 500 ms counts.
        pub least_rate: Rate = Rate::from_bps(54_000_000), "ours: faster than 802.11b; sprdwl thins from 40 Mbit/s of received data on, bcmdhd always";
        /// Which interfaces thin.
        pub at: Interfaces = Interfaces::Both, "bcmdhd: at every interface, of a station or of an access point";
    }
}
