//! Progress, failures as they come, and the closing line.

use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds between two lines of progress where no terminal shows a bar.
const LINE_EVERY: u64 = 60;

/// Tells how a long run goes: on a terminal by a bar, else by a line now and then on stderr.
pub struct Report {
    bar: ProgressBar,
    count: u64,
    failures: AtomicU64,
    lines: Lines,
}

impl Report {
    /// A report on `count` seeds.
    pub fn new(count: u64) -> Self {
        let bar = ProgressBar::new(count);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} seeds, {msg}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message("no failure");
        Report { bar, count, failures: AtomicU64::new(0), lines: Lines::default() }
    }

    /// A seed is done.
    pub fn step(&self) {
        self.bar.inc(1);
        let seconds = self.bar.elapsed().as_secs();
        if self.bar.is_hidden() && self.lines.is_due(seconds) {
            let (done, failures) = (self.bar.position(), self.failures.load(Ordering::Relaxed));
            eprintln!("swarm: {done} of {} seeds, {failures} failures, {seconds} s", self.count);
        }
    }

    /// A seed failed: the line that reproduces it, and why.
    pub fn fail(&self, seed: u64, what: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.bar.set_message("with failures");
        self.bar.suspend(|| println!("cargo run -p airtcp-swarm --release -- --seed {seed}   # {what}"));
    }

    /// Everything is done; how many seeds failed.
    pub fn finish(self) -> u64 {
        let (seconds, failures) = (self.bar.elapsed().as_secs(), self.failures.into_inner());
        self.bar.finish_and_clear();
        println!("{} seeds, {failures} failures, {seconds} s", self.count);
        failures
    }
}

/// When lines of progress are written.
#[derive(Default)]
struct Lines {
    /// Second of the last one.
    last: AtomicU64,
}

impl Lines {
    /// True for one of all threads that ask, every [`LINE_EVERY`] seconds.
    fn is_due(&self, second: u64) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        let swap = || self.last.compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed);
        second >= last + LINE_EVERY && swap().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_once_a_minute_however_often_it_is_asked_for() {
        let lines = Lines::default();
        let due: Vec<u64> = (0..200).flat_map(|second| [second; 3]).filter(|second| lines.is_due(*second)).collect();
        assert_eq!(due, [60, 120, 180]);
    }

    #[test]
    fn failures_are_counted() {
        let report = Report::new(2);
        report.step();
        report.fail(7, "a bug");
        report.step();
        assert_eq!(report.finish(), 1);
    }
}
