//! What the view shows of each link and forwarder: what was told last, what became of counters since, and some minutes of
//! the past.

use super::telling::{Counts, State, Telling, tellings};
use crate::verbs::told::Told;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Looks that shares are taken over: one alone has few packets.
const RECENT: usize = 10;
/// Looks that one column of the history stands for. So its columns move once in so many seconds, which a slow line bears.
pub(super) const SPAN: u32 = 5;
/// Columns of history: a quarter of an hour.
const HISTORY: usize = 180;
/// Looks for which one that is gone is still shown.
const FAREWELL: u32 = 60;

/// What passed between two looks, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    looks: u32,
    milliseconds: u64,
    to_bytes: u64,
    from_bytes: u64,
    packets: u64,
    lost: u64,
    repaired: u64,
    extra: u64,
    /// The longest.
    pub wait_ns: u64,
}

impl Passed {
    /// None of a new worker: it counts from zero.
    fn between(before: &Counts, now: &Counts, milliseconds: u64, wait_ns: u64) -> Passed {
        let is_new = now.packets < before.packets || now.to_bytes < before.to_bytes;
        let since = |of: fn(&Counts) -> u64| if is_new { 0 } else { of(now).saturating_sub(of(before)) };
        Passed {
            looks: 1,
            milliseconds,
            to_bytes: since(|counts| counts.to_bytes),
            from_bytes: since(|counts| counts.from_bytes.unwrap_or(0)),
            packets: since(|counts| counts.packets),
            lost: since(|counts| counts.lost),
            repaired: since(|counts| counts.repaired),
            extra: since(|counts| counts.extra),
            wait_ns,
        }
    }

    fn and(self, other: &Passed) -> Passed {
        Passed {
            looks: self.looks + other.looks,
            milliseconds: self.milliseconds + other.milliseconds,
            to_bytes: self.to_bytes + other.to_bytes,
            from_bytes: self.from_bytes + other.from_bytes,
            packets: self.packets + other.packets,
            lost: self.lost + other.lost,
            repaired: self.repaired + other.repaired,
            extra: self.extra + other.extra,
            wait_ns: self.wait_ns.max(other.wait_ns),
        }
    }

    fn per_second(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(8_000) / self.milliseconds.max(1)
    }

    /// Carried to the peer, in bit/s.
    pub(super) fn carried_bps(&self) -> u64 {
        self.per_second(self.to_bytes)
    }

    /// Carried from the peer, in bit/s.
    pub(super) fn carried_back_bps(&self) -> u64 {
        self.per_second(self.from_bytes)
    }

    /// In hundredths of a percent of the packets; `None` if there were none.
    fn share(&self, part: u64) -> Option<u64> {
        part.saturating_mul(10_000).checked_div(self.packets)
    }

    /// Packets that were found missing, in hundredths of a percent.
    pub(super) fn loss(&self) -> Option<u64> {
        self.share(self.lost)
    }

    /// Repairs, in hundredths of a percent.
    pub(super) fn repaired(&self) -> Option<u64> {
        self.share(self.repaired)
    }

    /// Redundancy, in hundredths of a percent.
    pub(super) fn extra(&self) -> Option<u64> {
        self.share(self.extra)
    }
}

/// A line of the view.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub now: Telling,
    recent: VecDeque<Passed>,
    pub past: VecDeque<Passed>,
    /// Looks since it was heard of.
    missing: u32,
}

impl Line {
    fn tell(&mut self, now: Telling, milliseconds: u64) {
        let is_first = self.recent.is_empty();
        let before = std::mem::replace(&mut self.now, now);
        let (now, missing) = (&self.now, std::mem::take(&mut self.missing));
        // What came before the first look, or while nobody told, is not of this second.
        let before = if is_first || missing > 0 { &now.counts } else { &before.counts };
        let passed = Passed::between(before, &now.counts, milliseconds, now.wait_ns().unwrap_or(0));
        self.remember(passed);
    }

    /// It was not heard of this time.
    fn miss(&mut self, state: State, why: &str, milliseconds: u64) {
        self.missing += 1;
        (self.now.state, self.now.why) = (state, why.to_owned());
        self.remember(Passed { looks: 1, milliseconds, ..Passed::default() });
    }

    fn remember(&mut self, passed: Passed) {
        self.recent.push_back(passed);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        match self.past.back_mut().filter(|last| last.looks < SPAN) {
            Some(last) => *last = last.and(&passed),
            None => self.past.push_back(passed),
        }
        if self.past.len() > HISTORY {
            self.past.pop_front();
        }
    }

