//! What was measured against what is asked.

use std::fmt::Write;

/// How much better than its target a value must be, so that noise does not decide. Where the median run of a row takes longer than so many
/// times the fastest there was more noise than that.
const TO_SPARE: f64 = 1.1;

/// Verdicts, in the order in which they were given.
#[derive(Default)]
pub struct Verdicts {
    /// The race that they are about.
    race: String,
    all: Vec<Verdict>,
    /// Of each row that was timed: see [`crate::race::Speed::spread`].
    spreads: Vec<f64>,
}

struct Verdict {
    race: String,
    what: String,
    value: f64,
    /// "at least 6"
    target: String,
    holds: bool,
}

impl Verdicts {
    /// What follows is about this race.
    pub fn of(&mut self, race: &str) {
        println!("{race}");
        race.clone_into(&mut self.race);
    }

    /// Judges whether `value` is above `target` with a tenth to spare.
    pub fn at_least(&mut self, what: &str, value: f64, target: f64) {
        self.give(what, value, format!("at least {target}"), value >= target * TO_SPARE);
    }

    /// The same of what must be below.
    pub fn at_most(&mut self, what: &str, value: f64, target: f64) {
        self.give(what, value, format!("at most {target}"), value * TO_SPARE <= target);
    }

    /// Judges a value that has no tenth to spare by its nature: a part of a whole, or what must not rise.
    pub fn within(&mut self, what: &str, value: f64, range: std::ops::RangeInclusive<f64>) {
        let target = match (*range.start(), *range.end()) {
            (low, f64::INFINITY) => format!("{low} or more"),
            (_, high) => format!("{high} or less"),
        };
        self.give(what, value, target, range.contains(&value));
    }

    /// What cannot be judged has failed.
    pub fn fail(&mut self, why: &str) {
        println!("FAIL  {why}");
        self.all.push(Verdict {
            race: self.race.clone(),
            what: why.to_owned(),
            value: f64::NAN,
            target: String::new(),
            holds: false,
        });
    }

    fn give(&mut self, what: &str, value: f64, target: String, holds: bool) {
        println!("{}  {what:<58}  {value:8.2}  {target}", if holds { "PASS" } else { "FAIL" });
        self.all.push(Verdict { race: self.race.clone(), what: what.to_owned(), value, target, holds });
    }

    /// The median run of a row took so many times as long as the fastest.
    pub fn note_spread(&mut self, spread: f64) {
        self.spreads.push(spread);
    }

    /// Whether the machine was quiet, as a sentence; nothing if nothing was timed.
    pub fn quietness(&self) -> Option<String> {
        let rows = self.spreads.len();
        let most = self.spreads.iter().copied().max_by(f64::total_cmp)?;
        let noisy = self.spreads.iter().filter(|spread| **spread > TO_SPARE).count();
        let was = if noisy == 0 { "quiet" } else { "**not quiet**, and ratios of times are not to be trusted" };
        Some(format!(
            "The machine was {was}: in {noisy} of {rows} rows the median run took more than {TO_SPARE} times as long as \
             the fastest, at most {most:.2} times."
        ))
    }

    /// Whether every target was met.
    pub fn all_hold(&self) -> bool {
        self.all.iter().all(|verdict| verdict.holds)
    }

    /// As a table of Markdown.
    pub fn table(&self) -> String {
        let mut table = "| race | what | measured | asked | |\n|---|---|---:|---|---|\n".to_owned();
        let mut last = "";
        for Verdict { race, what, value, target, holds } in &self.all {
            let (race_once, word) = (if race == last { "" } else { race }, if *holds { "holds" } else { "**no**" });
            let value = if value.is_nan() { String::new() } else { format!("{value:.2}") };
            let _ = writeln!(table, "| {race_once} | {what} | {value} | {target} | {word} |");
            last = race;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_with_a_tenth_to_spare_and_one_that_is_not_fails_all() {
        let judged = |judge: &dyn Fn(&mut Verdicts)| {
            let mut verdicts = Verdicts::default();
            verdicts.of("race");
            judge(&mut verdicts);
            verdicts
        };
        assert!(judged(&|all| all.at_least("x", 6.7, 6.0)).all_hold());
        assert!(!judged(&|all| all.at_least("x", 6.5, 6.0)).all_hold());
        assert!(judged(&|all| all.at_most("x", 9.0, 10.0)).all_hold());
        assert!(!judged(&|all| all.at_most("x", 9.5, 10.0)).all_hold());
        assert!(judged(&|all| all.within("x", 1.04, 0.0..=1.05)).all_hold());
        assert!(!judged(&|all| all.within("x", 0.7, 0.75..=f64::INFINITY)).all_hold());
        assert!(!judged(&|all| all.fail("another network")).all_hold());
        let both = judged(&|all| {
            all.at_least("x ns-2", 7.0, 6.0);
            all.at_most("time", 2.0, 1.0);
        });
        let rows = "| race | x ns-2 | 7.00 | at least 6 | holds |\n|  | time | 2.00 | at most 1 | **no** |\n";
        assert!(both.table().ends_with(rows), "{}", both.table());
    }

    #[test]
    fn a_machine_is_quiet_if_no_row_was_much_slower_at_times() {
        let said = |spreads: &[f64]| {
            let mut verdicts = Verdicts::default();
            spreads.iter().for_each(|spread| verdicts.note_spread(*spread));
            verdicts.quietness()
        };
        assert_eq!(said(&[]), None);
        assert!(said(&[1.0, 1.08]).unwrap().starts_with("The machine was quiet: in 0 of 2 rows"));
        let noisy = said(&[1.0, 1.3, 1.02]).unwrap();
        assert!(noisy.contains("**not quiet**") && noisy.contains("in 1 of 3 rows") && noisy.contains("1.30 times"));
    }
}
