//! Quick acknowledgments: segments that are acknowledged one by one, so that a sender in slow start is not held up
//! (Linux `tcp_incr_quickack()`, `tcp_event_data_recv()`).
//!
//! They are granted with the first segment in order. If asked for, they are granted again after a pause longer than the
//! RTO, when the sender has probably begun anew, and none is used while the two ends talk in turn: then the
//! acknowledgment leaves with the answer (Linux's "pingpong" mode).

use crate::config::Config;
use airtcp_core::{Duration, Instant};

/// So many are granted where the window holds little (Linux `tcp_incr_quickack()`).
const LEAST: u32 = 2;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct QuickAcks {
    left: u32,
    most: u32,
    again: bool,
    /// When the last segment in order arrived.
    heard_at: Option<Instant>,
    /// We answered the last segment within the delay of an acknowledgment.
    talks_in_turn: bool,
}

impl QuickAcks {
    /// None is left before the first segment.
    pub fn new(config: &Config) -> Self {
        let (most, again) = (config.quick_acks, config.quick_acks_after_idle);
        QuickAcks { left: 0, most, again, heard_at: None, talks_in_turn: false }
    }

    /// How long ago the last segment in order arrived; `None` before the first.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        self.heard_at.map(|at| now.saturating_since(at))
    }

    /// A segment arrived in order, and the window has room for `window` full segments.
    pub fn on_in_order(&mut self, now: Instant, rto: Duration, window: u64) {
        match self.pause(now) {
            None => self.grant(window),
            Some(pause) if self.again && pause > rto => self.grant(window),
            Some(_) => {}
        }
        self.heard_at = Some(now);
    }

    /// The peer sends what is here, so it lacks acknowledgments.
    pub fn on_duplicate(&mut self, window: u64) {
        if self.again {
            self.grant(window);
            self.talks_in_turn = false;
        }
    }

    /// The next segment is acknowledged quickly, since it made the window grow (Linux `tcp_grow_window()`).
    pub fn owe_one(&mut self) {
        self.left |= 1;
    }

    /// Data of ours leave; `delay` is that of an acknowledgment now.
    pub fn on_data_sent(&mut self, now: Instant, delay: Duration) {
        self.talks_in_turn |= self.again && self.pause(now).is_some_and(|pause| pause < delay);
    }

    /// A delayed acknowledgment had to leave alone.
    pub fn on_missed(&mut self) {
        self.talks_in_turn = false;
    }

    /// True if the two ends talk in turn.
    pub fn talks_in_turn(&self) -> bool {
        self.talks_in_turn
    }

    /// True if a segment is acknowledged at once.
    pub fn is_quick(&self) -> bool {
        self.left > 0 && !self.talks_in_turn
    }

    /// One is used. True if it was the last.
    pub fn take(&mut self) -> bool {
        let was = self.left;
        if was > 0 {
            self.left = was - 1;
        }
        was == 1
    }

    fn grant(&mut self, window: u64) {
        let fits = u32::try_from(window / 2).unwrap_or(u32::MAX);
        let granted = if self.again { self.most.min(if fits == 0 { LEAST } else { fits }) } else { self.most };
        self.left = self.left.max(granted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn after(config: &Config, arrivals: &[u64], window: u64) -> u32 {
        let mut quick = QuickAcks::new(config);
        for ms in arrivals {
            quick.on_in_order(at(*ms), Duration::from_millis(200), window);
            quick.take();
        }
        quick.left
    }

    #[test]
    fn a_pause_longer_than_the_rto_grants_them_again_if_asked_for() {
        let again = Config { quick_acks: 3, quick_acks_after_idle: true, ..Config::default() };
        assert_eq!(after(&again, &[0, 10, 20, 220], 100), 0);
        assert_eq!(after(&again, &[0, 10, 20, 221], 100), 2);
        assert_eq!(after(&Config { quick_acks_after_idle: false, ..again }, &[0, 10, 20, 221], 100), 0);
    }

    #[test]
    fn no_more_are_granted_than_half_of_the_window_has_segments_and_two_where_it_has_none() {
        let again = Config { quick_acks_after_idle: true, ..Config::default() };
        assert_eq!([100, 9, 1].map(|window| after(&again, &[0], window)), [15, 3, 1]);
    }

    #[test]
    fn ends_that_talk_in_turn_use_none_until_an_acknowledgment_was_missed() {
        let mut quick = QuickAcks::new(&Config { quick_acks_after_idle: true, ..Config::default() });
        quick.on_in_order(at(0), Duration::from_millis(200), 100);
        quick.on_data_sent(at(50), Duration::from_millis(40));
        assert!(quick.is_quick());
        quick.on_data_sent(at(30), Duration::from_millis(40));
        assert!(!quick.is_quick());
        quick.on_missed();
        assert!(quick.is_quick());
    }
}
