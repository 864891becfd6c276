//! The hold model (Vaucher & Duval, CACM 18(4), 1975): with a constant number of events pending, the earliest is taken
//! and one put in its place an exponential time later. Our queue against the standard library's heap with the same
//! events, in turns; and what is left of the time where nothing is put in order, which no queue can undercut.

use crate::verdicts::Verdicts;
use airtcp_core::{Duration, Instant, Rng};
use airtcp_sim::queue::{EventQueue, Since, Source};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

const HOLDS: u32 = 2_000_000;
const ROUNDS: usize = 5;
const PENDING: [u32; 2] = [1_000, 100_000];
const TARGET: f64 = 4.0;
/// Different waits; a power of two.
const WAITS: usize = 1 << 13;

trait Queue {
    fn new(pending: u32) -> Self;
    /// The earliest event; `put` follows for the same source.
    fn take(&mut self) -> (Instant, Source);
    fn put(&mut self, at: Instant, source: Source);
}

impl Queue for EventQueue {
    fn new(pending: u32) -> Self {
        EventQueue::new(0, 0, pending as usize)
    }
    fn take(&mut self) -> (Instant, Source) {
        self.first(Instant::MAX).expect("events are pending")
    }
    fn put(&mut self, at: Instant, source: Source) {
        self.set(source, at, Since::default());
    }
}

struct Heap {
    heap: BinaryHeap<Reverse<(Instant, u64, Source)>>,
    inserted: u64,
}

impl Queue for Heap {
    fn new(pending: u32) -> Self {
        Heap { heap: BinaryHeap::with_capacity(pending as usize), inserted: 0 }
    }
    fn take(&mut self) -> (Instant, Source) {
        let Reverse((at, _, source)) = self.heap.pop().expect("events are pending");
        (at, source)
    }
    fn put(&mut self, at: Instant, source: Source) {
        self.inserted += 1;
        self.heap.push(Reverse((at, self.inserted, source)));
    }
}

/// No queue: events come in an order that was drawn beforehand, whatever their times. It reads and writes what every queue
/// keeps of a source.
struct Unordered {
    kept: Vec<(Instant, Since, u64)>,
    order: Vec<Source>,
    turn: usize,
    put: u64,
}

impl Queue for Unordered {
    fn new(pending: u32) -> Self {
        let mut rng = Rng::derive(1, "unordered");
        let mut order: Vec<Source> = (0..pending).collect();
        (1..order.len()).for_each(|place| order.swap(place, rng.below(place as u64 + 1) as usize));
        Unordered { kept: vec![(Instant::ZERO, Since::default(), 0); pending as usize], order, turn: 0, put: 0 }
    }
    fn take(&mut self) -> (Instant, Source) {
        let source = self.order[self.turn];
        self.turn = if self.turn + 1 == self.order.len() { 0 } else { self.turn + 1 };
        (self.kept[source as usize].0, source)
    }
    fn put(&mut self, at: Instant, source: Source) {
        self.put += 1;
        self.kept[source as usize] = (at, Since::default(), self.put);
    }
}

/// Prints all and judges the ratio of the first two.
pub fn compare(verdicts: &mut Verdicts) {
    verdicts.of(&format!("event queue, hold model with exponential increments, ns per hold (fastest of {ROUNDS})"));
    let waits = exponential_waits();
    for pending in PENDING {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(hold::<EventQueue>(pending, &waits));
            times[1].push(hold::<Heap>(pending, &waits));
            times[2].push(hold::<Unordered>(pending, &waits));
        }
        let [ours, heap, unordered] = times.map(fastest);
        println!("  {pending:>7} pending: {ours:6.1} ours, {heap:6.1} BinaryHeap, {unordered:6.1} without any order");
        verdicts.at_least(&format!("x BinaryHeap with {pending} pending"), heap / ours, TARGET);
    }
    println!();
}

/// What a profile-guided build learns of the queue.
pub fn train() {
    let waits = exponential_waits();
    for pending in [300, 2_000, 30_000] {
        let [ours, heap, unordered] = [hold::<EventQueue>, hold::<Heap>, hold::<Unordered>];
        black_box(ours(pending, &waits) + heap(pending, &waits) + unordered(pending, &waits));
    }
}

/// Exponential with a mean of a millisecond, drawn beforehand.
fn exponential_waits() -> Box<[u64; WAITS]> {
    let mut rng = Rng::derive(1, "hold");
    Box::new(std::array::from_fn(|_| {
        let chance = (rng.below(1 << 40) + 1) as f64 / (1u64 << 40) as f64;
        (-chance.ln() * 1e6) as u64
    }))
}

/// Nanoseconds of CPU time per hold.
fn hold<Q: Queue>(pending: u32, waits: &[u64; WAITS]) -> f64 {
    let mut queue = Q::new(pending);
    for source in 0..pending {
        queue.put(Instant::from_nanos(waits[source as usize % WAITS]), source);
    }
    repeat(4 * pending, &mut queue, waits);
    let before = cpu_nanos();
    repeat(HOLDS, &mut queue, waits);
    let spent = cpu_nanos() - before;
    black_box(queue.take());
    spent / f64::from(HOLDS)
}

/// Nothing but holds, so that little is measured that is none.
#[inline(never)]
fn repeat<Q: Queue>(holds: u32, queue: &mut Q, waits: &[u64; WAITS]) {
    for turn in 0..holds {
        let (at, source) = queue.take();
        queue.put(at + Duration::from_nanos(waits[turn as usize % WAITS]), source);
    }
}

fn cpu_nanos() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process can ask about itself");
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e3
}

fn fastest(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}
