//! Senders that try whether more is carried. BBR sends a quarter more for a round trip, and what is delivered meanwhile is what it
//! goes by: held back to what the link is known to carry, it learns as little of a link that became faster as the gateway does. So when packets
//! begin to wait here and none waits in the link, more is let through until it shows whether the link carries it.
//!
//! The times and shares here are argued, not swept.

use super::part;
use airtcp_core::{Duration, Instant, Rate};

/// So many millionths more: a little more than BBR's quarter.
const MORE: u64 = 300_000;
/// If the link carried no more, the next time is no sooner than so long after the beginning. BBR tries each eight round trips.
const PAUSE: Duration = Duration::from_millis(250);
/// If nothing waits any more before it shows, the next time is after so many times as long as this one took.
const PAUSE_AFTER_EMPTY: u64 = 4;
/// Packets begin to wait: none did so long ago.
const BEGINS: Duration = Duration::from_millis(50);
/// So long after the way became a longer one, packets need not begin to wait: they may have waited all along.
const ANEW: Duration = Duration::from_secs(1);
/// To see whether what waits is a queue, more is let through no sooner than so long after the last time.
const TRIAL_PAUSE: Duration = Duration::from_secs(2);
/// No more is let through while a packet would wait so long in the link, with what is on its way.
const MOST_WAIT: Duration = Duration::from_millis(15);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Leeway {
    began: Instant,
    until: Instant,
    /// Not again before.
    next: Instant,
    /// The link carried more.
    is_followed: bool,
    /// It is another link until then.
    anew_until: Instant,
    /// More was last let through to see whether what waits is a queue from then on, until then.
    trial: (Instant, Instant),
}

impl Leeway {
    /// A packet left and others wait, which none did at `idle_at`; in the link none waits. What is sent now shows after `reaction`.
    pub fn note_waiting(&mut self, now: Instant, idle_at: Instant, reaction: Duration) {
        let is_time = now >= self.until && (self.is_followed || now >= self.next);
        let begins = now.saturating_since(idle_at) < BEGINS || now < self.anew_until;
        if is_time && begins {
            (self.began, self.until, self.next) = (now, now + reaction, now + PAUSE);
            self.is_followed = false;
        }
    }

    /// Lets more through until a queue would be longer by `telling`, and for `gap` more, to see whether it is.
    pub fn try_more(&mut self, now: Instant, telling: Duration, gap: Duration) {
        if now >= self.until && now.saturating_since(self.trial.1) >= TRIAL_PAUSE {
            let time = telling.saturating_mul(1_000_000) / MORE + gap;
            (self.began, self.until, self.next) = (now, now + time, now + PAUSE.max(time));
            self.is_followed = false;
            self.trial = (now, self.until);
        }
    }

    /// By so much a queue of ours is longer for a packet that leaves at `left` in such a trial, which began no earlier than `since`.
    pub fn pushed(&self, since: Instant, left: Instant) -> Duration {
        let (from, until) = self.trial;
        let is_within = since <= from && from <= left && left <= until.min(self.until);
        let time = if is_within { left.saturating_since(from) } else { Duration::ZERO };
        Duration::from_nanos(part(time.as_nanos(), MORE))
    }

    /// The way is another one, and carries what it carries.
    pub fn begin_anew(&mut self, now: Instant) {
        (self.next, self.anew_until) = (now, now + ANEW);
    }

    /// Nothing waits any more: no more was let through than came.
    pub fn note_empty(&mut self, now: Instant) {
        if now < self.until {
            self.until = now;
            self.next = now + now.saturating_since(self.began).saturating_mul(PAUSE_AFTER_EMPTY);
        }
    }

    /// The link carries more than was known, as a packet showed that left then.
    pub fn note_raised(&mut self, left: Instant) {
        self.is_followed |= left >= self.began;
    }

    /// What is sent at least of a link that carries `rate` and in which a packet would wait so long.
    pub fn pace(&self, now: Instant, rate: Rate, wait: Duration) -> u64 {
        if now < self.until && wait < MOST_WAIT { rate.bps() + part(rate.bps(), MORE) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REACTION: Duration = Duration::from_millis(60);
    const RATE: Rate = Rate::from_bps(10_000_000);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + Duration::from_millis(ms)
    }

    /// True if more is let through when packets begin to wait.
    fn begins(leeway: &mut Leeway, time: u64) -> bool {
        leeway.note_waiting(at(time), at(time), REACTION);
        leeway.pace(at(time), RATE, Duration::ZERO) > 0
    }

    #[test]
    fn what_waits_is_let_through_for_a_while_and_again_at_once_if_it_was_carried() {
        let ms = Duration::from_millis;
        let mut leeway = Leeway::default();
        assert_eq!(leeway.pace(at(0), RATE, ms(0)), 0);
        leeway.note_waiting(at(0), at(0) - ms(50), REACTION);
        assert_eq!(leeway.pace(at(0), RATE, ms(0)), 0, "packets have waited for a while");
        assert!(begins(&mut leeway, 0));
        assert_eq!([ms(0), ms(14), ms(15)].map(|wait| leeway.pace(at(59), RATE, wait)), [13_000_000, 13_000_000, 0]);
        assert_eq!([60, 249, 250, 310].map(|time| begins(&mut leeway, time)), [false, false, true, false]);
        leeway.note_raised(at(249));
        assert!(!begins(&mut leeway, 310), "what left before says nothing");
        leeway.note_raised(at(250));
        assert_eq!([310, 369, 370, 430].map(|time| begins(&mut leeway, time)), [true, true, false, false]);
    }

    #[test]
    fn bursts_that_empty_the_queue_here_have_a_fifth_of_the_time() {
        let mut leeway = Leeway::default();
        assert!(begins(&mut leeway, 0));
        leeway.note_empty(at(10));
        assert_eq!([10, 49, 50].map(|time| begins(&mut leeway, time)), [false, false, true]);
    }

    #[test]
    fn more_is_let_through_until_a_queue_would_be_longer_by_what_tells() {
        let (ms, mut leeway) = (Duration::from_millis, Leeway::default());
        leeway.try_more(at(2000), ms(3), ms(10));
        let pace = |time: u64| leeway.pace(at(time), RATE, ms(0));
        assert_eq!([2000, 2019, 2020].map(pace), [13_000_000, 13_000_000, 0]);
        let pushed = |left: u64| leeway.pushed(at(2000), at(left));
        assert_eq!([1999, 2000, 2010, 2020, 2021].map(pushed), [ms(0), ms(0), ms(3), ms(6), ms(0)]);
        assert_eq!(leeway.pushed(at(2001), at(2010)), ms(0), "it began before");
        leeway.try_more(at(4019), ms(3), ms(10));
        assert_eq!(leeway.pushed(at(2000), at(4029)), ms(0), "too soon");
        leeway.try_more(at(4020), ms(3), ms(10));
        leeway.note_empty(at(4030));
        let pushed = |left: u64| leeway.pushed(at(2000), at(left));
        assert_eq!([4030, 4031].map(pushed), [ms(3), ms(0)], "no more came");
    }

    #[test]
    fn on_another_way_packets_may_have_waited_all_along() {
        let mut leeway = Leeway::default();
        assert!(begins(&mut leeway, 0));
        leeway.begin_anew(at(100));
        let mut waited = |time: u64| {
            leeway.note_waiting(at(time), at(0), REACTION);
            leeway.pace(at(time), RATE, Duration::ZERO) > 0
        };
        assert_eq!([100, 200, 350, 900, 1150].map(&mut waited), [true, false, true, true, false]);
    }
}
