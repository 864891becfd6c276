//! What a link carries, told by its world: for comparisons with what is learned.

use super::peak::Peak;
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
/// What is told is a mean, so the link is given a little more or less than it carries just then. What waits in it for that, beyond
/// two packets, leaves within this time (swept in docs/link-rate.md): if nothing took it away there would be ever more of it.
const DRAINED: Duration = Duration::from_secs(1);
/// What fits on the link leaves within this time, at no more than so many times its rate and no less than one part in so many.
const FILLING: (Duration, u64, u64) = (Duration::from_millis(10), 2, 4);

/// See the module.
#[derive(Debug)]
pub(crate) struct Oracle {
    knowledge: Knowledge,
    due: Instant,
    told: Option<Rate>,
    /// What the link carries, as far as it is known, and the most of late.
    carries: Option<Rate>,
    peak: Peak,
}

#[derive(Debug)]
enum Knowledge {
    /// The mean rate of the link in the coming round trip of the hop, and what waits in it: what no law can know better.
    Ahead(Foresight, OnLink),
    /// All that happened on the link, up to a round trip ago: what no law can know better.
    Behind(Past),
}

impl Oracle {
    /// Tells the mean rate of the coming round trip, and less where more than two packets wait.
    pub fn ahead(forecast: &Forecast) -> Oracle {
        Oracle::new(Knowledge::Ahead(forecast.start(), OnLink::new(forecast)))
    }

    /// Lets so many percent of what the link carried of late in a round trip be on it, and two packets.
    pub fn behind(forecast: &Forecast, percent: u32) -> Oracle {
        Oracle::new(Knowledge::Behind(Past::new(OnLink::new(forecast), percent)))
    }

    fn new(knowledge: Knowledge) -> Oracle {
        Oracle { knowledge, due: Instant::ZERO, told: None, carries: None, peak: Peak::default() }
    }

    /// The rate to send at, if it is time and another one than was told before. The ends are `rtt` apart and back; so many bytes
    /// have left.
    pub fn rate(&mut self, now: Instant, rtt: Duration, sent: u64) -> Option<Rate> {
        if now < self.due {
            return None;
        }
        self.due = now + EVERY;
        let (carries, rate) = match &mut self.knowledge {
            Knowledge::Ahead(foresight, on_link) => {
                let mean = foresight.mean(now, rtt);
                let waiting = on_link.waiting(now, sent).saturating_sub(TWO_PACKETS);
                let taken = super::bits_per_second(waiting, DRAINED.as_nanos());
                (mean, Rate::from_bps(mean.bps().saturating_sub(taken)))
            }
            Knowledge::Behind(past) => past.rates(now, rtt, sent),
        };
        let rate = rate.max(LEAST);
        self.carries = Some(carries.max(LEAST));
        self.peak.note(now.as_nanos(), carries.bps());
        (self.told.replace(rate) != Some(rate)).then_some(rate)
    }

    /// What the link carries, and the most that it did of late.
    pub fn rate_and_peak(&self) -> Option<(Rate, Rate)> {
        self.carries.zip(self.peak.rate())
    }

    /// When to ask again.
    pub fn due(&self) -> Instant {
        self.due
    }
}

/// What the link carried of what it was given.
#[derive(Debug)]
struct OnLink {
    hindsight: Hindsight,
    /// Bytes that it could have carried so far.
    room: u64,
    /// Bytes that it had carried.
    carried: u64,
}

impl OnLink {
    fn new(forecast: &Forecast) -> OnLink {
        OnLink { hindsight: forecast.hindsight(), room: 0, carried: 0 }
    }

    /// Bytes of those that have left, `sent`, that it has not carried by `now`.
    fn waiting(&mut self, now: Instant, sent: u64) -> u64 {
        let room = self.hindsight.bytes(now);
        self.carried = sent.min(self.carried + (room - self.room));
        self.room = room;
        sent - self.carried
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
    on_link: OnLink,
    percent: u32,
    /// As far back as it is looked, the latest last.
    steps: VecDeque<Step>,
}

impl Past {
    fn new(on_link: OnLink, percent: u32) -> Past {
        Past { on_link, percent, steps: VecDeque::new() }
    }

    /// What it carried of late, and the rate to send at.
    fn rates(&mut self, now: Instant, rtt: Duration, sent: u64) -> (Rate, Rate) {
        self.on_link.waiting(now, sent);
        let OnLink { room, carried, .. } = self.on_link;
        self.steps.push_back(Step { at: now, room, carried });
        let is_old = |step: &Step| step.at + rtt + RECENT <= now;
        while self.steps.get(1).is_some_and(is_old) {
            self.steps.pop_front();
        }
        let Some(first) = self.steps.front() else { return (LEAST, LEAST) };
        let known = self.steps.iter().rev().find(|step| step.at + rtt <= now).unwrap_or(first);
        let time = known.at.saturating_since(first.at).as_nanos();
        let recent = super::bits_per_second(known.room - first.room, time);
        let window = super::part(Rate::from_bps(recent).bytes_in(rtt), u64::from(self.percent) * 10_000) + TWO_PACKETS;
        let (filling, most, least) = FILLING;
        let rate =
            super::bits_per_second(window.saturating_sub(sent.saturating_sub(known.carried)), filling.as_nanos());
        (Rate::from_bps(recent), Rate::from_bps(rate.clamp(recent / least, recent.saturating_mul(most))))
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
    fn what_waits_on_a_link_that_is_given_too_much_leaves_within_a_second() {
        let mut oracle = Oracle::ahead(&forecast("8Mbit, 8Mbit from 9s"));
        assert_eq!(oracle.rate(ms(0), RTT, 0).map(Rate::bps), Some(8_000_000));
        // 1 MB in a second, and 103 kB more.
        assert_eq!(oracle.rate(ms(1000), RTT, 1_103_000).map(Rate::bps), Some(7_200_000));
        assert_eq!(oracle.rate(ms(1003), RTT, 1_103_000).map(Rate::bps), Some(7_224_000));
        assert_eq!(oracle.rate(ms(2000), RTT, 2_003_000).map(Rate::bps), Some(8_000_000), "two packets may stay");
        assert_eq!(oracle.rate_and_peak().map(|(rate, peak)| [rate, peak].map(Rate::bps)), Some([8_000_000; 2]));
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
