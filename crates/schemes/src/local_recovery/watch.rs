//! Which flows are carried as they are. Repair costs a flow a few per cent of a link that is full: frames, codes, feedback. It gives more than
//! that to a sender that takes each loss for congestion, and nothing to one that keeps its rate all the same. Which one a flow is
//! cannot be told from its packets, as most are encrypted, so it is tried: for a *turn* the flow has no help, and goes on without as long as it has
//! as much of the link as with it.
//!
//! *Whose turn.* The link was full for two windows, so that help cost something; the flow had a part of it that is worth the trial; and
//! its queue here ran empty now and then, and was never told to send less. A sender that goes by losses alone fills a queue until it
//! is told so: that is known without a trial, and so it gets none.
//!
//! *How long.* What the flow gets less than before is summed up, and what it gets more is taken off (CUSUM, Page 1954). If the sum is more
//! than the flow may lose by a turn, it has help again, and the next turn comes after twice the time. So a turn costs no more than
//! that, however long it lasts.
//!
//! What a flow has is told in parts of what the link carries, as that varies. Of what leaves without help the link loses what it loses of all.

use super::flows::Place;
use airtcp_core::{Duration, Instant, Rate};
use alloc::collections::BTreeMap;

/// Flows that are watched at a time; the others have help.
const MOST: usize = 256;
/// What happens is summed up in such steps.
const STEP: Duration = Duration::from_millis(20);
/// Parts of the link are told in millionths.
const ONE: u64 = 1_000_000;
/// A link is full of which so much was used.
const FULL: u64 = ONE * 85 / 100;
/// A flow with less of the link is not worth a trial.
const LEAST_PART: u64 = ONE / 10;
/// After a turn that cost too much, help for so long; twice as long each time, up to an hour.
const HELP: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(3600));

/// What may be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchSettings {
    /// Flows may have turns without help.
    pub is_on: bool,
    /// What a flow has is measured over so much time.
    pub window: Duration,
    /// What a turn may cost, in time of what the flow had before, beside a round trip of the hop.
    pub cost: Duration,
    /// What a flow may have less without help, in per cent.
    pub margin: u32,
}

/// The link at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// What it carries, as far as it is known.
    pub rate: Option<Rate>,
    /// The round trip of the hop.
    pub rtt: Duration,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Watch {
    settings: WatchSettings,
    flows: BTreeMap<Place, Watched>,
    /// Until when it is counted what the link could carry, and how many bytes that was.
    at: Instant,
    capacity: u64,
    /// When the present window began, and the capacity then.
    window: (Instant, u64),
    /// Bytes that left in it.
    left: u64,
    /// No other turn begins earlier.
    next_turn: Instant,
}

/// Flows whose turns begin or end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns {
    /// They have no help from now on.
    pub begun: u64,
    /// They had less, and have help again.
    pub ended: u64,
}

#[derive(Debug, Default)]
struct Watched {
    /// Bytes that wait here.
    waiting: u64,
    /// In the present window.
    sent: u64,
    has_emptied: bool,
    has_filled: bool,
    /// Its part of the link in the window before, if it may have had its turn then.
    part: Option<u64>,
    turn: Option<Turn>,
    /// No turn before then, and for how long after a turn that costs too much.
    not_before: Instant,
    help: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    since: Instant,
    /// The part of the link that it had with help, less the margin.
    part: u64,
    /// The capacity until which it was counted, what came of it since then, and what it had less by then, in bytes.
    capacity: u64,
    came: u64,
    deficit: u64,
}

impl Watch {
    /// No flow is known.
    pub fn new(settings: WatchSettings) -> Watch {
        Watch {
            settings,
            flows: BTreeMap::new(),
            at: Instant::ZERO,
            capacity: 0,
            window: (Instant::ZERO, 0),
            left: 0,
            next_turn: Instant::ZERO,
        }
    }

    /// True if the flow has no help now.
    pub fn is_alone(&self, place: Place) -> bool {
        self.flows.get(&place).is_some_and(|flow| flow.turn.is_some())
    }

    /// Flows without help.
    pub fn alone(&self) -> usize {
        self.flows.values().filter(|flow| flow.turn.is_some()).count()
    }

    /// A packet of the flow came to wait.
    pub fn on_arrival(&mut self, place: Place, bytes: u32) {
        if !self.settings.is_on || self.flows.len() >= MOST && !self.flows.contains_key(&place) {
            return;
        }
        self.flows.entry(place).or_default().waiting += u64::from(bytes);
    }

    /// A packet of the flow was dropped, or marked if it leaves all the same: its sender was told to send less.
    pub fn on_signal(&mut self, place: Place, dropped: u32) {
        if let Some(flow) = self.flows.get_mut(&place) {
            flow.waiting = flow.waiting.saturating_sub(dropped.into());
            flow.has_filled = true;
        }
    }

