//! Who counts down, and how far each is from its turn.
//!
//! When much is sent, nearly all that contend wait for their turn and count the same idle slots. They are *in step*: what
//! they count is added up once for all of them, and each has the sum at which its turn comes. So only those whose
//! turn it is are looked at (`turns`), and who has nothing to send but slots left is not looked at until it has, or at all. The
//! others are *apart*: who came while the medium was idle or busy, who waits for longer after a collision, and who has more
//! slots left than the standard's longest backoff.

use super::exchange::Timing;
use super::interface::Interface;
use super::turns::{SLOTS, Turns};
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant, count_one};
use typed_index_collections::{TiSlice, TiVec};

/// Who knows how far an interface is from its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nobody: it does not count down.
    Nowhere,
    /// Itself: it is in the list of those apart.
    Apart,
    /// Those in step: what they will have counted when its turn comes. Without a frame it counts down until then.
    InStep(u64),
    /// It sends, and its next backoff follows.
    Sending,
}

/// Where an interface is in its backoff.
#[derive(Clone, Copy, Debug)]
struct Countdown {
    place: Place,
    /// Apart: from when slots count if the medium stays idle; [`Instant::MAX`] while the medium is busy.
    from: Instant,
    /// Idle time before it may count down.
    aifs: Duration,
    /// So many have begun to count down before.
    order: u64,
    /// Apart: slots left to count.
    slots: u32,
    /// It has a frame to send.
    is_waiting: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Contenders {
    slot: Duration,
    countdowns: TiVec<InterfaceId, Countdown>,
    /// Of those in step that have a frame; none comes before what they have counted.
    turns: Turns,
    apart: Vec<InterfaceId>,
    /// AIFS of those in step.
    aifs: Duration,
    /// From when they count.
    from: Instant,
    /// What they have counted.
    counted: u64,
    /// How often one has begun to count down.
    begun: u64,
}

impl Contenders {
    /// Interfaces with these AIFS, of which nobody has anything to send; those with the AIFS of the last may be in step.
    pub fn new(slot: Duration, aifs: impl Iterator<Item = Duration>) -> Self {
        let (place, from) = (Place::Nowhere, Instant::MAX);
        let idle = |aifs| Countdown { place, from, aifs, order: 0, slots: 0, is_waiting: false };
        let countdowns: TiVec<InterfaceId, Countdown> = aifs.map(idle).collect();
        Contenders {
            slot,
            aifs: countdowns.last().map_or(Duration::ZERO, |last| last.aifs),
            turns: Turns::new(countdowns.len()),
            countdowns,
            apart: Vec::new(),
            from,
            counted: 0,
            begun: 0,
        }
    }

    /// Idle time before an interface may count down.
    pub fn aifs(&self, index: InterfaceId) -> Duration {
        self.countdowns[index].aifs
    }

    /// Sets it; before the first packet.
    pub fn set_aifs(&mut self, index: InterfaceId, aifs: Duration) {
        self.countdowns[index].aifs = aifs;
    }

    /// The shortest of them.
    pub fn least_aifs(&self) -> Duration {
        self.countdowns.iter().map(|countdown| countdown.aifs).min().unwrap_or_default()
    }

    /// Whether an interface has a frame to send, from now on.
    pub fn set_waiting(&mut self, index: InterfaceId, is_waiting: bool) {
        if self.countdowns[index].is_waiting != is_waiting {
            self.leave_step(index);
            self.countdowns[index].is_waiting = is_waiting;
        }
    }

    /// From when an interface that counts down does so, and the slots that it has left.
    pub fn backoff(&self, index: InterfaceId) -> (Instant, u32) {
        let Countdown { place, from, slots, .. } = self.countdowns[index];
        match place {
            Place::InStep(turn) => (self.from, self.left(turn)),
            _ => (from, slots),
        }
    }

    /// When an interface that counts down sends if the medium stays idle until then.
    pub fn due(&self, index: InterfaceId) -> Instant {
        let (from, slots) = self.backoff(index);
        due(from, slots, self.slot)
    }

    /// Whether an interface counts down, for a frame or after one.
    pub fn is_member(&self, index: InterfaceId) -> bool {
        let Countdown { place, is_waiting, .. } = self.countdowns[index];
        match place {
            Place::Nowhere => false,
            Place::Apart | Place::Sending => true,
            Place::InStep(turn) => is_waiting || turn > self.counted,
        }
    }

