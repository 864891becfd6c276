//! How levels over time, which are no metrics, are named and written.

use super::Unit;

/// Title and unit of a level over time: a flow's, `links.air.forward.queue_bytes` or `schemes.router.held_bytes`.
pub(super) fn title_and_unit(name: &str) -> (String, Unit) {
    let count = Unit::Count("");
    match name {
        "acked_bytes" | "delivered_bytes" => return (name.replace('_', " "), Unit::Megabytes),
        "cwnd_bytes" => return ("congestion window".into(), Unit::Kilobytes),
        _ => {}
    }
    let owned = name.rsplit_once('.').and_then(|(owner, what)| {
        let owner = owner.strip_prefix("links.").or_else(|| owner.strip_prefix("schemes."))?;
        Some((owner, what))
    });
    let Some((owner, what)) = owned else { return (name.replace('_', " "), count) };
    let units = [("_bytes", Unit::Kilobytes), ("_bps", Unit::Rate), ("_ns", Unit::Millis)];
    let known = units.into_iter().find_map(|(suffix, unit)| Some((what.strip_suffix(suffix)?, unit)));
    let (what, unit) = known.unwrap_or((what, count));
    (format!("{} of {}", what.replace('_', " "), owner.replace('.', " ")), unit)
}
