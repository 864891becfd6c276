//! Whether acknowledgments are thinned: where the link is slow, waiting costs round trips and saves nothing.
//!
//! A world that knows the link's rate says it once. Elsewhere the element does as sprdwl (`sc2355_count_rx_tp`): it
//! counts what arrives over the link, and decides twice a second.

use airtcp_core::{Duration, Instant, Rate};

/// How long arrivals are counted (sprdwl, `RX_TP_COUNT_IN_MS`).
const COUNTED: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug)]
pub(super) enum Activity {
    /// The link is fast enough.
    Always,
    /// It is not, or this interface does not thin.
    Never,
    /// Its rate is not known.
    Measured { least: Rate, begin: Option<Instant>, bytes: u64, is_on: bool },
}

impl Activity {
    /// For a link of this rate.
    pub fn new(least: Rate, link: Option<Rate>) -> Self {
        match link {
            Some(rate) if rate.bps() >= least.bps() => Activity::Always,
            Some(_) => Activity::Never,
            None => Activity::Measured { least, begin: None, bytes: 0, is_on: false },
        }
    }

    pub fn is_on(&self) -> bool {
        matches!(self, Activity::Always | Activity::Measured { is_on: true, .. })
    }

    /// So many bytes came over the link.
    pub fn note_arrival(&mut self, now: Instant, arrived: u32) {
        let Activity::Measured { least, begin, bytes, is_on } = self else { return };
        let since = *begin.get_or_insert(now);
        *bytes += u64::from(arrived);
        let elapsed = now.saturating_since(since);
        if elapsed >= COUNTED {
            *is_on = *bytes >= least.bytes_in(elapsed);
            (*begin, *bytes) = (Some(now), 0);
        }
    }
}
