//! The delay of a link.

use super::course::{Course, Pieces};
use super::handover::DelayHandover;
use super::steps::Steps;
use super::trace::Trace;
use crate::table::{self, kinds};
use airtcp_core::{Duration, Rng, Value, ValueError, ValueType, parameters};
use alloc::boxed::Box;
use alloc::string::String;

/// Time from the end of a packet's transmission to its arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkDelay {
    /// Always the same.
    Constant(Duration),
    /// It changes while the link runs; packets stay in order.
    Varying(Box<VaryingDelay>),
}

kinds! {
    /// Where a delay that changes comes from.
    pub enum VaryingDelay {
        /// Recorded: columns of seconds and milliseconds.
        Trace(Trace) = "trace";
        /// Listed; a list of steps alone means these.
        Steps(DelaySteps) = "steps";
        /// Drawn anew at each handover, as a satellite link has it.
        Handover(DelayHandover) = "handover";
    }
}

parameters! {
    /// Steps of a delay.
    pub struct DelaySteps {
        /// The delays, each from a time on.
        pub steps: Steps<Duration> = Steps::constant(Duration::from_millis(25)), "ours";
        /// After which they begin again; the last one stays if auto.
        pub every: Option<Duration> = None, "ours";
    }
}

impl DelaySteps {
    fn check(&self) -> Result<(), String> {
        self.steps.check(self.every)
    }
}

impl LinkDelay {
    /// The delay, or one in the middle of those that it has.
    pub fn nominal(&self) -> Duration {
        match self {
            LinkDelay::Constant(delay) => *delay,
            LinkDelay::Varying(varying) => Duration::from_nanos(match &**varying {
                VaryingDelay::Trace(trace) => trace.mean(),
                VaryingDelay::Steps(steps) => steps.steps.mean(steps.every, |delay| delay.as_nanos()),
                VaryingDelay::Handover(DelayHandover { low, high, .. }) => (low.as_nanos() + high.as_nanos()) / 2,
            }),
        }
    }

    /// The longest that it ever is.
    pub fn longest(&self) -> Duration {
        match self {
            LinkDelay::Constant(delay) => *delay,
            LinkDelay::Varying(varying) => match &**varying {
                VaryingDelay::Trace(trace) => Duration::from_nanos(trace.largest()),
                VaryingDelay::Steps(steps) => {
                    steps.steps.rows().iter().map(|(_, delay)| *delay).max().unwrap_or_default()
                }
                VaryingDelay::Handover(handover) => handover.high,
            },
        }
    }

    /// Whether it changes while the link runs.
    pub fn is_varying(&self) -> bool {
        matches!(self, LinkDelay::Varying(_))
    }

    /// The trace that has to be loaded.
    pub fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            LinkDelay::Varying(varying) => match &mut **varying {
                VaryingDelay::Trace(trace) => Some(trace),
                _ => None,
            },
            LinkDelay::Constant(_) => None,
        }
    }

    /// At work on the link called `name`, if it varies.
    pub(crate) fn course(&self, seed: u64, name: &str) -> Option<DelayCourse> {
        let LinkDelay::Varying(varying) = self else { return None };
        let pieces: Box<dyn Pieces<Duration>> = match &**varying {
            VaryingDelay::Trace(trace) => trace.pieces(),
            VaryingDelay::Steps(steps) => steps.steps.pieces(steps.every),
            VaryingDelay::Handover(handover) => {
                Box::new(handover.start(Rng::derive(seed, &alloc::format!("{name}/delay"))))
            }
        };
        Some(Course::new(pieces))
    }
}

/// A delay that varies, at work.
pub(crate) type DelayCourse = Course<Duration>;

impl Default for LinkDelay {
    fn default() -> Self {
        LinkDelay::Constant(Duration::ZERO)
    }
}

impl From<Duration> for LinkDelay {
    fn from(delay: Duration) -> Self {
        LinkDelay::Constant(delay)
    }
}

/// A delay alone stays; several are steps.
impl ValueType for LinkDelay {
    const KIND: &'static str =
        "duration, list of steps or table, \"25ms\", [\"25ms\", \"60ms from 10s\"] or { trace = \"delays.csv\" }";
    fn read(value: &Value) -> Result<Self, ValueError> {
        let steps = |value: &Value| -> Result<VaryingDelay, ValueError> {
            Ok(VaryingDelay::Steps(DelaySteps { steps: Steps::read(value)?, every: None }))
        };
        let varying = match value {
            Value::Table(_) => table::read(value)?,
            Value::List(_) => steps(value)?,
            _ if value.scalar()?.contains(',') => steps(value)?,
            _ => return Duration::read(value).map(LinkDelay::Constant),
        };
        Ok(LinkDelay::Varying(Box::new(varying)))
    }
    fn write(&self) -> String {
        match self {
            LinkDelay::Constant(delay) => delay.write(),
            LinkDelay::Varying(varying) => match &**varying {
                VaryingDelay::Steps(DelaySteps { steps, every: None }) => steps.write(),
                varying => table::write(varying),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Instant;

    #[test]
    fn every_form_reads_back_and_has_its_delays() {
        let read = |text: &str| LinkDelay::read(&text.into()).unwrap();
        let ms = Duration::from_millis;
        for (text, nominal, longest) in [
            ("25ms", ms(25), ms(25)),
            ("20ms, 60ms from 10s", ms(60), ms(60)),
            ("{ kind = \"steps\", steps = \"20ms, 60ms from 10s\", every = \"20s\" }", ms(40), ms(60)),
            ("{ kind = \"handover\", low = \"20ms\", high = \"40ms\", every = \"15s\" }", ms(30), ms(40)),
        ] {
            let delay = read(text);
            assert_eq!((delay.write(), delay.nominal(), delay.longest()), (text.into(), nominal, longest));
        }
        let mut course = read("20ms, 60ms from 10s").course(1, "links.air").unwrap();
        assert_eq!(*course.at(Instant::ZERO + Duration::from_secs(9)).0, ms(20));
        assert_eq!(*course.at(Instant::ZERO + Duration::from_secs(10)).0, ms(60));
        assert!(read("25ms").course(1, "links.air").is_none());
    }
}