    /// Something left that belongs to no flow: a repair, a code, a message.
    pub fn on_other(&mut self, bytes: u32) {
        self.left += u64::from(bytes);
    }

    /// A packet of the flow left.
    pub fn on_departure(&mut self, place: Place, bytes: u32, loss: u64) {
        let bytes = u64::from(bytes);
        self.left += bytes;
        let Some(flow) = self.flows.get_mut(&place) else { return };
        flow.waiting = flow.waiting.saturating_sub(bytes);
        flow.sent += bytes;
        flow.has_emptied |= flow.waiting == 0;
        if let Some(turn) = &mut flow.turn {
            turn.came += bytes - part_of(bytes, loss.min(ONE));
        }
    }

    /// Time has passed. Call it often: before anything leaves.
    pub fn advance(&mut self, now: Instant, link: Link) -> Turns {
        let Some(rate) = link.rate.filter(|_| self.settings.is_on) else {
            self.forget();
            return Turns::default();
        };
        if self.at == Instant::ZERO {
            (self.at, self.window) = (now, (now, self.capacity));
        }
        let time = now.saturating_since(self.at);
        if time < STEP {
            return Turns::default();
        }
        self.capacity += rate.bytes_in(time);
        self.at = now;
        let ended = self.end_turns(now, rate.bytes_in(self.settings.cost + link.rtt));
        let is_over = now.saturating_since(self.window.0) >= self.settings.window;
        Turns { begun: u64::from(is_over && self.begin_turn(now)), ended }
    }

    /// Turns that cost more than a part of `at_most` bytes end.
    fn end_turns(&mut self, now: Instant, at_most: u64) -> u64 {
        let mut ended = 0;
        for flow in self.flows.values_mut() {
            let Some(turn) = &mut flow.turn else { continue };
            turn.count(self.capacity);
            if turn.deficit > part_of(at_most, turn.part) {
                let lasted = now.saturating_since(turn.since);
                let help = flow.help.filter(|help| lasted < *help).unwrap_or(HELP.0);
                (flow.turn, flow.part) = (None, None);
                (flow.not_before, flow.help) = (now + help, Some((help * 2).min(HELP.1)));
                ended += 1;
            }
        }
        ended
    }

    /// A window is over. True if a flow has its turn next.
    fn begin_turn(&mut self, now: Instant) -> bool {
        let capacity = (self.capacity - self.window.1).max(1);
        let is_full = self.left >= part_of(capacity, FULL);
        let mut has_begun = false;
        for flow in self.flows.values_mut() {
            let part = share(flow.sent, capacity);
            let may = is_full && part >= LEAST_PART && flow.has_emptied && !flow.has_filled && flow.turn.is_none();
            if let Some(before) = flow.part.filter(|_| may && now >= flow.not_before.max(self.next_turn)) {
                let margin = u64::from(self.settings.margin.min(100));
                let part = before.max(part) / 100 * (100 - margin);
                flow.turn = Some(Turn { since: now, part, capacity: self.capacity, came: 0, deficit: 0 });
                self.next_turn = now + self.settings.window;
                has_begun = true;
            }
            flow.part = may.then_some(part);
        }
        self.flows.retain(|_, flow| flow.sent > 0 || flow.waiting > 0 || flow.not_before > now);
        for flow in self.flows.values_mut() {
            (flow.sent, flow.has_emptied, flow.has_filled) = (0, flow.waiting == 0, false);
        }
        (self.window, self.left) = ((now, self.capacity), 0);
        has_begun
    }

    /// Nothing is known any more.
    pub fn forget(&mut self) {
        self.flows.clear();
        (self.at, self.left) = (Instant::ZERO, 0);
    }

    /// Memory that it takes.
    pub fn memory(&self) -> u64 {
        (self.flows.len() * size_of::<(Place, Watched)>() * 2) as u64
    }
}

impl Turn {
    /// So much the link could have carried.
    fn count(&mut self, capacity: u64) {
        let expected = part_of(capacity - self.capacity, self.part);
        self.deficit = (self.deficit + expected).saturating_sub(self.came);
        (self.capacity, self.came) = (capacity, 0);
    }
}

/// So many millionths of it.
fn part_of(bytes: u64, millionths: u64) -> u64 {
    (u128::from(bytes) * u128::from(millionths) / u128::from(ONE)) as u64
}

