//! The parameters of one direction of a link.

use crate::loss::Loss;
use crate::outage::Outage;
use crate::queue::{Queue, QueueSite};
use crate::reorder::Reordering;
use crate::table::{Kind, Table};
use crate::varying::trace::Trace;
use crate::varying::{LinkDelay, LinkRate, VaryingDelay, VaryingRate};
use airtcp_core::{Duration, Probability, parameters};
use alloc::string::String;

parameters! {
    /// One direction of a link. The default is a perfect wire.
    pub struct LinkSettings {
        /// Rate of the transmitter, counted on IP packets; infinitely fast when left to the software.
        pub rate: LinkRate = LinkRate::UNLIMITED, "ours";
        /// Time from the end of a packet's transmission to its arrival, one way.
        pub delay: LinkDelay = LinkDelay::default(), "ours";
        /// Up to this much more than `delay`, another time for each packet, evenly drawn; none overtakes another.
        pub jitter: Duration = Duration::ZERO, "NZG-E2: the medium access of a wireless hop";
        /// Longest IP packet that passes; longer ones are dropped.
        pub mtu: u32 = 1500, "RFC 894 (Ethernet)";
        /// Where packets wait for the transmitter.
        pub queue: Queue = Queue::default(), "Linux pfifo";
        /// How packets are lost in the air, after they occupied the transmitter.
        pub loss: Loss = Loss::default(), "ours";
        /// Packets that take longer, so that later ones overtake them.
        pub reorder: Reordering = Reordering::default(), "ours";
        /// Chance that a packet arrives twice.
        pub duplicate: Probability = Probability::NEVER, "ours";
        /// Chance that a packet arrives damaged: marked in the simulator, one bit flipped when live.
        pub corrupt: Probability = Probability::NEVER, "ours; at the receiving host NZG-11";
        /// When the link is down: what is transmitted then is lost.
        pub outage: Outage = Outage::default(), "ours";
        /// When the link heals, from the start of the run: what is transmitted later is neither lost nor overtaken, doubled or damaged; never if auto.
        pub impaired_until: Option<Duration> = None, "ours";
    }
}

/// Every datagram of this many bytes must pass unfragmented (RFC 791).
const SMALLEST_MTU: u32 = 68;

impl LinkSettings {
    /// The keys that are tables, with the kinds of each, for help and docs.
    pub const TABLES: &'static [(&'static str, &'static [Kind])] = &[
        ("rate", VaryingRate::KINDS),
        ("delay", VaryingDelay::KINDS),
        ("queue", Queue::KINDS),
        ("loss", Loss::KINDS),
        ("reorder", Reordering::KINDS),
        ("outage", Outage::KINDS),
    ];

    /// Whether the values make sense together.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check(&self) -> Result<(), String> {
        if self.mtu < SMALLEST_MTU {
            return Err("the MTU is below 68 bytes, the least that IP asks of a link; use 1500 if in doubt".into());
        }
        self.rate.check()?;
        self.queue.check_at(&self.queue_site()).and_then(|()| self.loss.check())?;
        self.reorder.check().and_then(|()| self.outage.check())
    }

    /// What the queue may know of its link.
    pub(crate) fn queue_site(&self) -> QueueSite {
        QueueSite { rate: self.rate.nominal(), delay: self.delay.nominal(), mtu: self.mtu }
    }

    /// Every trace that has to be loaded before a link can have these settings, with the key that names it.
    pub fn traces_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut Trace)> {
        let traces =
            [("rate", self.rate.trace_mut()), ("delay", self.delay.trace_mut()), ("loss", self.loss.trace_mut())];
        traces.into_iter().filter_map(|(key, trace)| Some((key, trace?)))
    }

    /// Whether rate, delay or loss change while the link runs.
    pub fn is_varying(&self) -> bool {
        self.rate.is_varying() || self.delay.is_varying() || self.loss.is_varying()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rate;
    use airtcp_core::parameters::Parameters;
    use std::string::ToString;

    #[test]
    fn every_setting_reads_back_what_it_wrote() {
        let mut settings = LinkSettings::default();
        for (key, value) in [
            ("rate", "10Mbit"),
            ("delay", "5ms"),
            ("queue", "{ kind = \"ring\", limit = \"3packets\" }"),
            ("loss", "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }"),
            ("reorder", "{ probability = \"1%\", delay = \"3ms\" }"),
            ("duplicate", "0.1%"),
            ("outage", "{ start = \"5s\", duration = \"2s\" }"),
            ("impaired_until", "30s"),
        ] {
            settings.set(key, &value.into()).unwrap();
        }
        settings.check().unwrap();
        let mut copy = LinkSettings::default();
        for field in settings.fields() {
            copy.set(field.name, &field.value.into()).unwrap();
        }
        assert_eq!(copy, settings);
    }

    #[test]
    fn a_wrong_key_inside_a_table_is_named_with_the_nearest() {
        let table = "{ kind = \"gilbert-elliott\", maen = \"2%\" }";
        let error = LinkSettings::default().set("loss", &table.into()).unwrap_err();
        assert_eq!(error.to_string(), "bad value for 'loss': unknown key 'maen'; did you mean 'mean'?");
    }

    #[test]
    fn every_table_key_is_a_setting_and_every_kind_has_a_sentence() {
        let fields = LinkSettings::default().fields();
        for (key, kinds) in LinkSettings::TABLES {
            assert!(fields.iter().any(|field| field.name == *key), "{key}");
            for kind in *kinds {
                assert!(!kind.about.is_empty() && !(kind.fields)().is_empty(), "{key} {}", kind.name);
            }
        }
    }

    #[test]
    fn a_header_first_queue_without_room_for_a_threshold_is_refused() {
        let mut link = LinkSettings::default();
        for (key, value) in
            [("rate", "10Mbit"), ("delay", "50ms"), ("queue", "{ kind = \"header-first\", limit = \"50packets\" }")]
        {
            link.set(key, &value.into()).unwrap();
        }
        assert!(link.check().unwrap_err().contains("longer limit"));
        link.set("queue", &"{ kind = \"header-first\", limit = \"50packets\", threshold = 12 }".into()).unwrap();
        assert_eq!(link.check(), Ok(()));
    }

    #[test]
    fn a_link_that_passes_nothing_is_refused() {
        let nothing = LinkSettings { rate: Rate::from_bps(0).into(), ..Default::default() };
        assert!(nothing.check().unwrap_err().contains("outage"));
        assert!(LinkSettings { mtu: 67, ..Default::default() }.check().is_err());
        assert!(LinkSettings { mtu: 68, ..Default::default() }.check().is_ok());
    }
}
