//! Finds out when somebody else fills the link: packets wait long however little is sent.

use airtcp_core::{Duration, Instant};

/// Packets wait so long, for so long a time.
pub(super) const HOPELESS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Reports that are further apart are of a link that stood still.
const APART: Duration = Duration::from_secs(1);
/// Then nothing is done for this time.
const PAUSE: Duration = Duration::from_secs(30);

/// What follows from a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The link is ours.
    Ours,
    /// It is somebody else's from now on.
    Filled,
    /// It still is.
    StillFilled,
    /// Time to try again.
    Over,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// Since when packets wait for too long.
    since: Option<Instant>,
    /// When the last report came.
    reported_at: Instant,
    stopped_until: Option<Instant>,
}

impl Others {
    pub fn fill_the_link(&self) -> bool {
        self.stopped_until.is_some()
    }

    /// Packets wait so long, and so little is sent or not.
    pub fn on_wait(&mut self, now: Instant, waits: Duration, is_paced: bool) -> Finding {
        if let Some(until) = self.stopped_until {
            if now < until {
                return Finding::StillFilled;
            }
            *self = Others::default();
            return Finding::Over;
        }
        let (wait, time) = HOPELESS;
        let stood_still = now.saturating_since(core::mem::replace(&mut self.reported_at, now)) > APART;
        if waits < wait || !is_paced || stood_still {
            self.since = None;
            return Finding::Ours;
        }
        let since = *self.since.get_or_insert(now);
        if now.saturating_since(since) < time {
            return Finding::Ours;
        }
        self.stopped_until = Some(now + PAUSE);
        Finding::Filled
    }
}
