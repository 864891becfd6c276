//! What the media of all 802.11 cells were used for, all cells together. A scenario without a cell has none of these.

use super::{Combine, Members, Metric, Unit};

/// What every name begins with; the rest is a key of [`crate::RunOutcome::wlan`].
const PREFIX: &str = "wlan.";
const COUNT: Unit = Unit::Count("");

pub(super) const METRICS: &[Metric] = &[
    metric("wlan.exchanges", COUNT, "times that somebody sent: successes, failures and collisions"),
    metric("wlan.collisions", COUNT, "of these, times that several did"),
    metric("wlan.contenders", COUNT, "stations that had a frame to send, summed over all exchanges"),
    metric(
        "wlan.reverse_frames",
        COUNT,
        "frames sent back within the exchange of another, or announced so in vain (DCF+)",
    ),
    metric("wlan.beacons", COUNT, "beacons sent"),
    metric("wlan.given_up", COUNT, "frames given up after their retry limit"),
    metric("wlan.busy_ns", Unit::Seconds, "time that the medium was in use"),
    metric("wlan.data_ns", Unit::Seconds, "airtime of data frames, with what belongs to them"),
    metric("wlan.ack_ns", Unit::Seconds, "airtime of frames with a TCP acknowledgment and nothing else"),
    metric("wlan.collided_ns", Unit::Seconds, "airtime of frames that met others, of either kind"),
    metric("wlan.damaged_ns", Unit::Seconds, "airtime of frames that were damaged, or whose acknowledgment was"),
    metric("wlan.ap_ack_frames", COUNT, "frames with a TCP acknowledgment that the access points delivered"),
];

const fn metric(name: &'static str, unit: Unit, about: &'static str) -> Metric {
    Metric {
        name,
        title: name,
        unit,
        about,
        per_run: |run, name| run.outcome.wlan.get(name.strip_prefix(PREFIX)?).map(|count| *count as f64),
        combine: Combine::Count,
        members: Members::None,
    }
}
