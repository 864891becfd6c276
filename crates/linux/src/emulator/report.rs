//! The emulator's report about a run.

use super::passage::PassageReport;
use airtcp_core::{Counts, DropReason, Duration};
use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

/// One direction of one link since the last restart. As JSON it has the drops by the labels of their reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectionReport {
    /// The scenario's name, for example `links.air.forward`.
    pub name: String,
    /// Packets taken from the sending node's device.
    pub received_packets: u64,
    /// Their IP bytes.
    pub received_bytes: u64,
    /// Packets written to the receiving node's device.
    pub delivered_packets: u64,
    /// Their IP bytes.
    pub delivered_bytes: u64,
    /// Packets that the link made by duplicating.
    pub duplicated_packets: u64,
    /// Packets held back so that later ones overtook them.
    pub reordered_packets: u64,
    /// Packets with a bit flipped.
    pub corrupted_packets: u64,
    /// Packets that the queue marked (ECN) instead of dropping them.
    pub marked_packets: u64,
    /// Packets on the link when the report was made.
    pub held_packets: u64,
    /// Packets dropped, by reason.
    #[serde(rename = "dropped_packets", serialize_with = "by_label")]
    pub(super) drops: Counts<DropReason>,
    /// Header packets of TCP Decoupling among them, alike.
    #[serde(skip)]
    pub(super) headers: Counts<DropReason>,
}

impl DirectionReport {
    /// Packets dropped for one reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops.get(reason)
    }

    /// Header packets of TCP Decoupling among them. (DEC-12)
    pub fn headers_dropped(&self, reason: DropReason) -> u64 {
        self.headers.get(reason)
    }

    /// The reasons for which packets were dropped, with how many.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> {
        self.drops.iter()
    }

    /// Packets that met the link's loss process: all but those that the queue, the MTU or an
    /// outage stopped before.
    pub fn packets_exposed_to_loss(&self) -> u64 {
        let before = [DropReason::QUEUE_FULL, DropReason::AQM, DropReason::TOO_BIG, DropReason::OUTAGE];
        let stopped: u64 = before.iter().map(|reason| self.dropped(*reason)).sum();
        self.received_packets.saturating_sub(stopped)
    }

    /// Share of packets that the link's loss process took.
    pub fn loss_seen_ratio(&self) -> f64 {
        match self.packets_exposed_to_loss() {
            0 => 0.0,
            packets => self.dropped(DropReason::LOSS) as f64 / packets as f64,
        }
    }

    /// True if every packet is accounted for: received + duplicated = delivered + dropped +
    /// held.
    pub fn is_conserved(&self) -> bool {
        let dropped: u64 = self.drops.total();
        self.received_packets + self.duplicated_packets == self.delivered_packets + dropped + self.held_packets
    }
}

fn by_label<S: Serializer>(drops: &Counts<DropReason>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(drops.iter().map(|(reason, count)| (reason.label(), count)))
}

/// How late packets were released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReleaseError {
    /// Packets counted.
    pub packets: u64,
    /// Half of the packets were at most this late.
    pub p50: Duration,
    /// 95 of 100 were.
    pub p95: Duration,
    /// 99 of 100 were.
    pub p99: Duration,
    /// 999 of 1000 were.
    pub p999: Duration,
    /// The latest of all.
    pub max: Duration,
}

impl ReleaseError {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| Duration::from_nanos(histogram.value_at_quantile(quantile));
        ReleaseError {
            packets: histogram.len(),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: Duration::from_nanos(histogram.max()),
        }
    }
}

/// The emulator since the last restart.
#[derive(Clone, Debug)]
pub struct EmulatorReport {
    /// Forward and reverse direction of each link, in the links' order.
    pub directions: Vec<DirectionReport>,
    /// How late packets were released, over all directions.
    pub release_error: ReleaseError,
    /// How long packets were on their way between hosts, without the warm-up.
    pub passages: PassageReport,
    /// Core the thread stays on, if it could be bound.
    pub core: Option<usize>,
    /// Its SCHED_FIFO priority, if it got one.
    pub priority: Option<u8>,
    /// What the machine refused, one sentence each; empty when all is as it should be.
    pub notes: Vec<String>,
}

impl EmulatorReport {
    /// The report on one direction by its name, for example `links.air.forward`.
    pub fn direction(&self, name: &str) -> Option<&DirectionReport> {
        self.directions.iter().find(|direction| direction.name == name)
    }

    /// True if every packet of every direction is accounted for.
    pub fn is_conserved(&self) -> bool {
        self.directions.iter().all(DirectionReport::is_conserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(received_packets: u64) -> DirectionReport {
        let mut drops = Counts::default();
        drops.add(DropReason::QUEUE_FULL, 10);
        drops.add(DropReason::LOSS, 10);
        DirectionReport {
            name: "links.air.forward".into(),
            received_packets,
            received_bytes: received_packets * 1500,
            delivered_packets: received_packets.saturating_sub(25),
            delivered_bytes: 0,
            duplicated_packets: 0,
            reordered_packets: 0,
            corrupted_packets: 0,
            marked_packets: 0,
            held_packets: 5,
            drops,
            headers: Counts::default(),
        }
    }

    #[test]
    fn one_packet_unaccounted_for_breaks_conservation() {
        let mut report = direction(110);
        assert!(report.is_conserved());
        report.delivered_packets += 1;
        assert!(!report.is_conserved());
        report.duplicated_packets += 1;
        assert!(report.is_conserved());
    }

    #[test]
    fn loss_is_a_share_of_the_packets_that_got_through_the_queue() {
        assert_eq!(direction(110).loss_seen_ratio(), 0.1);
        assert_eq!(direction(0).loss_seen_ratio(), 0.0);
    }

    #[test]
    fn as_json_drops_have_the_labels_of_their_reasons() {
        let json = serde_json::to_value(direction(110)).unwrap();
        assert_eq!(json["dropped_packets"], serde_json::json!({ "queue_full": 10, "loss": 10 }));
        assert_eq!((&json["name"], &json["held_packets"]), (&"links.air.forward".into(), &5.into()));
    }

    #[test]
    fn only_reasons_that_occurred_are_listed() {
        let drops: Vec<_> = direction(110).drops().collect();
        assert_eq!(drops, [(DropReason::QUEUE_FULL, 10), (DropReason::LOSS, 10)]);
    }
}
