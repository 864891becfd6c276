//! Steps that a file lists: `["20Mbit", "5Mbit from 10s"]`, or in one text `"20Mbit, 5Mbit from 10s"`.

use super::course::Pieces;
use super::table::{Listed, Rows, mean};
use airtcp_core::{Duration, Value, ValueError, ValueType};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

/// Values, each from a time on. The first one is from the start of the run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T> {
    rows: Rows<T>,
}

impl<T: Clone + Debug + Send + Sync + 'static> Steps<T> {
    /// One value that stays.
    pub fn constant(value: T) -> Self {
        Steps { rows: Arc::from([(Duration::ZERO, value)]) }
    }

    /// Every value with the time from which it holds.
    pub fn rows(&self) -> &[(Duration, T)] {
        &self.rows
    }

    /// Whether they can be repeated each `every`.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub(crate) fn check(&self, every: Option<Duration>) -> Result<(), String> {
        let last = self.rows.last().map(|(begin, _)| *begin).unwrap_or_default();
        match every {
            Some(every) if every <= last => {
                Err(format!("the last step begins at {last}; 'every' must be longer, or that step never comes"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn mean(&self, every: Option<Duration>, weigh: impl Fn(&T) -> u64) -> u64 {
        mean(&self.rows, every, weigh)
    }

    pub(crate) fn pieces(&self, every: Option<Duration>) -> Box<dyn Pieces<T>> {
        Box::new(Listed::new(self.rows.clone(), every, Duration::ZERO, T::clone))
    }
}

impl<T: ValueType> ValueType for Steps<T> {
    const KIND: &'static str = "list of steps, [\"20Mbit\", \"5Mbit from 10s\"]";

    fn read(value: &Value) -> Result<Self, ValueError> {
        let texts: Vec<&str> = match value {
            Value::List(steps) => steps.iter().map(Value::scalar).collect::<Result<_, _>>()?,
            _ => value.scalar()?.split(',').collect(),
        };
        let mut rows: Vec<(Duration, T)> = Vec::new();
        for text in texts {
            let row = step(text.trim())?;
            match rows.last() {
                None if !row.0.is_zero() => return Err(format!("the first step, '{text}', is from 0s on").into()),
                Some((before, _)) if row.0 <= *before => {
                    return Err(format!("'{}' is not later than the step before it", text.trim()).into());
                }
                _ => rows.push(row),
            }
        }
        if rows.is_empty() {
            return Err("there is no step; write for example [\"20Mbit\", \"5Mbit from 10s\"]".to_string().into());
        }
        Ok(Steps { rows: rows.into() })
    }

    fn write(&self) -> String {
        let text = |(from, value): &(Duration, T)| match value.write() {
            value if from.is_zero() => value,
            value => format!("{value} from {from}"),
        };
        self.rows.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

/// `5Mbit from 10s`.
fn step<T: ValueType>(text: &str) -> Result<(Duration, T), ValueError> {
    let (value, from) = match text.split_once(" from ") {
        Some((value, from)) => (value, Duration::read(&from.trim().into())?),
        None => (text, Duration::ZERO),
    };
    Ok((from, T::read(&value.trim().into())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rate;

    fn read(text: &str) -> Result<Steps<Rate>, String> {
        Steps::read(&text.into()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_and_a_text_say_the_same_and_read_back() {
        let list = ["20Mbit", "5Mbit from 10s", "20Mbit from 20s"].map(|text| Value::Text(text.into()));
        let steps = Steps::<Rate>::read(&Value::List(list.into())).unwrap();
        assert_eq!(steps.write(), "20Mbit, 5Mbit from 10s, 20Mbit from 20s");
        assert_eq!(read(&steps.write()), Ok(steps));
    }

    #[test]
    fn steps_that_do_not_follow_each_other_are_refused() {
        assert!(read("20Mbit from 5s").unwrap_err().contains("from 0s on"));
        assert!(read("20Mbit, 5Mbit").unwrap_err().contains("not later"));
        assert!(read("20Mbit, 5Mbit from 3s, 6Mbit from 2s").unwrap_err().contains("'6Mbit from 2s'"));
        assert!(read("20Mbit, 5Mbit from soon").is_err());
        assert!(Steps::<Rate>::read(&Value::List(Vec::new())).is_err());
        assert!(read("20Mbit, 5Mbit from 10s").unwrap().check(Some(Duration::from_secs(10))).is_err());
        assert!(read("20Mbit, 5Mbit from 10s").unwrap().check(Some(Duration::from_secs(11))).is_ok());
    }
}