    /// An interface has so many slots to count, from `from` on.
    pub fn set_backoff(&mut self, index: InterfaceId, slots: u32, from: Instant) {
        self.leave_step(index);
        let countdown = &mut self.countdowns[index];
        (countdown.slots, countdown.from) = (slots, from);
        if countdown.place == Place::Sending {
            self.begin_count(index);
        }
    }

    /// An interface counts down, if it did not.
    pub fn join(&mut self, index: InterfaceId) {
        if !self.is_member(index) {
            self.countdowns[index].order = self.begun;
            count_one(&mut self.begun);
            self.begin_count(index);
        }
    }

    /// An interface that is in neither list counts in step from now on if it counts the same slots, else apart. So does one that
    /// has nothing to count and nothing to send, until the medium is used.
    fn begin_count(&mut self, index: InterfaceId) {
        let Countdown { from, aifs, slots, is_waiting, .. } = self.countdowns[index];
        let counts_the_same = from == self.from && aifs == self.aifs && from < Instant::MAX;
        if counts_the_same && slots < SLOTS && (is_waiting || slots > 0) {
            self.enter_step(index);
        } else {
            self.countdowns[index].place = Place::Apart;
            self.apart.push(index);
        }
    }

    /// Everybody counts from AIFS after `again`.
    pub fn resume(&mut self, again: Instant) {
        self.from = again + self.aifs;
        for index in &self.apart {
            let countdown = &mut self.countdowns[*index];
            countdown.from = again + countdown.aifs;
        }
    }

    /// Finds those whose turn comes first, in the order in which they began to count down, and when it does.
    pub fn find_first(&self, first: &mut Vec<InterfaceId>) -> Instant {
        first.clear();
        let turn = self.turns.first(self.counted);
        let of_step = turn.map_or(Instant::MAX, |turn| due(self.from, self.left(turn), self.slot));
        let mut begin = of_step;
        for index in &self.apart {
            let Countdown { from, slots, is_waiting, .. } = self.countdowns[*index];
            if !is_waiting {
                continue;
            }
            let due = due(from, slots, self.slot);
            if due < begin {
                begin = due;
                first.clear();
            }
            if due == begin {
                first.push(*index);
            }
        }
        if let Some(turn) = turn.filter(|_| begin == of_step) {
            self.turns.at(turn).for_each(|index| first.push(index));
        }
        if first.len() > 1 {
            first.sort_unstable_by_key(|index| self.countdowns[*index].order);
        }
        begin
    }

    /// The medium becomes busy at `begin`, when `winners` send: slots that were idle until then are counted, and the next
    /// ones from AIFS after `again`. Who has nothing to send and nothing left to count stops. Returns how many have a frame
    /// to send. The winners get a new backoff before anything else is asked.
    pub fn freeze(
        &mut self,
        [begin, again]: [Instant; 2],
        winners: &[InterfaceId],
        timing: &Timing,
        interfaces: &mut TiSlice<InterfaceId, Interface>,
    ) -> u64 {
        let (mut contenders, mut reached) = (self.turns.len() as u64, None);
        for winner in winners {
            let place = std::mem::replace(&mut self.countdowns[*winner].place, Place::Sending);
            if let Place::InStep(turn) = place {
                self.turns.remove(turn, *winner);
                reached = Some(turn);
            }
        }
        match reached {
            // All have counted what was left until then, and nobody is late: no division tells more.
            Some(turn) => {
                let counted = turn + u64::from(timing.is_edca());
                debug_assert_eq!(counted, self.counted + timing.counted(self.from, begin));
                self.counted = counted;
            }
            None => contenders -= self.count_in_step(begin, winners.is_empty(), timing),
        }
        self.from = again + self.aifs;
        let mut kept = 0;
        for place in 0..self.apart.len() {
            let index = self.apart[place];
            let countdown = &mut self.countdowns[index];
            contenders += u64::from(countdown.is_waiting);
            if countdown.place == Place::Sending {
                continue;
            }
            countdown.count(begin, timing, &mut interfaces[index]);
            countdown.from = again + countdown.aifs;
            if countdown.place == Place::Nowhere {
                continue;
            }
            if countdown.aifs == self.aifs && countdown.slots < SLOTS {
                self.enter_step(index);
            } else {
                self.apart[kept] = index;
                kept += 1;
            }
        }
        self.apart.truncate(kept);
        contenders
    }

