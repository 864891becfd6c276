//! A formula with its inputs, as a file names them: in an `analytic` check, or as a curve of a figure.

use super::{FORMULAS, Formula, find, input};
use crate::scenario::{Keys, ScenarioError};

/// See the module.
#[derive(Clone, Debug)]
pub struct Call {
    /// What computes.
    pub formula: &'static Formula,
    /// In the order that the formula takes them.
    inputs: Vec<Input>,
    /// The inputs for people: `window 56, packet 1500B`.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Input {
    Number(f64),
    /// Follows the axis to the right.
    X,
}

/// Stands for the value to the right, where a formula is drawn.
pub const X: &str = "x";

impl Call {
    /// Reads `formula` and `inputs`; with `is_drawn` an input may be `"x"`.
    ///
    /// # Errors
    /// No such formula; inputs that are missing, unknown or no numbers.
    pub fn read(keys: &Keys<'_>, is_drawn: bool) -> Result<Call, ScenarioError> {
        let entry = keys.required("formula", "formula = \"bandwidth_delay_packets\"")?;
        let name = keys.scalar(entry, "text")?;
        let formula = find(&name).ok_or_else(|| {
            let choices = FORMULAS.iter().map(|formula| formula.name.to_owned()).collect();
            keys.no_such("formula", &name, "formula", &entry.node.origin, choices)
        })?;
        let example = formula.inputs.iter().map(|(name, example)| format!("{name} = {example}"));
        let example = format!("inputs = {{ {} }}", example.collect::<Vec<_>>().join(", "));
        let entry = keys.required("inputs", &example)?;
        let table = keys.below(entry, &keys.show)?;
        let names: Vec<&str> = formula.inputs.iter().map(|(name, _)| *name).collect();
        table.only(&names)?;
        let (mut inputs, mut words) = (Vec::new(), Vec::new());
        for (name, example) in formula.inputs {
            let entry = table.required(name, &format!("{name} = {example}"))?;
            let text = table.scalar(entry, "a number with its unit")?;
            inputs.push(match input(&text) {
                Some(number) => Input::Number(number),
                None if is_drawn && text == X => Input::X,
                None => return Err(table.bad(entry, format!("'{text}' is not a number"))),
            });
            words.push(format!("{name} {text}"));
        }
        Ok(Call { formula, inputs, words: words.join(", ") })
    }

    /// What the formula gives where `x` stands to the right, in base units; an input that is no number there gives none.
    pub fn at(&self, x: Option<f64>) -> Option<f64> {
        let number = |input: &Input| match input {
            Input::Number(number) => Some(*number),
            Input::X => x,
        };
        let inputs: Option<Vec<f64>> = self.inputs.iter().map(number).collect();
        inputs.map(|inputs| (self.formula.compute)(&inputs)).filter(|value| value.is_finite())
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        self.formula.name == other.formula.name && self.inputs == other.inputs && self.words == other.words
    }
}
