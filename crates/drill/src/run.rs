//! Plays a script against a stack and stops at the first difference.

use crate::script::{
    Action, Assertion, Call, OptionSpec, Outcome, Script, SegmentSpec, SegmentSpecOptions, Step, When,
};
use crate::stack::{Addresses, CLIENT_PORT, SERVER_PORT, Stack};
use crate::wire::Wire;
use airtcp_core::{Duration, Packet, TcpFlags};
use std::collections::VecDeque;

/// Where a stack does something else than the script says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {stack}: {message}")]
pub struct Difference {
    /// Line of the script.
    pub line: usize,
    /// The stack.
    pub stack: &'static str,
    /// What was expected and what happened.
    pub message: String,
    /// By so much, at most, the script's own calls and segments came later than they should have until then.
    pub lateness: Duration,
}

struct Player<'a> {
    stack: &'a mut dyn Stack,
    wire: Wire,
    /// Segments that left before the script came to them.
    sent: VecDeque<(Duration, Packet)>,
    /// Time of the step before.
    base: Duration,
    lateness: Duration,
}

/// Plays `script` against `stack`.
///
/// # Errors
/// The first difference.
pub fn play(script: &Script, stack: &mut dyn Stack) -> Result<(), Difference> {
    let connects = script.steps.iter().any(|step| matches!(step.action, Action::Call(Call::Connect, _)));
    let ports = if connects { (CLIENT_PORT, SERVER_PORT) } else { (SERVER_PORT, CLIENT_PORT) };
    let name = stack.name();
    let mut player = Player {
        stack,
        wire: Wire::new(Addresses::new(script.is_ipv6), ports),
        sent: VecDeque::new(),
        base: Duration::ZERO,
        lateness: Duration::ZERO,
    };
    let last = script.steps.last().map_or(0, |step| step.line);
    let steps = script.steps.iter().try_for_each(|step| player.step(step).map_err(|message| (step.line, message)));
    let result = steps.and_then(|()| player.finish().map_err(|message| (last, message)));
    result.map_err(|(line, message)| Difference { line, stack: name, message, lateness: player.lateness })
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let (from, to) = match step.when {
            When::After(delay) => (self.base + delay, self.base + delay),
            When::At(at) => (at, at),
            When::Between(from, to) => (self.base + from, self.base + to),
            When::Any => (Duration::ZERO, self.base + LONGEST_WAIT),
        };
        if let Action::Expect(expected) = &step.action {
            let at = self.expect(expected, from, to)?;
            let is_exact = matches!(step.when, When::After(_) | When::At(_));
            self.base = if is_exact { from } else { at };
            return Ok(());
        }
        while let Some(sent) = self.stack.wait(from)? {
            self.sent.push_back(sent);
        }
        self.base = from;
        self.lateness = self.lateness.max(self.stack.now().saturating_sub(from));
        match &step.action {
            Action::Settings(pairs) => pairs.iter().try_for_each(|(name, value)| self.stack.set(name, value)),
            Action::Call(call, outcome) => self.call(call, outcome),
            Action::Inject(segment) => {
                let packet = self.wire.build(segment)?;
                self.stack.inject(packet)
            }
            Action::Assert(assertions) => assertions.iter().try_for_each(|assertion| self.check(assertion)),
            Action::Expect(_) => Ok(()),
        }
    }

    fn call(&mut self, call: &Call, outcome: &Outcome) -> Result<(), String> {
        let result = self.stack.call(call);
        let agrees = match (&result, outcome) {
            (Ok(value), Outcome::Value(expected)) => {
                value == expected || !matches!(call, Call::Write(_) | Call::Read(_))
            }
            (Err(errno), Outcome::Error(expected)) => errno == expected,
            // What packetdrill's scripts do for a socket that blocks.
            (Err(errno), Outcome::Value(0)) => *call == Call::Connect && errno == "EINPROGRESS",
            _ => false,
        };
        if agrees { Ok(()) } else { Err(format!("{call:?} returns {result:?}, expected {outcome:?}")) }
    }

    fn check(&mut self, assertion: &Assertion) -> Result<(), String> {
        let value = self.stack.field(&assertion.field)?;
        if assertion.holds(value) {
            return Ok(());
        }
        Err(format!("{} is {value}, expected {:?} {}", assertion.field, assertion.comparison, assertion.value))
    }

    /// Takes the next segment that left; it must be `expected`, between `from` and `to`.
    fn expect(&mut self, expected: &SegmentSpec, from: Duration, to: Duration) -> Result<Duration, String> {
        let (early, late) = self.stack.tolerance(to.saturating_sub(self.base));
        let latest = to + late;
        let sent = match self.sent.pop_front() {
            Some(sent) => Some(sent),
            None => self.stack.wait(latest)?,
        };
        let Some((at, packet)) = sent else {
            return Err(format!("nothing was sent until {}, expected {expected}", seconds(latest)));
        };
        let actual = self.wire.describe(&packet, expected).ok_or("a segment of another connection was sent")?;
        if !self.matches(expected, &actual) {
            return Err(format!("sent {actual} at {}, expected {expected}", seconds(at)));
        }
        if at < from.saturating_sub(early) || at > latest {
            let range = if from == to { seconds(from) } else { format!("{} to {}", seconds(from), seconds(to)) };
            return Err(format!("{actual} was sent at {}, expected at {range}", seconds(at)));
        }
        Ok(at)
    }

    fn matches(&self, expected: &SegmentSpec, actual: &SegmentSpec) -> bool {
        // PSH is advice (RFC 9293 section 3.9.1.2), and how stacks cut bursts shows in it.
        let flags = |spec: &SegmentSpec| spec.flags.without(TcpFlags::PSH);
        flags(expected) == flags(actual)
            && (expected.start, expected.len, expected.ack) == (actual.start, actual.len, actual.ack)
            && expected.ecn.is_none_or(|ecn| actual.ecn == Some(ecn))
            && expected.window.is_none_or(|window| actual.window == Some(window))
            && self.options_match(&expected.options, &actual.options)
    }

    fn options_match(&self, expected: &SegmentSpecOptions, actual: &SegmentSpecOptions) -> bool {
        let (SegmentSpecOptions::These(expected), SegmentSpecOptions::These(actual)) = (expected, actual) else {
            return true;
        };
        let (_, late) = self.stack.tolerance(Duration::ZERO);
        let is_like = |one: &OptionSpec, other: &OptionSpec| match (one, other) {
            (OptionSpec::Timestamps(value, echo), OptionSpec::Timestamps(actual, actual_echo)) => {
                echo == actual_echo && u64::from(actual.abs_diff(*value)) <= late.as_millis()
            }
            _ => one == other,
        };
        // Their order is the stack's own.
        expected.len() == actual.len() && expected.iter().all(|one| actual.iter().any(|other| is_like(one, other)))
    }

    /// Nothing may have left that the script does not know.
    fn finish(&mut self) -> Result<(), String> {
        let until = self.base + self.stack.tolerance(Duration::ZERO).1;
        let stray = match self.sent.pop_front() {
            Some(sent) => Some(sent),
            None => self.stack.wait(until)?,
        };
        let Some((at, packet)) = stray else { return Ok(()) };
        Err(format!("{} was sent at {}, and the script ends without it", self.wire.name(&packet), seconds(at)))
    }
}

/// A segment expected at any time comes within so long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

pub(crate) fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_micros() / 1_000_000, time.as_micros() % 1_000_000)
}
