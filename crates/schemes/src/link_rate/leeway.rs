//! Senders that try whether more is carried. BBR sends a quarter more for a round trip, and what is delivered meanwhile is what it
//! goes by: held back to what the link is known to carry, it learns as little of a link that became faster as the gateway does. So when packets
//! begin to wait here and none waits in the link, more is let through until it shows whether the link carries it.

use airtcp_core::{Duration, Instant, Rate};

/// So many millionths more: BBR's quarter, and what a trial of the gateway's own has to spare.
const MORE: u64 = 300_000;
/// If the link carried no more, the next time is no sooner. BBR tries each eight round trips.
const PAUSE: Duration = Duration::from_millis(250);
/// Packets begin to wait: none did so long ago.
const BEGINS: Duration = Duration::from_millis(50);
/// So long after the way became a longer one more is let through whatever waits.
const ANEW: Duration = Duration::from_secs(1);
/// As long as no packet would wait longer in the link: a quarter of the time that it takes to hear of it, on hops of up to 40 ms.
const MOST_WAIT: Duration = Duration::from_millis(15);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Leeway {
    /// It began then, and ends then.
    span: Option<(Instant, Instant)>,
    /// The link carried more.
    is_followed: bool,
    /// It is another link until then.
    anew_until: Instant,
}

impl Leeway {
    /// A packet left and others wait, which none did at `idle_at`; in the link none waits. What is sent now shows after `reaction`.
    pub fn note_waiting(&mut self, now: Instant, idle_at: Instant, reaction: Duration) {
        let pause = if self.is_followed { reaction } else { reaction.max(PAUSE) };
        let is_time = self.span.is_none_or(|(began, _)| now.saturating_since(began) >= pause);
        let begins = now.saturating_since(idle_at) < BEGINS || now < self.anew_until;
        if is_time && begins {
            (self.span, self.is_followed) = (Some((now, now + reaction)), false);
        }
    }

    /// The way is another one, and carries what it carries.
    pub fn begin_anew(&mut self, now: Instant) {
        (self.span, self.anew_until) = (None, now + ANEW);
    }

    /// Nothing waits any more: it was a few packets, and no more was let through than came.
    pub fn note_empty(&mut self, now: Instant) {
        self.span = self.span.filter(|(_, until)| now >= *until);
    }

    /// The link carries more than was known.
    pub fn note_raised(&mut self) {
        self.is_followed = true;
    }

    /// What is sent at least of a link that carries `rate` and in which a packet would wait so long.
    pub fn pace(&self, now: Instant, rate: Rate, wait: Duration) -> u64 {
        let is_open = self.span.is_some_and(|(_, until)| now < until) && wait < MOST_WAIT;
        if is_open { rate.bps() + super::part(rate.bps(), MORE) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_let_through_for_a_while_and_again_at_once_if_it_was_carried() {
        let (ms, rate) = (Duration::from_millis, Rate::from_bps(10_000_000));
        let at = |time: u64| Instant::from_nanos(1_000_000_000) + ms(time);
        let mut leeway = Leeway::default();
        let begins = |leeway: &mut Leeway, time: u64| {
            leeway.note_waiting(at(time), at(time), ms(60));
            leeway.pace(at(time), rate, ms(0)) > 0
        };
        assert_eq!(leeway.pace(at(0), rate, ms(0)), 0);
        leeway.note_waiting(at(0), at(0) - ms(50), ms(60));
        assert_eq!(leeway.pace(at(0), rate, ms(0)), 0, "packets have waited for a while");
        assert!(begins(&mut leeway, 0));
        assert_eq!([ms(0), ms(14), ms(15)].map(|wait| leeway.pace(at(59), rate, wait)), [13_000_000, 13_000_000, 0]);
        assert_eq!([60, 249, 250, 310].map(|time| begins(&mut leeway, time)), [false, false, true, false]);
        leeway.note_raised();
        assert_eq!([310, 369, 370, 430].map(|time| begins(&mut leeway, time)), [true, true, false, false]);
    }
}
