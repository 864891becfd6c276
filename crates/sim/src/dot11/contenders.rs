//! Who counts down, and how far each is from its turn.
//!
//! When much is sent, nearly all that contend wait for their turn and count the same idle slots. They are *in step*: what
//! they count is added up once for all of them, and each has the sum at which its turn comes (`turns`). So only those whose
//! turn it is are looked at. The others are *apart*: who sent last, who came since, who has nothing to send but slots left, and
//! who has more of them than the standard's longest backoff.

use super::exchange::Timing;
use super::interface::Interface;
use super::turns::{SLOTS, Turns};
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant};
use typed_index_collections::{TiSlice, TiVec};

/// Where an interface is in its backoff.
#[derive(Clone, Copy, Debug)]
struct Countdown {
    /// From when slots count if the medium stays idle; [`Instant::MAX`] while the medium is busy.
    from: Instant,
    /// Idle time before it may count down.
    aifs: Duration,
    /// Slots left to count.
    slots: u32,
    /// It has a frame to send.
    is_waiting: bool,
    /// It counts down: for a frame, or after one.
    is_member: bool,
    /// What those in step will have counted when its turn comes, if it is one of them: then `from` and `slots` are not kept here.
    turn: Option<u64>,
    /// So many have begun to count down before.
    order: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Contenders {
    slot: Duration,
    countdowns: TiVec<InterfaceId, Countdown>,
    /// Of those in step; none comes before what they have counted.
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
        let idle = |aifs| Countdown {
            from: Instant::MAX,
            aifs,
            slots: 0,
            is_waiting: false,
            is_member: false,
            turn: None,
            order: 0,
        };
        let countdowns: TiVec<InterfaceId, Countdown> = aifs.map(idle).collect();
        Contenders {
            slot,
            aifs: countdowns.last().map_or(Duration::ZERO, |last| last.aifs),
            turns: Turns::new(countdowns.len()),
            countdowns,
            apart: Vec::new(),
            from: Instant::MAX,
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
        self.countdowns[index].is_waiting = is_waiting;
        if !is_waiting {
            self.leave_step(index);
        }
    }

    /// From when an interface counts, and the slots that it has left.
    pub fn backoff(&self, index: InterfaceId) -> (Instant, u32) {
        let Countdown { from, slots, turn, .. } = self.countdowns[index];
        turn.map_or((from, slots), |turn| (self.from, self.left(turn)))
    }

    /// When an interface sends if the medium stays idle until then.
    pub fn due(&self, index: InterfaceId) -> Instant {
        let (from, slots) = self.backoff(index);
        due(from, slots, self.slot)
    }

    /// Whether an interface counts down, for a frame or after one.
    pub fn is_member(&self, index: InterfaceId) -> bool {
        self.countdowns[index].is_member
    }

    /// An interface has so many slots to count, from `from` on.
    pub fn set_backoff(&mut self, index: InterfaceId, slots: u32, from: Instant) {
        self.leave_step(index);
        let countdown = &mut self.countdowns[index];
        (countdown.slots, countdown.from) = (slots, from);
    }

    /// An interface counts down, if it did not.
    pub fn join(&mut self, index: InterfaceId) {
        let countdown = &mut self.countdowns[index];
        if !countdown.is_member {
            countdown.is_member = true;
            countdown.order = self.begun;
            self.begun += 1;
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
    /// to send.
    pub fn freeze(
        &mut self,
        [begin, again]: [Instant; 2],
        winners: &[InterfaceId],
        timing: &Timing,
        interfaces: &mut TiSlice<InterfaceId, Interface>,
    ) -> u64 {
        winners.iter().for_each(|winner| self.leave_step(*winner));
        self.count_in_step(begin, winners.is_empty(), timing);
        let mut contenders = self.turns.len() as u64;
        self.from = again + self.aifs;
        let mut kept = 0;
        for place in 0..self.apart.len() {
            let index = self.apart[place];
            let countdown = &mut self.countdowns[index];
            contenders += u64::from(countdown.is_waiting);
            let is_winner = winners.contains(&index);
            if !is_winner {
                countdown.count(begin, timing, &mut interfaces[index]);
            }
            countdown.from = again + countdown.aifs;
            let may_be_in_step = countdown.is_waiting && countdown.aifs == self.aifs && countdown.slots < SLOTS;
            if may_be_in_step && !is_winner {
                let turn = self.counted + u64::from(countdown.slots);
                countdown.turn = Some(turn);
                self.turns.put(turn, self.counted, index);
            } else if countdown.is_member {
                self.apart[kept] = index;
                kept += 1;
            }
        }
        self.apart.truncate(kept);
        contenders
    }

    /// The same for those in step that do not send.
    fn count_in_step(&mut self, begin: Instant, is_beacon: bool, timing: &Timing) {
        let before = self.counted;
        let counted = before + timing.counted(self.from, begin);
        // Else nobody has counted more than it had left, and who had nothing left sends; nor may a turn lie before what is
        // counted (`left`).
        if begin < self.from || is_beacon {
            // Who would have been first counts alone: somebody was faster.
            let is_late = |turn: &u64| *turn < counted || *turn == before;
            while let Some(turn) = self.turns.first(before).filter(is_late) {
                let late: Vec<InterfaceId> = self.turns.at(turn).collect();
                late.into_iter().for_each(|index| self.leave_step(index));
            }
        }
        self.counted = counted;
    }

    /// Has an interface be apart.
    fn leave_step(&mut self, index: InterfaceId) {
        let Some(turn) = self.countdowns[index].turn.take() else { return };
        self.turns.remove(turn, index);
        let (from, slots) = (self.from, self.left(turn));
        let countdown = &mut self.countdowns[index];
        (countdown.from, countdown.slots) = (from, slots);
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
        self.is_member = self.is_waiting || self.slots > 0;
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
            self.members.retain(|member| self.countdowns[*member].is_member);
            waiting as u64
        }
    }

    /// Who is apart because it has more slots left than those in step may have.
    fn with_many_slots(contenders: &Contenders) -> Vec<InterfaceId> {
        let countdowns = contenders.countdowns.iter_enumerated();
        let has_many = |countdown: &Countdown| countdown.turn.is_none() && countdown.slots >= SLOTS;
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
                let late = Duration::from_micros(rng.below(50));
                let from = if rng.below(4) == 0 { Instant::MAX } else { idle_since + contenders.aifs(index) + late };
                contenders.set_waiting(index, true);
                contenders.set_backoff(index, slots, from);
                contenders.join(index);
                let countdown = &mut known.countdowns[index];
                (countdown.is_waiting, countdown.slots, countdown.from) = (true, slots, from);
                if !std::mem::replace(&mut countdown.is_member, true) {
                    known.members.push(index);
                }
            }
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
            from_many += many.iter().filter(|index| contenders.countdowns[**index].turn.is_some()).count();
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
        assert!(contenders.turns.len() + contenders.apart.len() == known.members.len() && known.members.len() > 2);
        from_many
    }

    #[test]
    fn those_in_step_count_as_if_each_did_for_itself() {
        let from_many: usize = (0..20).map(|seed| compare("b-long", seed) + compare("n", seed)).sum();
        assert!(from_many >= 20, "{from_many}");
    }
}
