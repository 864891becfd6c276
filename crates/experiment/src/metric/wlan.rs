//! What the media of all 802.11 cells were used for, all cells together. A scenario without a cell has none of these.

use super::table::metrics;
use super::{Combine, Members, Run, Unit};

const COUNT: Unit = Unit::Count("");

metrics! { METRICS: Combine::Count, Members::None;
    /// times that somebody sent: successes, failures and collisions
    "wlan.exchanges", "wlan.exchanges", COUNT => count;
    /// of these, times that several did
    "wlan.collisions", "wlan.collisions", COUNT => count;
    /// stations that had a frame to send, summed over all exchanges
    "wlan.contenders", "wlan.contenders", COUNT => count;
    /// frames sent back within the exchange of another, or announced so in vain (DCF+)
    "wlan.reverse_frames", "wlan.reverse_frames", COUNT => count;
    /// TCP acknowledgments that rode in ACKs and block ACKs (HACK)
    "wlan.riding_acks", "wlan.riding_acks", COUNT => count;
    /// PS-Polls that access points heard
    "wlan.polls", "wlan.polls", COUNT => count;
    /// transmissions of data, each of one frame or more; in cells that aggregate (802.11n, ac, ax)
    "wlan.aggregates", "wlan.aggregates", COUNT => count;
    /// frames in these transmissions
    "wlan.aggregated_frames", "wlan.aggregated_frames", COUNT => count;
    /// block ACK requests; in cells that aggregate
    "wlan.block_ack_requests", "wlan.block_ack_requests", COUNT => count;
    /// beacons sent
    "wlan.beacons", "wlan.beacons", COUNT => count;
    /// frames given up after their retry limit
    "wlan.given_up", "wlan.given_up", COUNT => count;
    /// time that the medium was in use
    "wlan.busy_ns", "wlan.busy_ns", Unit::Seconds => count;
    /// airtime of data frames, with what belongs to them
    "wlan.data_ns", "wlan.data_ns", Unit::Seconds => count;
    /// airtime of frames with a TCP acknowledgment and nothing else
    "wlan.ack_ns", "wlan.ack_ns", Unit::Seconds => count;
    /// airtime of frames that met others, of either kind
    "wlan.collided_ns", "wlan.collided_ns", Unit::Seconds => count;
    /// airtime of frames that were damaged, or whose acknowledgment was
    "wlan.damaged_ns", "wlan.damaged_ns", Unit::Seconds => count;
    /// frames with a TCP acknowledgment that the access points delivered
    "wlan.ap_ack_frames", "wlan.ap_ack_frames", COUNT => count;
}

/// What follows `wlan.` is a key of [`crate::RunOutcome::wlan`].
fn count(run: &Run<'_>, name: &str) -> Option<f64> {
    run.outcome.wlan.get(name.strip_prefix("wlan.")?).map(|count| *count as f64)
}
