//! What a link carries, told by its world: for comparisons with what is learned.

use airtcp_core::{Duration, Instant, Rate};
use airtcp_link::varying::{Forecast, Foresight, Hindsight};
use alloc::collections::VecDeque;

/// It is asked so often.
const EVERY: Duration = Duration::from_millis(1);
/// A link that stands still is given so much, so that what waits is timed.
const LEAST: Rate = Rate::from_bps(8_000);
/// What a link could carry in this time tells what it will.
const RECENT: Duration = Duration::from_millis(100);
/// Bytes that may be on a link that carries nothing: two packets, so that its rate is found again.
const TWO_PACKETS: u64 = 2 * 1500;
/// What fits on the link leaves within this time, at no more than so many times its rate and no less than one part in so many.
const FILLING: (Duration, u64, u64) = (Duration::from_millis(10), 2, 4);

/// See the module.
#[derive(Debug)]
pub(crate) struct Oracle {
    knowledge: Knowledge,
    due: Instant,
    told: Option<Rate>,
}

#[derive(Debug)]
enum Knowledge {
    /// The rate that the link will have, a round trip of the hop ahead: what no law can do better.
    Ahead(Foresight),
    /// All that happened on the link, up to a round trip ago: what no law can know better.
    Behind(Past),
}

impl Oracle {
    /// Tells the mean rate of the coming round trip.
    pub fn ahead(forecast: &Forecast) -> Oracle {
        Oracle::new(Knowledge::Ahead(forecast.start()))
    }

    /// Lets so many percent of what the link carried of late in a round trip be on it, and two packets.
    pub fn behind(forecast: &Forecast, percent: u32) -> Oracle {
        Oracle::new(Knowledge::Behind(Past::new(forecast.hindsight(), percent)))
    }

    fn new(knowledge: Knowledge) -> Oracle {
        Oracle { knowledge, due: Instant::ZERO, told: None }
    }

    /// The rate to send at, if it is time and another one than was told before. The ends are `rtt` apart and back; so many bytes
    /// have left.
    pub fn rate(&mut self, now: Instant, rtt: Duration, sent: u64) -> Option<Rate> {
        if now < self.due {
            return None;
        }
        self.due = now + EVERY;
        let rate = match &mut self.knowledge {
            Knowledge::Ahead(foresight) => foresight.mean(now, rtt),
            Knowledge::Behind(past) => past.rate(now, rtt, sent),
        };
        let rate = rate.max(LEAST);
        (self.told.replace(rate) != Some(rate)).then_some(rate)
    }

    /// When to ask again.
    pub fn due(&self) -> Instant {
        self.due
    }
}

/// What happened on the link in one step.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: Instant,
    /// Bytes that it could have carried.
    room: u64,
    /// Bytes that it had carried.
    carried: u64,
}

/// See [`Knowledge::Behind`].
#[derive(Debug)]
struct Past {
    hindsight: Hindsight,
    percent: u32,
    /// As far back as it is looked, the latest last.
    steps: VecDeque<Step>,
}

impl Past {
    fn new(hindsight: Hindsight, percent: u32) -> Past {
        Past { hindsight, percent, steps: VecDeque::new() }
    }

    fn rate(&mut self, now: Instant, rtt: Duration, sent: u64) -> Rate {
        let before = self.steps.back().copied().unwrap_or(Step { at: now, room: 0, carried: 0 });
        let room = self.hindsight.bytes(now);
        let carried = sent.min(before.carried + (room - before.room));
        self.steps.push_back(Step { at: now, room, carried });
        let is_old = |step: &Step| step.at + rtt + RECENT <= now;
        while self.steps.get(1).is_some_and(is_old) {
            self.steps.pop_front();
        }
        let Some(first) = self.steps.front() else { return LEAST };
        let known = self.steps.iter().rev().find(|step| step.at + rtt <= now).unwrap_or(first);
        let time = known.at.saturating_since(first.at).as_nanos();
        let recent = super::bits_per_second(known.room - first.room, time);
        let window = super::part(Rate::from_bps(recent).bytes_in(rtt), u64::from(self.percent) * 10_000) + TWO_PACKETS;
        let (filling, most, least) = FILLING;
        let rate = super::bits_per_second(window.saturating_sub(sent - known.carried), filling.as_nanos());
        Rate::from_bps(rate.clamp(recent / least, recent.saturating_mul(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ValueType;
    use airtcp_link::LinkRate;
    use std::vec::Vec;

    fn forecast(rate: &str) -> Forecast {
        Forecast::of(&LinkRate::read(&rate.into()).unwrap(), 1, "x", Instant::ZERO).unwrap()
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn it_tells_each_change_once_and_ahead_of_its_time() {
        let mut oracle = Oracle::ahead(&forecast("20Mbit, 0Mbit from 1s, 4Mbit from 2s"));
        let mut told = |at: u64| oracle.rate(ms(at), RTT, 0).map(Rate::bps);
        assert_eq!([0, 500, 980].map(&mut told), [Some(20_000_000), None, Some(10_000_000)]);
        assert_eq!([1000, 1500, 1990].map(&mut told), [Some(8000), None, Some(3_000_000)]);
        assert_eq!([1990, 2000, 9000].map(&mut told), [None, Some(4_000_000), None], "not twice in a millisecond");
    }

    #[test]
    fn in_hindsight_a_fall_shows_a_round_trip_later_and_no_more_is_on_the_link_than_the_window() {
        let mut oracle = Oracle::behind(&forecast("8Mbit, 0Mbit from 1s, 8Mbit from 3s"), 150);
        let (mut sent, mut carried, mut rate) = (0, 0, 0);
        let on_link: Vec<u64> = (0..2000)
            .map(|at| {
                rate = oracle.rate(ms(at), RTT, sent).map_or(rate, Rate::bps);
                sent += rate / 8000;
                carried = sent.min(carried + if at < 1000 { 1000 } else { 0 });
                sent - carried
            })
            .collect();
        // 8 Mbit/s in 40 ms, one and a half times, and two packets: 63 kB, of which up to 40 have left and are not known to have.
        let before = &on_link[500..1000];
        assert!(before.iter().all(|bytes| (10_000..26_000).contains(bytes)), "{:?}", before.iter().max());
        let most = on_link[1000..].iter().max().copied().unwrap_or_default();
        assert!((55_000..72_000).contains(&most), "{most}");
        assert!(on_link[1040] > 45_000, "nothing is known of it before: {}", on_link[1040]);
    }
}
