//! Random traces of our sender, given to our own TCP and to the kernel's.

mod live;

use airtcp_core::Duration;
use airtcp_drill::random::{Setting, Trace, What, compare_all, record, replay};
use airtcp_drill::{Ours, Script};
use live::can_run;

/// Traces given to the kernel by every test run, and how many of them are equal at least.
const KERNEL: (u64, usize) = (30, 28);
/// Traces wait more than they work.
const AT_ONCE: usize = 8;

fn on_ours(trace: &Trace) -> Result<(), String> {
    replay(trace, &mut Ours::new(&Script::default()))
}

#[test]
fn live_the_kernel_does_what_our_sender_did_under_random_faults() {
    if !can_run("live_the_kernel_does_what_our_sender_did_under_random_faults") {
        return;
    }
    let outcomes = compare_all(1..1 + KERNEL.0, AT_ONCE, |_| {}).unwrap();
    let differences: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| {
            Some(format!("seed {} {}: {}", outcome.seed, outcome.setting, outcome.difference.as_ref()?))
        })
        .collect();
    assert!(outcomes.len() - differences.len() >= KERNEL.1, "{}", differences.join("\n"));
}

#[test]
fn a_trace_given_to_our_own_tcp_is_equal() {
    for seed in 1..=300 {
        let setting = Setting::of(seed);
        let difference = on_ours(&record(&setting, Duration::ZERO)).err();
        assert_eq!(difference, None, "seed {seed}: {setting}");
    }
}

#[test]
fn a_trace_that_says_something_else_is_not() {
    for seed in 1..=30 {
        let trace = record(&Setting::of(seed), Duration::ZERO);
        let last = |wanted: fn(&What) -> bool| trace.events.iter().rposition(|event| wanted(&event.what)).unwrap();
        let mut missing = trace.clone();
        missing.events.remove(last(|what| matches!(what, What::Leaves(leaving) if leaving.segment.len > 0)));
        assert!(on_ours(&missing).is_err(), "seed {seed}");
        let mut longer = trace.clone();
        if let What::State(state) = &mut longer.events[last(|what| matches!(what, What::State(_)))].what {
            state.recovery += 1;
        }
        assert!(on_ours(&longer).is_err(), "seed {seed}");
    }
}
