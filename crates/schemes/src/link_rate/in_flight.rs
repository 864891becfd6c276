//! What may be in flight: a window, as TCP has one.
//!
//! The rate of a link is a belief, and where measurements are rough it is the most of late ([`Carried`](super::carried)). What left
//! and has not been reported is known. If that is more than the link carried on average in the time until it should be
//! reported, the link has become slower than is believed: then less leaves until reports have come. So a rate that falls
//! within a round trip leaves no longer queue than this window.
//!
//! docs/link-rate.md has the sweep of windows, and beside it what a sender can do at best that knows all of the link's past.

use super::departures::Sample;
use super::part;
use airtcp_core::{Duration, Instant};

/// What was carried is averaged over so much time: longer than a radio's bursts, and no longer than its rate is the same.
pub(super) const RECENT: Duration = Duration::from_millis(100);
/// So many percent of what is carried until a report comes may be in flight, unless something else is asked for. Less leaves the link
/// idle whenever its rate rises.
const PERCENT: u32 = 150;
/// And so many packets: fewer cost more of a link of a few Mbit/s, which carries them in bursts.
const PACKETS: u64 = 8;
/// While there is more, the pace is no more than so many millionths of the rate: reports go on, and a ping waits for a packet.
const HELD_BACK: u64 = 250_000;

/// See the module.
#[derive(Debug)]
pub(super) struct InFlight {
    /// Percent of what is carried until a report comes; 0 for no limit.
    percent: u32,
    /// Bytes that have left.
    sent: u64,
    /// The same when the packet left that was reported last.
    reported: u64,
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    bytes: u64,
    /// When the first packet left of those by which it is known.
    known_from: Instant,
}

impl Default for InFlight {
    fn default() -> Self {
        InFlight { percent: PERCENT, sent: 0, reported: 0, window: None }
    }
}

impl InFlight {
    /// So many percent of what is carried until a report comes may be in flight, and some packets; 0 for no limit.
    pub fn limit(&mut self, percent: u32) {
        if percent != self.percent {
            (self.percent, self.window) = (percent, None);
        }
    }

    /// The limit: see [`InFlight::limit`].
    pub fn percent(&self) -> u32 {
        self.percent
    }

    /// So many bytes have left.
    pub fn note_departure(&mut self, sent: u64) {
        self.sent = sent;
    }

    /// A packet came, which is no measure of what is carried.
    pub fn note_small(&mut self, sample: &Sample) {
        self.reported = sample.sent;
    }

    /// A packet came. Since the first packet left that came in [`RECENT`] until then, `recent` was carried, in bit/s; what leaves now is
    /// reported after `time`.
    pub fn note_report(&mut self, sample: &Sample, recent: Option<(Instant, u64)>, time: Duration) {
        self.reported = sample.sent;
        self.window = recent.filter(|_| self.percent > 0).map(|(known_from, bps)| {
            let carried = u128::from(bps) * u128::from(time.as_nanos()) / 8_000_000_000;
            let carried = u64::try_from(carried).unwrap_or(u64::MAX);
            let share = part(carried, u64::from(self.percent) * 10_000);
            Window { bytes: share.saturating_add(PACKETS * u64::from(sample.bytes)), known_from }
        });
    }

    /// What is known is of another link, or of another clock.
    pub fn forget(&mut self) {
        self.window = None;
    }

    /// The most that may leave of `rate`, in bit/s. Here nothing waited at `idle_at`: what was carried then is what there was to send.
    pub fn most(&self, rate: u64, idle_at: Instant) -> u64 {
        let is_full = self.window.as_ref().is_some_and(|window| {
            window.known_from > idle_at && self.sent.saturating_sub(self.reported) > window.bytes
        });
        if is_full { part(rate, HELD_BACK) } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn sample(sent: u64) -> Sample {
        let (left, pause) = (ms(500), Duration::ZERO);
        Sample { left, came: 0, sent, packets: sent, received: sent, bytes: 1500, pause }
    }

    /// So many bytes in flight, where 8 Mbit/s were carried of late and reports take 40 ms: 40 kB, half as much again, and 8 packets.
    fn with(in_flight: &mut InFlight, bytes: u64) {
        in_flight.note_departure(1_000_000);
        in_flight.note_report(&sample(1_000_000 - bytes), Some((ms(400), 8_000_000)), Duration::from_millis(40));
    }

    #[test]
    fn less_leaves_while_more_is_in_flight_than_was_carried_and_there_was_enough_to_send() {
        let (mut in_flight, idle_at) = (InFlight::default(), ms(100));
        in_flight.note_departure(1_000_000);
        assert_eq!(in_flight.most(8_000_000, idle_at), u64::MAX, "nothing is known");
        with(&mut in_flight, 72_000);
        assert_eq!(in_flight.most(8_000_000, idle_at), u64::MAX);
        with(&mut in_flight, 72_001);
        assert_eq!(in_flight.most(8_000_000, idle_at), 2_000_000);
        assert_eq!(in_flight.most(8_000_000, ms(400)), u64::MAX, "there was no more to send");
        in_flight.note_small(&sample(1_000_000));
        assert_eq!(in_flight.most(8_000_000, idle_at), u64::MAX, "and a small packet came after it");
        in_flight.note_small(&sample(0));
        assert_eq!(in_flight.most(8_000_000, idle_at), 2_000_000);
        in_flight.forget();
        assert_eq!(in_flight.most(8_000_000, idle_at), u64::MAX);
    }

    #[test]
    fn the_limit_is_another_one_or_none_where_that_is_asked_for() {
        let most = |percent: u32, bytes| {
            let mut in_flight = InFlight::default();
            in_flight.limit(percent);
            with(&mut in_flight, bytes);
            in_flight.most(8_000_000, ms(100))
        };
        assert_eq!((most(100, 52_000), most(100, 52_001)), (u64::MAX, 2_000_000));
        assert_eq!(most(0, 1_000_000), u64::MAX);
        let mut in_flight = InFlight::default();
        with(&mut in_flight, 1_000_000);
        in_flight.limit(0);
        assert_eq!(in_flight.most(8_000_000, ms(100)), u64::MAX, "a window of another limit is none");
    }
}
