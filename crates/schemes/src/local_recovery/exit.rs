//! The way out behind the far end. What waited for a repair is not let go all at once: a round trip's worth of packets would
//! overflow the queue of the next link, and a sender takes the speed at which they are acknowledged for that of the way. They leave
//! as far apart as they came, a few times as fast, until the flow has caught up; the more waits, the slower.
//!
//! A *lane* is a flow that catches up. Its clock runs so many times faster than that by which its packets came. A repair came after
//! packets that it leaves before: it counts as come with the first of those, or all of them would be late, and leave at once.

use crate::hop::Passed;
use crate::position::Position;
use crate::tally::Tally;
use airtcp_core::{Context, Duration, Instant, Packet, Port};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is due within so short a time leaves together.
const BATCH: Duration = Duration::from_millis(1);
/// Flows that catch up at a time; the oldest of more has caught up.
const MOST_LANES: usize = 1024;
/// Memory of an entry beside its packet.
const ENTRY: u64 = 64;

/// The more waits beyond so many packets, of all flows, the slower it leaves: a quarter of what Linux keeps for a link (`txqueuelen`).
const BURST: u64 = 256;
/// But never slower than so many times as fast as it came.
const SLOWEST: u64 = 2;

/// No more packets that wait are put right for one that goes behind them: it bounds the work, whatever order they came in.
const MOST_LATE: usize = 1024;

type LaneId = u64;

/// See the module.
#[derive(Debug)]
pub(super) struct Exit {
    /// How many times as fast as packets came; `None` lets all go at once.
    speed: Option<u64>,
    memory_limit: u64,
    lanes: BTreeMap<LaneId, Lane>,
    next_id: LaneId,
    /// By the last packet of each.
    by_last: BTreeMap<Position, LaneId>,
    /// When the first packet of each is due, of those that have one.
    due: BTreeSet<(Instant, LaneId)>,
    /// What waits.
    pub held: Tally,
}

#[derive(Debug)]
struct Lane {
    /// Its last packet, which may have left.
    last: Position,
    /// When the latest packet that left was due, and when it had come.
    left: Instant,
    came: Instant,
    /// How many times as fast as they came packets leave now.
    speed: u64,
    queue: VecDeque<(Instant, Packet)>,
}

impl Lane {
    /// When a packet that came then is due.
    fn due(&self, came: Instant) -> Instant {
        self.left + came.saturating_since(self.came) / self.speed
    }

    /// A packet that came then goes behind all that waits. What waits and came later was repaired: it counts as come then, too.
    fn put_right(&mut self, came: Instant) {
        for (late, _) in self.queue.iter_mut().rev().take(MOST_LATE).take_while(|(late, _)| *late > came) {
            *late = came;
        }
        self.came = self.came.min(came);
    }

    fn first_due(&self) -> Option<Instant> {
        self.queue.front().map(|(came, _)| self.due(*came))
    }

    /// Call when a packet has left: how many wait, of all flows, tells how soon the next one is due.
    fn choose_speed(&mut self, most: u64, waiting: usize) {
        self.speed = (most * BURST / (waiting as u64).max(1)).max(SLOWEST).min(most);
    }
}

impl Exit {
    /// Packets leave `speed` times as fast as they came, all at once if that is 0. Takes at most so much memory.
    pub fn new(speed: u32, memory_limit: u64) -> Exit {
        Exit {
            speed: Some(u64::from(speed)).filter(|speed| *speed > 0),
            memory_limit,
            lanes: BTreeMap::new(),
            next_id: 0,
            by_last: BTreeMap::new(),
            due: BTreeSet::new(),
            held: Tally::default(),
        }
    }

    /// How many times as fast as packets came they leave; `None` at once.
    pub fn speed(&self) -> Option<u64> {
        self.speed
    }

    /// It is the turn of a packet.
    pub fn pass(&mut self, cx: &mut Context<'_>, passed: &Passed, packet: Packet) {
        let Some(speed) = self.speed else { return cx.send(Port::INNER, packet) };
        let lane = passed.before.and_then(|before| self.by_last.remove(&before));
        match lane {
            Some(id) => self.follow(cx, id, speed, passed, packet),
            None => {
                if passed.came < cx.now() {
                    self.open(cx, speed, passed);
                }
                cx.send(Port::INNER, packet);
            }
        }
    }