/// So many millionths of the whole.
fn share(bytes: u64, whole: u64) -> u64 {
    (u128::from(bytes) * u128::from(ONE) / u128::from(whole)).min(u128::from(ONE)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::{data, opaque};
    use crate::local_recovery::flows::Flows;
    use airtcp_core::Rng;

    const LINK: Link = Link { rate: Some(Rate::from_bps(12_000_000)), rtt: Duration::from_millis(100) };
    /// What it carries in a millisecond, in bytes.
    const FULL_LOAD: u32 = 1500;

    struct World {
        watch: Watch,
        now: Instant,
        turns: Turns,
    }

    fn places() -> [Place; 2] {
        let flows = Flows::new(&mut Rng::derive(1, "flows"));
        [data(0), opaque(700)].map(|packet| flows.find(&packet).unwrap())
    }

    impl World {
        fn new() -> World {
            let settings = WatchSettings {
                is_on: true,
                window: Duration::from_secs(5),
                cost: Duration::from_millis(300),
                margin: 2,
            };
            World { watch: Watch::new(settings), now: Instant::from_nanos(7), turns: Turns::default() }
        }

        /// For so long a packet of so many bytes comes and leaves each millisecond, of which nothing is lost.
        fn run(&mut self, place: Place, ms: u64, bytes: u32) {
            for _ in 0..ms {
                self.step(&[(place, bytes)]);
            }
        }

        fn step(&mut self, packets: &[(Place, u32)]) {
            self.now += Duration::from_millis(1);
            let turns = self.watch.advance(self.now, LINK);
            self.turns = Turns { begun: self.turns.begun + turns.begun, ended: self.turns.ended + turns.ended };
            for (place, bytes) in packets {
                self.watch.on_arrival(*place, *bytes);
                self.watch.on_departure(*place, *bytes, 0);
            }
        }
    }

    #[test]
    fn a_flow_that_has_as_much_without_help_stays_without() {
        let (mut world, [one, _]) = (World::new(), places());
        world.run(one, 9_900, FULL_LOAD * 95 / 100);
        assert!(!world.watch.is_alone(one), "two windows");
        world.run(one, 200, FULL_LOAD);
        assert!(world.watch.is_alone(one));
        world.run(one, 60_000, FULL_LOAD * 94 / 100);
        assert_eq!((world.watch.alone(), world.turns), (1, Turns { begun: 1, ended: 0 }), "within the margin");
    }

    #[test]
    fn a_turn_costs_what_it_may_and_the_next_one_comes_later_each_time() {
        let (mut world, [one, _]) = (World::new(), places());
        world.run(one, 10_100, FULL_LOAD);
        assert!(world.watch.is_alone(one));
        let mut lost = 0;
        while world.watch.is_alone(one) {
            world.run(one, 1, FULL_LOAD / 2);
            lost += FULL_LOAD / 2;
        }
        assert!((500_000..650_000).contains(&lost), "{lost}: 400 ms of the link, and a step");
        let mut begun = std::vec![];
        for second in 0..200 {
            let before = world.turns.begun;
            let bytes = if world.watch.is_alone(one) { FULL_LOAD / 2 } else { FULL_LOAD };
            world.run(one, 1000, bytes);
            begun.extend((world.turns.begun > before).then_some(second));
        }
        assert!(begun.len() == 2 && (30..42).contains(&begun[0]) && begun[1] - begun[0] >= 60, "{begun:?}");
    }

    #[test]
    fn who_fills_the_queue_is_told_to_send_less_or_has_little_gets_no_turn() {
        let [one, other] = places();
        let mut world = World::new();
        world.watch.on_arrival(one, 5000);
        world.run(one, 30_000, FULL_LOAD);
        assert_eq!(world.turns.begun, 0, "its queue is never empty");
        let mut world = World::new();
        for _ in 0..30 {
            world.run(one, 1000, FULL_LOAD);
            world.watch.on_signal(one, 0);
        }
        assert_eq!(world.turns.begun, 0, "it is told");
        let mut world = World::new();
        world.run(one, 30_000, FULL_LOAD / 2);
        assert_eq!(world.turns.begun, 0, "help costs nothing where the link is not full");
        let mut world = World::new();
        (0..30_000).for_each(|_| world.step(&[(one, FULL_LOAD * 95 / 100), (other, FULL_LOAD / 20)]));
        assert_eq!((world.watch.is_alone(one), world.watch.is_alone(other)), (true, false));
    }

    #[test]
    fn flows_have_their_turns_one_after_the_other() {
        let (mut world, [one, other]) = (World::new(), places());
        (0..10_100).for_each(|_| world.step(&[(one, FULL_LOAD / 2), (other, FULL_LOAD / 2)]));
        assert_eq!(world.watch.alone(), 1);
        (0..10_000).for_each(|_| world.step(&[(one, FULL_LOAD / 2), (other, FULL_LOAD / 2)]));
        assert_eq!(world.watch.alone(), 2);
        world.watch.advance(world.now + Duration::from_secs(1), Link { rate: None, ..LINK });
        assert_eq!(world.watch.alone(), 0, "where nothing is known of the link all have help");
    }
}
