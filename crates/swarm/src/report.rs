//! Progress on a terminal, failures as they come, and the closing line.

use indicatif::{ProgressBar, ProgressStyle};

/// Tells how a long run goes.
pub struct Report {
    bar: ProgressBar,
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
        Report { bar }
    }

    /// A seed is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// A seed failed: the line that reproduces it, and why.
    pub fn fail(&self, seed: u64, what: &str) {
        self.bar.set_message("with failures");
        self.bar.suspend(|| println!("cargo run -p airtcp-swarm --release -- --seed {seed}   # {what}"));
    }

    /// Everything is done.
    pub fn finish(self, count: u64, failures: usize) {
        let seconds = self.bar.elapsed().as_secs();
        self.bar.finish_and_clear();
        println!("{count} seeds, {failures} failures, {seconds} s");
    }
}