    /// The same for those in step where none of them sends. Returns how many with a frame are apart from now on.
    fn count_in_step(&mut self, begin: Instant, is_beacon: bool, timing: &Timing) -> u64 {
        let before = self.counted;
        let counted = before + timing.counted(self.from, begin);
        let waiting = self.turns.len();
        // Else nobody has counted more than it had left, and who had nothing left sends; nor may a turn lie before what is
        // counted (`left`).
        if begin < self.from || is_beacon {
            self.part_from_late(before, counted);
        }
        self.counted = counted;
        (waiting - self.turns.len()) as u64
    }

    /// Who would have been first counts alone: somebody was faster.
    #[cold]
    #[inline(never)]
    fn part_from_late(&mut self, before: u64, counted: u64) {
        let is_late = |turn: &u64| *turn < counted || *turn == before;
        while let Some(turn) = self.turns.first(before).filter(is_late) {
            let late: Vec<InterfaceId> = self.turns.at(turn).collect();
            late.into_iter().for_each(|index| self.leave_step(index));
        }
    }

    /// Has an interface be in step, with the slots that it has left.
    fn enter_step(&mut self, index: InterfaceId) {
        let countdown = &mut self.countdowns[index];
        let turn = self.counted + u64::from(countdown.slots);
        countdown.place = Place::InStep(turn);
        if countdown.is_waiting {
            self.turns.put(turn, self.counted, index);
        }
    }

    /// Has an interface that is in step be apart, or nowhere if it has counted all without a frame.
    fn leave_step(&mut self, index: InterfaceId) {
        let Countdown { place: Place::InStep(turn), is_waiting, .. } = self.countdowns[index] else { return };
        if is_waiting {
            self.turns.remove(turn, index);
        } else if turn <= self.counted {
            self.countdowns[index].place = Place::Nowhere;
            return;
        }
        let (from, slots) = (self.from, self.left(turn));
        let countdown = &mut self.countdowns[index];
        (countdown.place, countdown.from, countdown.slots) = (Place::Apart, from, slots);
        self.apart.push(index);
    }

    /// Slots that are left until a turn.
    fn left(&self, turn: u64) -> u32 {
        (turn - self.counted) as u32
    }
}

impl Countdown {
    /// Counts what was idle until `begin`, unless it had to wait for the medium.
    fn count(&mut self, begin: Instant, timing: &Timing, interface: &mut Interface) {
        if self.is_waiting && self.from == Instant::MAX {
            return;
        }
        let is_first = self.slots == 0;
        let counted = u32::try_from(timing.counted(self.from, begin)).unwrap_or(u32::MAX);
        self.slots = self.slots.saturating_sub(counted);
        if self.is_waiting && is_first && !timing.is_edca() {
            // It would have been sent without a backoff, and somebody was faster.
            self.slots = interface.draw_backoff();
        }
        if !self.is_waiting && self.slots == 0 {
            self.place = Place::Nowhere;
        }
    }
}

/// When so many slots are over.
fn due(from: Instant, slots: u32, slot: Duration) -> Instant {
    from.saturating_add(slot.saturating_mul(u64::from(slots)))
}

#[cfg(test)]
mod tests {
    use super::super::Bss;
    use super::super::tests::settings;
    use super::*;
    use airtcp_core::Rng;

    const INTERFACES: usize = 9;

    /// Each counts for itself.
    struct OneByOne {
        slot: Duration,
        countdowns: TiVec<InterfaceId, Countdown>,
        members: Vec<InterfaceId>,
    }

    impl OneByOne {
        fn join(&mut self, index: InterfaceId) {
            if std::mem::replace(&mut self.countdowns[index].place, Place::Apart) == Place::Nowhere {
                self.members.push(index);
            }
        }

        fn compare(&self, contenders: &Contenders) {
            for (index, known) in self.countdowns.iter_enumerated() {
                let is_member = known.place != Place::Nowhere;
                assert_eq!(contenders.is_member(index), is_member);
                if is_member {
                    assert_eq!(contenders.backoff(index), (known.from, known.slots));
                }
            }
        }

        fn find_first(&self) -> (Instant, Vec<InterfaceId>) {
            let waiting = self.members.iter().filter(|member| self.countdowns[**member].is_waiting);
            let due = |member: &InterfaceId| {
                let Countdown { from, slots, .. } = self.countdowns[*member];
                due(from, slots, self.slot)
            };
            let begin = waiting.clone().map(due).min().unwrap_or(Instant::MAX);
            (begin, waiting.copied().filter(|member| due(member) == begin).collect())
        }

