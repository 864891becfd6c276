//! Plays a script against a stack and stops at the first difference.

use crate::script::{
    Action, Assertion, Call, OptionSpec, Outcome, Script, SegmentSpec, SegmentSpecOptions, Step, When,
};
use crate::stack::{Addresses, CLIENT_PORT, SERVER_PORT, Stack};
use airtcp_core::{Duration, Packet, SackBlocks, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use bytes::Bytes;
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
}

/// The script's own first sequence number; it wraps within the first segments.
const REMOTE_FIRST: SeqNum = SeqNum(u32::MAX - 3000);

struct Player<'a> {
    stack: &'a mut dyn Stack,
    addresses: Addresses,
    /// Ports of the stack and of the script.
    ports: (u16, u16),
    /// Segments that left before the script came to them.
    sent: VecDeque<(Duration, Packet)>,
    /// Time of the step before.
    base: Duration,
    /// The stack's first sequence number, once seen.
    local_first: Option<SeqNum>,
    /// The stack's timestamp clock beyond the script's, once seen.
    clock_offset: Option<u32>,
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
        addresses: Addresses::new(script.is_ipv6),
        ports,
        sent: VecDeque::new(),
        base: Duration::ZERO,
        local_first: None,
        clock_offset: None,
    };
    let difference = |line| move |message| Difference { line, stack: name, message };
    for step in &script.steps {
        player.step(step).map_err(difference(step.line))?;
    }
    let last = script.steps.last().map_or(0, |step| step.line);
    player.finish().map_err(difference(last))
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
        match &step.action {
            Action::Settings(pairs) => pairs.iter().try_for_each(|(name, value)| self.stack.set(name, value)),
            Action::Call(call, outcome) => self.call(call, outcome),
            Action::Inject(segment) => {
                let packet = self.build(segment)?;
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

    /// What the script injects, in the stack's numbers.
    fn build(&self, spec: &SegmentSpec) -> Result<Packet, String> {
        let unknown = || "the stack has sent nothing yet that this could acknowledge".to_owned();
        let ours = |relative: u32| self.local_first.map(|first| first + relative).ok_or_else(unknown);
        let mut options = TcpOptions::default();
        if let SegmentSpecOptions::These(specs) = &spec.options {
            for option in specs {
                match option {
                    OptionSpec::Mss(mss) => options.mss = Some(*mss),
                    OptionSpec::WindowScale(shift) => options.window_scale = Some(*shift),
                    OptionSpec::SackPermitted => options.sack_permitted = true,
                    OptionSpec::Timestamps(value, echo) => {
                        let echo = echo.wrapping_add(self.clock_offset.unwrap_or(0));
                        options.timestamps = Some(Timestamps { value: *value, echo });
                    }
                    OptionSpec::Sack(blocks) => {
                        for (left, right) in blocks {
                            options.sack.push(ours(*left)?, ours(*right)?);
                        }
                    }
                }
            }
        }
        let tcp = TcpHeader {
            source_port: self.ports.1,
            destination_port: self.ports.0,
            sequence: REMOTE_FIRST + spec.start,
            acknowledgment: spec.ack.map_or(Ok(SeqNum(0)), ours)?,
            flags: spec.flags,
            window: spec.window.unwrap_or(0),
            urgent: 0,
            options,
        };
        let segment = Segment {
            source: self.addresses.remote,
            destination: self.addresses.local,
            traffic_class: spec.ecn.map_or(0, airtcp_core::Ecn::bits),
            tcp,
        };
        Ok(Packet::tcp_bytes(&segment, Bytes::from(vec![0; spec.len as usize])))
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
        let actual = self.describe(&packet, expected).ok_or("a segment of another connection was sent")?;
        if !self.matches(expected, &actual) {
            return Err(format!("sent {actual} at {}, expected {expected}", seconds(at)));
        }
        if at < from.saturating_sub(early) || at > latest {
            let range = if from == to { seconds(from) } else { format!("{} to {}", seconds(from), seconds(to)) };
            return Err(format!("{actual} was sent at {}, expected at {range}", seconds(at)));
        }
        Ok(at)
    }

    /// A segment that left, in the script's numbers; learns the stack's.
    fn describe(&mut self, packet: &Packet, expected: &SegmentSpec) -> Option<SegmentSpec> {
        let tcp = packet.tcp().filter(|tcp| (tcp.source_port, tcp.destination_port) == self.ports)?;
        let first = *self.local_first.get_or_insert(tcp.sequence);
        let relative = |number: SeqNum| number.0.wrapping_sub(first.0);
        let theirs = |number: SeqNum| number.0.wrapping_sub(REMOTE_FIRST.0);
        let mut options = Vec::new();
        options.extend(tcp.options.mss.map(OptionSpec::Mss));
        options.extend(tcp.options.sack_permitted.then_some(OptionSpec::SackPermitted));
        if let Some(Timestamps { value, echo }) = tcp.options.timestamps {
            let offset = *self.clock_offset.get_or_insert_with(|| value.wrapping_sub(timestamp_of(expected)));
            options.push(OptionSpec::Timestamps(value.wrapping_sub(offset), echo));
        }
        options.extend(tcp.options.window_scale.map(OptionSpec::WindowScale));
        if tcp.options.sack != SackBlocks::default() {
            let blocks = tcp.options.sack.as_slice().iter();
            options.push(OptionSpec::Sack(blocks.map(|(left, right)| (theirs(*left), theirs(*right))).collect()));
        }
        Some(SegmentSpec {
            ecn: Some(packet.ip().ecn()),
            flags: tcp.flags,
            start: relative(tcp.sequence),
            len: packet.payload_len(),
            ack: tcp.flags.ack().then(|| theirs(tcp.acknowledgment)),
            window: Some(tcp.window),
            options: SegmentSpecOptions::These(options),
        })
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
        let nothing = SegmentSpec {
            ecn: None,
            flags: TcpFlags::default(),
            start: 0,
            len: 0,
            ack: None,
            window: None,
            options: SegmentSpecOptions::Any,
        };
        let what = self.describe(&packet, &nothing).map_or("a segment".to_owned(), |spec| spec.to_string());
        Err(format!("{what} was sent at {}, and the script ends without it", seconds(at)))
    }
}

/// A segment expected at any time comes within so long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

fn timestamp_of(spec: &SegmentSpec) -> u32 {
    let SegmentSpecOptions::These(options) = &spec.options else { return 0 };
    let value = options.iter().find_map(|option| match option {
        OptionSpec::Timestamps(value, _) => Some(*value),
        _ => None,
    });
    value.unwrap_or(0)
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_micros() / 1_000_000, time.as_micros() % 1_000_000)
}
