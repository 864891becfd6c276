//! Random traces of our sender, given to our own TCP and to the kernel's.

mod live;

use airtcp_core::Duration;
use airtcp_drill::random::{Host, Setting, Trace, What, compare_all, record, replay, retrace};
use airtcp_drill::{Ours, Script};
use live::can_run;

/// Traces given to the kernel by every test run, and how many of them are equal at least.
const KERNEL: (u64, usize) = (30, 28);
/// Traces wait more than they work.
const AT_ONCE: usize = 8;

const LINUX: Host = Host { sending: Duration::ZERO, jiffy: Some(Duration::from_millis(4)) };

fn on_ours(trace: &Trace, host: Host) -> Result<(), String> {
    let mut ours = Ours::new(&Script::default()).ticking(host.jiffy).one_by_one();
    replay(trace, &mut ours, &|trace, _| trace.clone())
}

#[test]
fn live_the_kernel_does_what_our_sender_did_under_random_faults() {
    if !can_run() {
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
        for host in [Host::EXACT, LINUX] {
            let difference = on_ours(&record(&setting, host), host).err();
            assert_eq!(difference, None, "seed {seed}: {setting}");
        }
    }
}

#[test]
fn asked_again_with_the_times_of_the_trace_our_sender_does_the_same() {
    for seed in 1..=300 {
        let setting = Setting::of(seed);
        let trace = record(&setting, LINUX);
        let inputs = trace.events.iter().filter(|event| event.what.is_input());
        let times: Vec<Duration> = inputs.map(|event| event.at).collect();
        let again = retrace(&setting, LINUX, &trace, &times);
        let differs = (0..trace.events.len()).find(|n| {
            let text = |trace: &Trace| trace.events.get(*n).map(|event| format!("{event:?}"));
            text(&trace) != text(&again)
        });
        assert_eq!(differs, None, "seed {seed}: {setting}");
    }
}

#[test]
fn a_trace_that_says_something_else_is_not() {
    for seed in 1..=30 {
        let trace = record(&Setting::of(seed), Host::EXACT);
        let last = |wanted: fn(&What) -> bool| trace.events.iter().rposition(|event| wanted(&event.what)).unwrap();
        let mut missing = trace.clone();
        missing.events.remove(last(|what| matches!(what, What::Leaves(leaving) if leaving.segment.len > 0)));
        assert!(on_ours(&missing, Host::EXACT).is_err(), "seed {seed}");
        let mut longer = trace.clone();
        if let What::State(state) = &mut longer.events[last(|what| matches!(what, What::State(_)))].what {
            state.recovery += 1;
        }
        assert!(on_ours(&longer, Host::EXACT).is_err(), "seed {seed}");
    }
}
