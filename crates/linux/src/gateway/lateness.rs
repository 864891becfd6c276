//! How late the worker is: for how long it could have run and others had the processor. What came meanwhile waited in a device, and no
//! clock of ours tells for how long each packet did; so a late gateway takes its own lateness for a queue in the link, and sends
//! less and less. A gateway that is late most of the time steps aside: packets pass in the kernel, which is not.
//!
//! Who has real-time priority is never late. Others are (`realtime = 0`, a machine with one core, no right to it).

use airtcp_core::{Duration, Instant};
use std::fs::File;
use std::io::{Read, Seek};

/// The scheduler's account of this thread: for how many ns it ran, and for how many it waited for a processor. Not every kernel
/// keeps it (`CONFIG_SCHED_INFO`); nobody is late where none does.
const ACCOUNT: &str = "/proc/thread-self/schedstat";

/// Whoever waits for five sixths of the time does more harm than good: docs/faults.md has the sweep.
const MOST_LATE: [u64; 2] = [5, 6];
/// Over so much time: a burst of other work passes sooner.
const LOOK: Duration = Duration::from_secs(1);
/// The kernel has the packets for so long, the first time.
const ASIDE: Duration = Duration::from_secs(10);
/// And for so long at most: each try that fails costs a second.
const LONGEST_ASIDE: Duration = Duration::from_secs(640);

/// What the operator is told meanwhile.
pub const ADVICE: &str = "other programs have the processor, so packets pass in the kernel for now: give the gateway real-time priority (`realtime`) or a core of its own";

/// See the module.
#[derive(Debug)]
pub struct Lateness {
    account: Option<File>,
    /// As the account said last.
    waited: Duration,
    rule: Rule,
}

impl Lateness {
    /// Of the calling thread.
    pub fn open() -> Lateness {
        let mut account = File::open(ACCOUNT).ok();
        let waited = account.as_mut().and_then(read).unwrap_or_default();
        Lateness { account, waited, rule: Rule::default() }
    }

    /// Looks how late it was since the last look. True if packets should pass in the kernel.
    pub fn is_too_late(&mut self, now: Instant) -> bool {
        let waited = self.account.as_mut().and_then(read).unwrap_or(self.waited);
        let late = waited.saturating_sub(self.waited);
        self.waited = waited;
        self.rule.note(now, late)
    }
}

/// When to step aside, and for how long.
#[derive(Debug, Default)]
struct Rule {
    /// Since when it is counted, and how much was.
    since: Option<Instant>,
    late: Duration,
    aside_until: Option<Instant>,
    aside_for: Duration,
}

impl Rule {
    /// It was so late since the last call. True if it is to step aside now.
    fn note(&mut self, now: Instant, late: Duration) -> bool {
        if self.aside_until.is_some_and(|until| now < until) {
            self.since = None;
            return true;
        }
        let Some(since) = self.since else {
            (self.since, self.late) = (Some(now), Duration::ZERO);
            return false;
        };
        self.late += late;
        let lately = now.saturating_since(since);
        if lately < LOOK {
            return false;
        }
        let [part, whole] = MOST_LATE;
        let is_much = self.late * whole >= lately * part;
        (self.since, self.late) = (Some(now), Duration::ZERO);
        if is_much {
            // A try that ends sooner than the pause before it was in vain.
            let is_again = self.aside_until.is_some_and(|until| now < until + self.aside_for);
            self.aside_for = if is_again { (self.aside_for * 2).min(LONGEST_ASIDE) } else { ASIDE };
            self.aside_until = Some(now + self.aside_for);
        }
        is_much
    }
}

fn read(account: &mut File) -> Option<Duration> {
    let mut text = [0; 64];
    account.rewind().ok()?;
    let len = account.read(&mut text).ok()?;
    parse(&text[..len])
}

fn parse(text: &[u8]) -> Option<Duration> {
    let waited = std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?;
    waited.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;
    use std::sync::atomic::{AtomicBool, Ordering};

    const BEAT: u64 = 100;

    /// Beats until `to` ms, late by so many ms in each: when it stepped aside and when it came back.
    fn changes(rule: &mut Rule, from: u64, to: u64, late: u64) -> Vec<u64> {
        let (mut before, mut changes) = (false, Vec::new());
        for ms in (from..to).step_by(BEAT as usize) {
            let is_aside = rule.note(Instant::from_nanos(ms * 1_000_000), Duration::from_millis(late));
            if is_aside != before {
                changes.push(ms);
            }
            before = is_aside;
        }
        changes
    }

    #[test]
    fn who_waits_for_five_sixths_of_a_second_steps_aside_and_for_twice_as_long_each_time() {
        let mut rule = Rule::default();
        assert_eq!(changes(&mut rule, 0, 60_000, 83), [0; 0]);
        assert_eq!(changes(&mut rule, 60_000, 120_000, 84)[..5], [61_000, 71_000, 72_000, 92_000, 93_000]);
        let longest = changes(&mut Rule::default(), 0, 4_000_000, 100);
        assert_eq!(longest.chunks_exact(2).map(|of| of[1] - of[0]).max(), Some(640_000));
    }

    #[test]
    fn who_did_well_for_as_long_as_it_was_aside_begins_anew() {
        let mut rule = Rule::default();
        assert_eq!(changes(&mut rule, 0, 35_000, 90), [1000, 11_000, 12_000, 32_000, 33_000][..5]);
        let mut rule = Rule::default();
        assert_eq!(changes(&mut rule, 0, 11_000, 90), [1000]);
        assert_eq!(changes(&mut rule, 11_000, 22_000, 0), [0; 0]);
        assert_eq!(changes(&mut rule, 22_000, 40_000, 90), [23_000, 33_000, 34_000]);
    }

    #[test]
    fn the_second_number_is_what_was_waited() {
        assert_eq!(parse(b"18595 11546947 2\n"), Some(Duration::from_nanos(11_546_947)));
        assert_eq!([&b""[..], b"7", b"7 x 2"].map(parse), [None; 3]);
    }

    #[test]
    fn a_thread_that_others_keep_from_running_is_seen_to_wait() {
        let waited = || File::open(ACCOUNT).ok().as_mut().and_then(read);
        let Some(before) = waited() else {
            return airtcp_test_support::skip("this kernel keeps no account of waiting");
        };
        let done = AtomicBool::new(false);
        let others = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..others {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let begun = clock::now();
            let is_late = || waited().is_some_and(|waited| waited > before + Duration::from_millis(1));
            while !is_late() && clock::now() < begun + Duration::from_secs(20) {}
            done.store(true, Ordering::Relaxed);
            assert!(is_late(), "{others} others ran all the time");
        });
    }
}
