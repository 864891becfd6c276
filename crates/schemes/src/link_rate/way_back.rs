//! How long reports wait on the way back, in its queue or while it stands still. The next report may wait as long, and is overdue only
//! after that.

use super::link_queue::SILENT;
use airtcp_core::{Duration, Instant};

/// A way back in which reports wait for longer is as good as one that stands still.
const MOST: Duration = Duration::from_secs(2);

/// After the other end's clock jumped its times are not believed for so long: if a clock runs too slowly, a queue on the way out looks
/// like one on the way back.
const DISTRUST: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WayBack {
    waited: Duration,
    since: Instant,
    believed_from: Instant,
}

impl WayBack {
    /// A report came that waited for so long.
    pub fn on_report(&mut self, now: Instant, waited: Duration) {
        let waited = if now < self.believed_from { Duration::ZERO } else { waited.min(MOST) };
        *self = WayBack { waited, since: now, ..*self };
    }

    /// The other end's clock is another one than before.
    pub fn on_another_clock(&mut self, now: Instant) {
        *self = WayBack { waited: Duration::ZERO, since: now, believed_from: now + DISTRUST };
    }

    /// The first packet since the last report leaves. No report was due in between, so the queue on the way back may have got shorter by
    /// that time.
    pub fn on_first_departure(&mut self, now: Instant) {
        *self = WayBack { waited: self.waited.saturating_sub(now.saturating_since(self.since)), since: now, ..*self };
    }

    /// How long the next report may wait. A report that comes no later than [`SILENT`] is no silence anyway, and where both ways become
    /// slower at once, as in a radio's fade, the link would be given too much for as long.
    pub fn wait(&self) -> Duration {
        if self.waited > SILENT { self.waited } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_report_may_take_as_long_but_for_the_time_in_which_none_was_due() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let ms = Duration::from_millis;
        let mut back = WayBack::default();
        assert_eq!(back.wait(), Duration::ZERO);
        back.on_report(at(1000), ms(400));
        back.on_first_departure(at(1100));
        assert_eq!(back.wait(), ms(300));
        back.on_first_departure(at(1100));
        assert_eq!(back.wait(), ms(300));
        back.on_first_departure(at(1360));
        assert_eq!(back.wait(), Duration::ZERO, "40 ms");
        back.on_first_departure(at(9000));
        assert_eq!(back.wait(), Duration::ZERO);
        back.on_report(at(9000), ms(60_000));
        assert_eq!(back.wait(), MOST, "and no more whatever is told");
        back.on_another_clock(at(9000));
        back.on_report(at(13_999), ms(400));
        assert_eq!(back.wait(), Duration::ZERO);
        back.on_report(at(14_000), ms(400));
        assert_eq!(back.wait(), ms(400));
    }
}