    /// The last look.
    pub(super) fn last(&self) -> Passed {
        self.recent.back().copied().unwrap_or_default()
    }

    /// The last looks together.
    pub(super) fn recent(&self) -> Passed {
        self.recent.iter().fold(Passed::default(), |sum, passed| sum.and(passed))
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let Telling { name, kind, peer, state, why, counts, .. } = &self.now;
        let (last, recent) = (self.last(), self.recent());
        // Of 10,000, exact; a float of at most four digits behind the point.
        let share = |hundredths: Option<u64>| hundredths.map(|part| part as f64 / 10_000.0);
        let left_alone: BTreeMap<_, _> = self.now.left_alone.iter().copied().collect();
        let dropped: BTreeMap<_, _> = self.now.dropped.iter().cloned().collect();
        json!({
            "name": name, "kind": kind, "peer": peer, "state": state.word(), "why": why,
            "rate_bps": self.now.rate_bps,
            "carried_bps": last.carried_bps(),
            "carried_back_bps": counts.from_bytes.map(|_| last.carried_back_bps()),
            "loss": share(recent.loss()),
            "repaired": share(recent.repaired()),
            "extra": share(recent.extra()),
            "queue_bytes": self.now.queue_bytes,
            "queue_wait_ns": self.now.queue_wait_ns,
            "link_wait_ns": self.now.link_wait_ns,
            "round_trip_ns": self.now.round_trip_ns,
            "flows": self.now.flows,
            "left_alone": left_alone,
            "dropped": dropped,
        })
    }
}

type Key = (String, String);

/// All lines, in the order of their names, and which of them is chosen.
#[derive(Debug, Default)]
pub(super) struct Model {
    lines: BTreeMap<Key, Line>,
    chosen: Option<Key>,
}

impl Model {
    /// The lines.
    pub(super) fn lines(&self) -> Vec<&Line> {
        self.lines.values().collect()
    }

    /// The place of the chosen line: it stays chosen where others come and go.
    pub(super) fn chosen(&self) -> usize {
        let chosen = self.chosen.as_ref();
        chosen.map_or(0, |key| self.lines.range(..key.clone()).count()).min(self.lines.len().saturating_sub(1))
    }

    /// Chooses the line at a place, or the last one.
    pub(super) fn choose(&mut self, place: usize) {
        let place = place.min(self.lines.len().saturating_sub(1));
        self.chosen = self.lines.keys().nth(place).cloned();
    }

