//! How many claims came out how, by what their verdicts rest on.

use super::Basis;

/// Counts of verdicts, kept apart by what they rest on.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<(Basis, String)>);

impl Tally {
    /// Counts one more claim: what its verdict rests on, and the verdict's word.
    pub fn add(&mut self, basis: Basis, word: &str) {
        self.0.push((basis, word.to_owned()));
    }

    /// How many claims there are of this basis.
    pub fn claims(&self, basis: Basis) -> usize {
        self.0.iter().filter(|(other, _)| *other == basis).count()
    }

    /// How many of these have this verdict.
    pub fn count(&self, basis: Basis, word: &str) -> usize {
        self.0.iter().filter(|(other, verdict)| *other == basis && verdict == word).count()
    }

    /// In one sentence: what holds, by its basis, and what else there is.
    pub fn sentence(&self) -> String {
        let mut parts = Vec::new();
        for (basis, words) in [(Basis::Measured, "measured"), (Basis::Analytic, "analytic"), (Basis::Test, "tested")] {
            let all = self.claims(basis);
            if all > 0 {
                parts.push(format!("{words} {} of {all}", self.count(basis, "holds")));
            }
        }
        let holding = format!("claims that hold: {}", if parts.is_empty() { "none".into() } else { parts.join(", ") });
        let mut rest = vec![holding];
        let printed = self.count(Basis::Printed, "ours beside theirs");
        if printed > 0 {
            rest.push(format!("printed numbers with ours beside them: {printed}"));
        }
        for word in ["holds only with", "does not hold", "undecided", "not judged", "not checkable", "not run"] {
            let all = self.0.iter().filter(|(_, verdict)| verdict == word).count();
            if all > 0 {
                rest.push(format!("{word}: {all}"));
            }
        }
        rest.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_counted_by_what_it_rests_on() {
        let mut tally = Tally::default();
        let rows = [
            (Basis::Measured, "holds"),
            (Basis::Measured, "does not hold"),
            (Basis::Measured, "holds only with"),
            (Basis::Test, "holds"),
            (Basis::Printed, "ours beside theirs"),
            (Basis::Printed, "not judged"),
            (Basis::Nothing, "not checkable"),
        ];
        rows.iter().for_each(|(basis, word)| tally.add(*basis, word));
        let expected = "claims that hold: measured 1 of 3, tested 1 of 1; printed numbers with ours beside them: 1; \
            holds only with: 1; does not hold: 1; not judged: 1; not checkable: 1";
        assert_eq!(tally.sentence(), expected);
    }
}
