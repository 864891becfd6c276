//! A rate that swings within a round trip.
//!
//! What the link carries is taken for the most of late ([`Carried`](super::carried)), which is then that of its fast half. Whoever believes that
//! so much leaves all the time keeps a queue in which packets wait all the time, for as long as makes up for the belief.
//! So where less is carried than is believed, and packets wait all the time, what they wait beyond what is aimed at
//! is bit by bit expected to wait besides: the integral part of a controller. The link stays busy, with a shorter queue.
//!
//! [`SPAN`], [`SWINGS`], [`MADE_UP`] and [`FORGOTTEN`] are swept in docs/link-rate.md, "Swings within a round trip"; [`MOST`] and
//! [`MOST_GAP`] are argued.

use super::{part, share};
use airtcp_core::{Duration, Instant, Rate};

/// What is carried is averaged over so much time, and packets wait all the time if they do in all of it: two turns of a fast half and
/// a slow one of 50 ms.
pub(super) const SPAN: Duration = Duration::from_millis(200);
/// The rate swings if less is carried than so many millionths of what is believed.
const SWINGS: u64 = 2_000_000 / 3;
/// What waits all the time is made up for within this time.
const MADE_UP: Duration = Duration::from_secs(1);
/// Where nothing does any more it is forgotten within this time.
const FORGOTTEN: Duration = Duration::from_millis(50);
/// No more waits than that for a belief alone: it is more than what is pursued in any other way.
const MOST: Duration = Duration::from_millis(100);
/// Reports that are further apart count as so far apart: a link that stood still did not swing.
const MOST_GAP: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Swing {
    besides: Duration,
    noted_at: Instant,
}

/// What was seen in the last [`SPAN`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// No packet waited for less.
    pub least_wait: Duration,
    /// What was carried, in bit/s.
    pub mean: u64,
}

impl Swing {
    /// A report came; the link is taken for one that carries `believed`, and `target` is the wait that is aimed at.
    pub fn note(&mut self, now: Instant, seen: Option<Seen>, believed: Rate, target: Duration) {
        let gap = now.saturating_since(core::mem::replace(&mut self.noted_at, now)).min(MOST_GAP);
        let stays = seen.filter(|seen| seen.mean < part(believed.bps(), SWINGS));
        let stays = stays.map_or(Duration::ZERO, |seen| seen.least_wait.saturating_sub(target));
        self.besides = if stays > Duration::ZERO {
            (self.besides + of(stays.min(MOST), gap, MADE_UP)).min(MOST)
        } else {
            self.besides.saturating_sub(of(self.besides, gap, FORGOTTEN))
        };
    }

    /// So much longer a packet is expected to wait than by what is believed.
    pub fn besides(&self) -> Duration {
        self.besides
    }
}

/// As much of `time` as `gap` is of `whole`.
fn of(time: Duration, gap: Duration, whole: Duration) -> Duration {
    Duration::from_nanos(part(time.as_nanos(), share(gap, whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const TARGET: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + MS(ms)
    }

    /// After reports for so long, 10 ms apart, of 40 Mbit/s that are believed.
    fn besides(swing: &mut Swing, from: u64, until: u64, seen: Option<(u64, u64)>) -> Duration {
        let seen = seen.map(|(wait, mbps)| Seen { least_wait: MS(wait), mean: mbps * 1_000_000 });
        for time in (from..=until).step_by(10) {
            swing.note(at(time), seen, Rate::from_bps(40_000_000), TARGET);
        }
        swing.besides()
    }

    #[test]
    fn what_stays_is_made_up_for_where_less_is_carried_than_is_believed() {
        let after_a_second = |seen| {
            let mut swing = Swing::default();
            besides(&mut swing, 0, 0, None);
            besides(&mut swing, 10, 1000, Some(seen))
        };
        assert_eq!(after_a_second((40, 22)), MS(30), "what waits beyond the target");
        assert_eq!(after_a_second((10, 22)), MS(0), "nothing does");
        assert_eq!(after_a_second((40, 27)), MS(0), "no swing, but a rate that is hardly lower");
        assert_eq!(after_a_second((4000, 5)), MS(100), "a link that stands still is no swing");
    }

    #[test]
    fn it_is_forgotten_where_nothing_stays() {
        for seen in [None, Some((5, 22)), Some((40, 40))] {
            let mut swing = Swing::default();
            besides(&mut swing, 0, 0, None);
            assert_eq!(besides(&mut swing, 10, 1000, Some((40, 22))), MS(30));
            assert!((MS(9)..MS(11)).contains(&besides(&mut swing, 1010, 1050, seen)), "{seen:?}");
            assert!(besides(&mut swing, 1060, 1400, seen) < MS(1));
        }
    }

    #[test]
    fn a_long_pause_counts_as_a_short_one() {
        let mut swing = Swing::default();
        besides(&mut swing, 0, 0, None);
        assert_eq!(besides(&mut swing, 9_000, 9_000, Some((40, 22))), MS(3) / 2);
    }
}
