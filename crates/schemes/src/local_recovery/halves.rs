//! Packets that leave no room for a shim go over the link in two: most of the packet, and a tail that is a frame of its own
//! and goes behind it. This is where the two become one again.

use super::exit::Exit;
use crate::hop::{Outlet, Part, Passed};
use crate::position::Position;
use crate::tally::Tally;
use airtcp_core::{Backlog, Context, DropReason, Duration, Instant, Packet};
use alloc::collections::{BTreeMap, VecDeque};

/// Memory of an entry beside its packet.
const ENTRY: u64 = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Halves {
    /// Where whole packets leave.
    exit: Exit,
    memory_limit: u64,
    /// Heads whose turn has come, and whose tail's has not.
    heads: BTreeMap<Position, (Passed, Packet)>,
    /// When their turn came, the first ones first; some are gone.
    came: VecDeque<(Instant, Position)>,
    /// What of them is held.
    held: Tally,
}

impl Halves {
    /// Keeps heads of at most so much memory.
    pub fn new(exit: Exit, memory_limit: u64) -> Halves {
        Halves { exit, memory_limit, heads: BTreeMap::new(), came: VecDeque::new(), held: Tally::default() }
    }

    /// See [`Exit::speed`].
    pub fn speed(&self) -> Option<u64> {
        self.exit.speed()
    }

    /// Nothing before `expected` will come any more: heads that wait for a tail from there wait in vain.
    pub fn forget_before(&mut self, cx: &mut Context<'_>, expected: Position) {
        while let Some(entry) = self.heads.first_entry().filter(|entry| entry.key() + 1 < expected) {
            let (_, head) = entry.remove();
            self.end(cx, head, DropReason::CORRUPTED);
        }
        self.settle();
    }

    /// Lets go of everything.
    pub fn clear(&mut self, cx: &mut Context<'_>) {
        self.forget_before(cx, Position::MAX);
        self.exit.clear(cx);
    }

    /// What waits here and at the exit.
    pub fn waiting(&self) -> Backlog {
        self.held.waiting + self.exit.held.waiting
    }

    /// Its memory.
    pub fn memory(&self) -> u64 {
        self.held.memory + self.exit.held.memory
    }

    pub fn check(&self) -> Result<(), &'static str> {
        self.exit.check()
    }

    /// No head waits longer than `hold`, and what is due leaves.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, hold: Duration) {
        while let Some((_, sequence)) = self.came.front().copied().filter(|(came, _)| *came + hold <= cx.now()) {
            self.came.pop_front();
            if let Some((_, head)) = self.heads.remove(&sequence) {
                self.end(cx, head, DropReason::CORRUPTED);
            }
        }
        self.exit.handle_timeout(cx);
    }

    /// When the first head has waited for `hold`, or a packet is due.
    pub fn poll_timeout(&self, hold: Duration) -> Option<Instant> {
        let head = self.came.front().map(|(came, _)| *came + hold);
        head.into_iter().chain(self.exit.poll_timeout()).min()
    }

    /// Forgets when heads came that are gone.
    fn settle(&mut self) {
        while self.came.front().is_some_and(|(_, sequence)| !self.heads.contains_key(sequence)) {
            self.came.pop_front();
        }
    }

    fn end(&mut self, cx: &mut Context<'_>, head: Packet, reason: DropReason) {
        self.held.remove(&head, ENTRY);
        cx.discard(head, reason);
    }

    fn join(&mut self, cx: &mut Context<'_>, tail_passed: &Passed, tail: Packet) {
        let head = tail_passed.sequence.checked_sub(1).and_then(|before| self.heads.remove(&before));
        let Some((passed, mut head)) = head else { return cx.discard(tail, DropReason::CORRUPTED) };
        self.held.remove(&head, ENTRY);
        if head.append_tail(&tail) {
            cx.consume(tail);
            self.exit.pass(cx, &Passed { sequence: tail_passed.sequence, ..passed }, head);
        } else {
            cx.discard(tail, DropReason::CORRUPTED);
            cx.discard(head, DropReason::CORRUPTED);
        }
    }
}

impl Outlet for Halves {
    fn pass(&mut self, cx: &mut Context<'_>, passed: &Passed, packet: Packet) {
        match passed.part {
            Part::Whole => self.exit.pass(cx, passed, packet),
            Part::Head => {
                self.held.add(&packet, ENTRY);
                if let Some((_, other)) = self.heads.insert(passed.sequence, (*passed, packet)) {
                    // Of an earlier incarnation of the sender: its tail will not come.
                    self.came.retain(|(_, sequence)| *sequence != passed.sequence);
                    self.end(cx, other, DropReason::CORRUPTED);
                }
                self.came.push_back((cx.now(), passed.sequence));
                while self.held.memory > self.memory_limit
                    && let Some((_, (_, head))) = self.heads.pop_first()
                {
                    self.end(cx, head, DropReason::MEMORY_LIMIT);
                }
            }
            Part::Tail => self.join(cx, passed, packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::opaque;
    use airtcp_core::testing::Harness;
    use airtcp_core::{Element, Port};

    /// Every packet is a head, of the same number.
    #[derive(Debug)]
    struct Heads(Halves);

    impl Element for Heads {
        fn handle_packet(&mut self, cx: &mut Context<'_>, _: Port, packet: Packet) {
            let passed = Passed { sequence: 7, before: None, part: Part::Head, came: cx.now() };
            self.0.pass(cx, &passed, packet);
        }

        fn handle_timeout(&mut self, cx: &mut Context<'_>) {
            self.0.handle_timeout(cx, HOLD);
        }

        fn poll_timeout(&self) -> Option<Instant> {
            self.0.poll_timeout(HOLD)
        }

        fn held(&self) -> Backlog {
            self.0.waiting()
        }
    }

    const HOLD: Duration = Duration::from_millis(100);

    #[test]
    fn a_head_of_another_incarnation_takes_the_place_of_one_with_its_number() {
        let now = Instant::from_nanos(1_000_000_000);
        let mut heads = Harness::new(Heads(Halves::new(Exit::new(2, 10_000), 10_000)), "halves");
        heads.packet(now, Port::LINK, opaque(500));
        let memory = heads.element.0.memory();
        let second = now + HOLD - Duration::from_millis(1);
        heads.packet(second, Port::LINK, opaque(500));
        assert_eq!((heads.element.0.memory(), heads.element.0.waiting().packets), (memory, 1));
        let held = [now + HOLD, second + HOLD].map(|at| {
            heads.tick(at);
            heads.element.0.waiting().packets
        });
        assert_eq!(held, [1, 0], "its hold is its own");
    }
}