    /// A flow begins to catch up with this packet.
    fn open(&mut self, cx: &mut Context<'_>, speed: u64, passed: &Passed) {
        while self.lanes.len() >= MOST_LANES
            && let Some((&oldest, _)) = self.lanes.first_key_value()
        {
            self.close(cx, oldest);
        }
        let lane = Lane { last: passed.sequence, left: cx.now(), came: passed.came, speed, queue: VecDeque::new() };
        self.lanes.insert(self.next_id, lane);
        self.name(cx, self.next_id, passed.sequence);
        self.next_id += 1;
    }

    /// The lane is found by this packet from now on. Another one that is, of an earlier incarnation of the sender, has caught up.
    fn name(&mut self, cx: &mut Context<'_>, id: LaneId, last: Position) {
        if let Some(other) = self.by_last.remove(&last) {
            self.close(cx, other);
        }
        self.by_last.insert(last, id);
    }

    fn follow(&mut self, cx: &mut Context<'_>, id: LaneId, speed: u64, passed: &Passed, packet: Packet) {
        let Some(lane) = self.lanes.get_mut(&id) else { return cx.send(Port::INNER, packet) };
        let first = lane.first_due();
        lane.put_right(passed.came);
        if let Some((late, first)) = first.zip(lane.first_due()).filter(|(late, first)| late != first) {
            // While it waited for a repair nothing caught up.
            lane.left += cx.now().saturating_since(first);
            self.due.remove(&(late, id));
            self.due.insert((first.max(cx.now()), id));
        }
        let due = lane.due(passed.came);
        if lane.queue.is_empty() && due <= cx.now() {
            if passed.came >= cx.now() {
                self.lanes.remove(&id);
                return cx.send(Port::INNER, packet);
            }
            (lane.left, lane.came) = (due, passed.came);
            cx.send(Port::INNER, packet);
        } else {
            if lane.queue.is_empty() {
                self.due.insert((due, id));
            }
            self.held.add(&packet, ENTRY);
            lane.queue.push_back((passed.came, packet));
        }
        lane.last = passed.sequence;
        self.name(cx, id, passed.sequence);
        while self.held.memory > self.memory_limit && self.send_first(cx, speed) {}
    }

    /// Lets go of the packet that is due first; false if none waits.
    fn send_first(&mut self, cx: &mut Context<'_>, speed: u64) -> bool {
        let Some((due, id)) = self.due.pop_first() else { return false };
        let Some(lane) = self.lanes.get_mut(&id) else { return true };
        let Some((came, packet)) = lane.queue.pop_front() else { return true };
        self.held.remove(&packet, ENTRY);
        // For want of memory it may leave long before it is due: those behind it do not wait for that.
        (lane.left, lane.came) = (due.min(cx.now() + BATCH), came);
        lane.choose_speed(speed, self.held.waiting.packets);
        if let Some(next) = lane.first_due() {
            self.due.insert((next, id));
        }
        cx.send(Port::INNER, packet);
        true
    }