        fn freeze(
            &mut self,
            [begin, again]: [Instant; 2],
            winners: &[InterfaceId],
            timing: &Timing,
            interfaces: &mut TiSlice<InterfaceId, Interface>,
        ) -> u64 {
            let waiting = self.members.iter().filter(|member| self.countdowns[**member].is_waiting).count();
            for member in &self.members {
                let countdown = &mut self.countdowns[*member];
                if !winners.contains(member) {
                    countdown.count(begin, timing, &mut interfaces[*member]);
                }
                countdown.from = again + countdown.aifs;
            }
            self.members.retain(|member| self.countdowns[*member].place != Place::Nowhere);
            waiting as u64
        }
    }

    /// Who is apart because it has more slots left than those in step may have.
    fn with_many_slots(contenders: &Contenders) -> Vec<InterfaceId> {
        let countdowns = contenders.countdowns.iter_enumerated();
        let has_many = |countdown: &Countdown| countdown.place == Place::Apart && countdown.slots >= SLOTS;
        countdowns.filter(|(_, countdown)| has_many(countdown)).map(|(index, _)| index).collect()
    }

    /// A cell of which each contender counts for itself beside one where most are in step, over and over. Returns how often
    /// one that had many slots came into step.
    fn compare(phy: &str, seed: u64) -> usize {
        let settings = settings(&[("phy", phy)]);
        let (timing, mut rng) = (Timing::new(&settings), Rng::derive(seed, "contenders"));
        let interfaces = || Bss::new(&settings, INTERFACES - 1, seed, "cell").interfaces;
        let (mut ours, mut theirs) = (interfaces(), interfaces());
        // The access point has an AIFS of its own.
        let aifs = |index: usize| timing.aifs(if index == 0 { 1 + (seed % 3) as u32 } else { 2 });
        let mut contenders = Contenders::new(timing.slot, (0..INTERFACES).map(aifs));
        let countdowns = contenders.countdowns.clone();
        let mut known = OneByOne { slot: timing.slot, countdowns, members: Vec::new() };
        let (mut first, mut idle_since, mut from_many) = (Vec::new(), Instant::ZERO, 0);
        for _ in 0..2000 {
            let index = InterfaceId::from(rng.below(INTERFACES as u64) as usize);
            if !known.countdowns[index].is_waiting {
                let slots = if rng.below(32) == 0 { 1000 + rng.below(3000) } else { rng.below(16) } as u32;
                let late = Duration::from_micros(rng.below(50) * rng.below(2));
                let from = if rng.below(4) == 0 { Instant::MAX } else { idle_since + contenders.aifs(index) + late };
                let goes_on = known.countdowns[index].place != Place::Nowhere && rng.below(2) == 0;
                contenders.set_waiting(index, true);
                let countdown = &mut known.countdowns[index];
                countdown.is_waiting = true;
                if !goes_on {
                    contenders.set_backoff(index, slots, from);
                    (countdown.slots, countdown.from) = (slots, from);
                }
                contenders.join(index);
                known.join(index);
            }
            known.compare(&contenders);
            let begin = contenders.find_first(&mut first);
            assert_eq!((begin, first.clone()), known.find_first());
            if rng.below(3) > 0 || begin == Instant::MAX {
                continue;
            }
            let (winners, begin) = match rng.below(8) {
                0 => (&[][..], begin.min(idle_since + timing.beacon().0)),
                _ => (&first[..], begin),
            };
            let again = begin + Duration::from_micros(700 + rng.below(300));
            let times = [begin, again];
            let many = with_many_slots(&contenders);
            let count = contenders.freeze(times, winners, &timing, &mut ours);
            from_many += many.iter().filter(|index| contenders.countdowns[**index].place != Place::Apart).count();
            assert_eq!(count, known.freeze(times, winners, &timing, &mut theirs));
            for winner in winners {
                let (is_waiting, late) = (rng.below(3) > 0, Duration::from_micros(100 * rng.below(2)));
                let (slots, from) = (ours[*winner].draw_backoff(), again + contenders.aifs(*winner) + late);
                contenders.set_waiting(*winner, is_waiting);
                contenders.set_backoff(*winner, slots, from);
                let countdown = &mut known.countdowns[*winner];
                (countdown.is_waiting, countdown.from) = (is_waiting, from);
                countdown.slots = theirs[*winner].draw_backoff();
            }
            idle_since = again;
        }
        assert!(known.members.len() > 2);
        from_many
    }

    #[test]
    fn those_in_step_count_as_if_each_did_for_itself() {
        let from_many: usize = (0..20).map(|seed| compare("b-long", seed) + compare("n", seed)).sum();
        assert!(from_many >= 20, "{from_many}");
    }
}