    /// Takes what all daemons answered, so long after they were asked before.
    pub(super) fn take(&mut self, answers: &[(String, Result<Told, String>)], milliseconds: u64) {
        let mut missing: BTreeMap<Key, (State, &str)> =
            self.lines.keys().map(|key| (key.clone(), (State::Gone, "its socket is gone: the daemon ended"))).collect();
        for (name, answer) in answers {
            match answer {
                Ok(told) => {
                    for telling in tellings(told) {
                        let key = (telling.name.clone(), telling.of.clone());
                        missing.remove(&key);
                        self.lines.entry(key).or_default().tell(telling, milliseconds);
                    }
                }
                Err(why) => {
                    let mut is_known = false;
                    for (_, reason) in missing.iter_mut().filter(|((daemon, _), _)| daemon == name) {
                        *reason = (State::Silent, why.as_str());
                        is_known = true;
                    }
                    if !is_known {
                        let telling = Telling::silent(name, why);
                        self.lines.entry((name.clone(), String::new())).or_default().tell(telling, milliseconds);
                    }
                }
            }
        }
        for (key, (state, why)) in missing {
            let line = self.lines.get_mut(&key).expect("as was just seen");
            line.miss(state, why, milliseconds);
            if state == State::Gone && line.missing > FAREWELL {
                self.lines.remove(&key);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use airtcp_linux::forwarder;
    use airtcp_linux::gateway::control::PeerState;

    /// A forwarder that has carried so many packets of 1,000 bytes, and lost some.
    pub(in super::super) fn told(name: &str, packets: u64, lost: u64) -> (String, Result<Told, String>) {
        let counters = [("header_packets", packets), ("headers_resent", lost), ("virtual_bytes", packets * 1_000)];
        let status = forwarder::Status {
            schema: "airtcp.forwarder/1".into(),
            name: name.into(),
            pid: 1,
            uptime_ns: 1,
            peer: "10.9.0.2:4791".into(),
            peer_state: PeerState { up: true, why: String::new(), secured: true, introduction: None },
            state: "forwarding".into(),
            gauges: BTreeMap::new(),
            counters: counters.map(|(key, count)| (key.to_owned(), count)).into(),
            broken: BTreeMap::new(),
            ignored: BTreeMap::new(),
            clients: BTreeMap::new(),
            reloads: Default::default(),
        };
        (name.to_owned(), Ok(Told::Forwarder(Box::new(status))))
    }

    #[test]
    fn two_looks_make_rates_and_shares() {
        let mut model = Model::default();
        model.take(&[told("air", 100_000, 5_000)], 1_000);
        assert_eq!(model.lines()[0].last().carried_bps(), 0, "what came before is not of this second");
        assert_eq!(model.lines()[0].recent().loss(), None);
        model.take(&[told("air", 101_000, 5_020)], 500);
        let line = model.lines()[0];
        assert_eq!((line.last().carried_bps(), line.recent().loss()), (16_000_000, Some(200)));
        let json = line.json();
        assert_eq!((json["carried_bps"].as_u64(), json["loss"].as_f64()), (Some(16_000_000), Some(0.02)));
        assert!(json["carried_back_bps"].is_null() && json["rate_bps"].is_null());
        // A new daemon counts from zero.
        model.take(&[told("air", 10, 0)], 1_000);
        assert_eq!(model.lines()[0].last().carried_bps(), 0);
    }

    #[test]
    fn shares_are_of_the_last_looks_and_weigh_packets() {
        let mut model = Model::default();
        model.take(&[told("air", 0, 0)], 1_000);
        model.take(&[told("air", 10, 10)], 1_000);
        model.take(&[told("air", 1_000, 10)], 1_000);
        assert_eq!(model.lines()[0].recent().loss(), Some(100), "10 of 1,000, not the mean of all and none");
        (0..RECENT as u64).for_each(|n| model.take(&[told("air", 1_001 + n, 10)], 1_000));
        assert_eq!(model.lines()[0].recent().loss(), Some(0));
    }

    #[test]
    fn history_moves_once_in_five_looks_and_is_bounded() {
        let mut model = Model::default();
        let mut lengths = Vec::new();
        for second in 0..(HISTORY as u64 + 3) * u64::from(SPAN) {
            model.take(&[told("air", second * 125, 0)], 1_000);
            lengths.push(model.lines()[0].past.len());
        }
        assert_eq!(lengths[..12], [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]);
        assert_eq!(lengths.last(), Some(&HISTORY));
        assert!(model.lines()[0].past.iter().all(|passed| passed.carried_bps() == 1_000_000), "a mean of five");
    }

    #[test]
    fn one_that_is_silent_or_gone_keeps_its_line_for_a_while() {
        let mut model = Model::default();
        model.take(&[told("air", 0, 0), told("west", 0, 0)], 1_000);
        let silent = |name: &str| (name.to_owned(), Err("nobody answers".to_owned()));
        model.take(&[silent("air"), silent("never-heard-of")], 1_000);
        let states: Vec<_> = model.lines().iter().map(|line| (line.now.state, line.now.why.clone())).collect();
        assert_eq!(states[0], (State::Silent, "nobody answers".into()));
        assert_eq!(states[1], (State::Silent, "nobody answers".into()));
        assert_eq!(states[2].0, State::Gone);
        // What passed meanwhile is not of one second.
        model.take(&[told("air", 50_000, 0)], 1_000);
        assert_eq!((model.lines()[0].now.state, model.lines()[0].last().carried_bps()), (State::Ok, 0));
        (0..FAREWELL).for_each(|_| model.take(&[told("air", 50_000, 0)], 1_000));
        assert_eq!(model.lines().len(), 1);
    }

    #[test]
    fn a_chosen_line_stays_chosen_where_others_come() {
        let mut model = Model::default();
        model.take(&[told("m", 0, 0), told("z", 0, 0)], 1_000);
        model.choose(0);
        model.take(&[told("a", 0, 0), told("m", 0, 0), told("z", 0, 0)], 1_000);
        assert_eq!((model.chosen(), model.lines()[model.chosen()].now.name.as_str()), (1, "m"));
        model.choose(99);
        assert_eq!(model.chosen(), 2);
        assert_eq!(Model::default().chosen(), 0);
    }
}