    /// Lets go of what is due.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let until = cx.now() + BATCH;
        let Some(speed) = self.speed else { return };
        if self.poll_timeout().is_none_or(|due| due > cx.now()) {
            return;
        }
        while self.due.first().is_some_and(|(due, _)| *due <= until) && self.send_first(cx, speed) {}
    }

    /// When the next packet is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// All that waits leaves now.
    pub fn clear(&mut self, cx: &mut Context<'_>) {
        while let Some((&oldest, _)) = self.lanes.first_key_value() {
            self.close(cx, oldest);
        }
    }

    fn close(&mut self, cx: &mut Context<'_>, id: LaneId) {
        let Some(lane) = self.lanes.remove(&id) else { return };
        self.by_last.remove(&lane.last);
        if let Some(due) = lane.first_due() {
            self.due.remove(&(due, id));
        }
        for (_, packet) in lane.queue {
            self.held.remove(&packet, ENTRY);
            cx.send(Port::INNER, packet);
        }
    }

    pub fn check(&self) -> Result<(), &'static str> {
        if self.held.memory > self.memory_limit || self.lanes.len() > MOST_LANES {
            return Err("more catches up than may");
        }
        if self.lanes.len() != self.by_last.len() {
            return Err("a flow that catches up cannot be found by its last packet");
        }
        if self.due.len() != self.lanes.values().filter(|lane| !lane.queue.is_empty()).count() {
            return Err("a packet waits and nothing is due");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Part;
    use crate::hop::testing::opaque;
    use airtcp_core::testing::Harness;
    use airtcp_core::{Backlog, Element};
    use std::vec::Vec;

    /// Sends each packet that comes down the exit, as come at the time that its length tells.
    #[derive(Debug)]
    struct Door {
        exit: Exit,
        next: Position,
    }

    /// The n-th packet, which came so many milliseconds ago.
    fn ago(ms: usize) -> Packet {
        opaque(100 + ms)
    }

    impl Element for Door {
        fn handle_packet(&mut self, cx: &mut Context<'_>, _: Port, packet: Packet) {
            let ms = u64::from(packet.wire_len()) - 100;
            let came = Instant::from_nanos(cx.now().as_nanos() - ms * 1_000_000);
            let passed = Passed { sequence: self.next, before: self.next.checked_sub(1), part: Part::Whole, came };
            self.next += 1;
            self.exit.pass(cx, &passed, packet);
        }

        fn handle_timeout(&mut self, cx: &mut Context<'_>) {
            self.exit.handle_timeout(cx);
        }

        fn poll_timeout(&self) -> Option<Instant> {
            self.exit.poll_timeout()
        }

        fn held(&self) -> Backlog {
            self.exit.held.waiting
        }

        fn check(&self) -> Result<(), &'static str> {
            self.exit.check()
        }
    }

    fn door(speed: u32, memory: u64) -> (Harness<Door>, Instant) {
        let door = Door { exit: Exit::new(speed, memory), next: 1 };
        (Harness::new(door, "door"), Instant::from_nanos(10_000_000_000))
    }

    /// How many packets left in each millisecond from `now` on, until nothing waits.
    fn departures(door: &mut Harness<Door>, mut now: Instant) -> Vec<usize> {
        let mut counts = std::vec![door.io.inner.drain(..).count()];
        while door.element.exit.poll_timeout().is_some() {
            now += Duration::from_millis(1);
            door.tick(now);
            counts.push(door.io.inner.drain(..).count());
        }
        counts
    }

    #[test]
    fn what_waited_leaves_as_far_apart_as_it_came_some_times_as_fast() {
        let (mut door, now) = door(4, 1 << 20);
        for n in 0..12 {
            door.packet(now, Port::LINK, ago(24 - 2 * n));
        }
        let counts = departures(&mut door, now);
        assert_eq!(counts.iter().sum::<usize>(), 12);
        assert!((5..=7).contains(&counts.len()) && counts.iter().all(|count| *count <= 4), "{counts:?}");
    }

    #[test]
    fn a_repair_within_lets_nothing_behind_it_go_at_once() {
        let (mut door, now) = door(4, 1 << 20);
        for n in 0..40 {
            // Of two the repairs came only now.
            door.packet(now, Port::LINK, ago(if n == 4 || n == 8 { 0 } else { 40 - n }));
        }
        let counts = departures(&mut door, now);
        assert_eq!(counts.iter().sum::<usize>(), 40);
        assert!((9..=12).contains(&counts.len()) && counts.iter().all(|count| *count <= 10), "{counts:?}");
    }

    #[test]
    fn a_repair_that_comes_later_lets_nothing_behind_it_go_at_once() {
        let (mut door, now) = door(4, 1 << 20);
        // The sixth came in place of what was lost twice, 4 ms after those before it could leave.
        (0..5).for_each(|n| door.packet(now, Port::LINK, ago(40 - n)));
        let later = now + Duration::from_millis(4);
        door.tick(later);
        assert_eq!(door.io.inner.drain(..).count(), 5);
        for n in 5..40 {
            door.packet(later, Port::LINK, ago(if n == 5 { 0 } else { 44 - n }));
        }
        let counts = departures(&mut door, later);
        assert_eq!(counts.iter().sum::<usize>(), 35);
        assert!(counts.len() >= 8 && counts.iter().all(|count| *count <= 10), "{counts:?}");
    }

    /// Of so many packets of so many flows that came four in each millisecond until now, how many leave in each.
    fn departures_of(packets: usize, flows: usize) -> Vec<usize> {
        let (mut door, now) = door(8, 1 << 22);
        for flow in 0..flows {
            door.element.next = flow as Position * 10_000;
            (0..packets).for_each(|n| door.packet(now, Port::LINK, ago((packets - 1 - n) / 4)));
        }
        departures(&mut door, now)
    }

    #[test]
    fn the_more_waits_the_slower_it_leaves() {
        let few = departures_of(200, 1);
        assert!(few.len() <= 8, "eight times as fast: {few:?}");
        let of_ten = departures_of(200, 10);
        assert!(of_ten[..10].iter().sum::<usize>() <= 10 * 10 * 8 + 90, "twice as fast: {of_ten:?}");
        let many = departures_of(2000, 1);
        let (begin, end) = (&many[..60], &many[many.len() - 8..]);
        assert!(begin.iter().sum::<usize>() <= 60 * 8 + 8, "twice as fast: {many:?}");
        assert!(end.iter().sum::<usize>() >= 7 * 28, "eight times as fast in the end: {many:?}");
        assert_eq!(many.iter().sum::<usize>(), 2000);
    }

    #[test]
    fn a_flow_that_has_caught_up_waits_no_more() {
        let (mut door, now) = door(4, 1 << 20);
        door.packet(now, Port::LINK, ago(8));
        door.packet(now, Port::LINK, ago(4));
        assert_eq!(departures(&mut door, now), [1, 1]);
        let later = now + Duration::from_millis(50);
        door.packet(later, Port::LINK, ago(0));
        assert_eq!((departures(&mut door, later), door.element.exit.lanes.len()), (std::vec![1], 0));
    }

    #[test]
    fn without_a_speed_or_a_wait_nothing_is_held() {
        let (mut door, now) = door(0, 1 << 20);
        (0..5).for_each(|_| door.packet(now, Port::LINK, ago(9)));
        assert_eq!(departures(&mut door, now), [5]);
        let (mut door, now) = super::tests::door(4, 1 << 20);
        (0..5).for_each(|_| door.packet(now, Port::LINK, ago(0)));
        assert_eq!((departures(&mut door, now), door.element.exit.lanes.len()), (std::vec![5], 0));
    }

    #[test]
    fn a_number_that_begins_anew_is_another_flow() {
        let (mut door, now) = door(4, 1 << 20);
        for ms in [40, 30, 20] {
            door.packet(now, Port::LINK, ago(ms));
        }
        door.element.next = 1;
        for ms in [40, 30, 20] {
            door.packet(now, Port::LINK, ago(ms));
        }
        assert_eq!(departures(&mut door, now).iter().sum::<usize>(), 6);
    }

    #[test]
    fn what_left_for_want_of_memory_makes_nothing_behind_it_wait() {
        let (mut door, now) = door(8, 100_000);
        (0..2000).for_each(|n| door.packet(now, Port::LINK, ago((1999 - n) / 4)));
        let counts = departures(&mut door, now);
        assert!(counts[0] > 1500 && counts[1..5].iter().sum::<usize>() > 60, "{counts:?}");
    }

    #[test]
    fn memory_is_bounded_and_order_stays() {
        let (mut door, now) = door(2, 4000);
        for n in 0..200 {
            door.packet(now, Port::LINK, ago(400 - n));
            assert!(door.element.exit.held.memory <= 4000);
        }
        let mut later = now;
        while door.element.exit.poll_timeout().is_some() {
            later += Duration::from_millis(1);
            door.tick(later);
        }
        let lens: Vec<_> = door.io.inner.iter().map(Packet::wire_len).collect();
        assert_eq!(lens.len(), 200);
        assert!(lens.is_sorted_by(|one, next| one > next), "each came after the one before");
    }
}
