//! Gives a trace to another stack and stops at the first difference.

use super::trace::{Event, Leaving, State, Trace, What};
use crate::run::seconds;
use crate::script::{Call, OptionSpec, SegmentSpec, SegmentSpecOptions};
use crate::stack::{CLIENT_PORT, SERVER_PORT, Stack};
use crate::wire::Wire;
use airtcp_core::{Duration, Packet, TcpFlags};
use std::collections::{BTreeMap, VecDeque};

/// How much earlier or later than in the trace a segment may leave.
const TOLERANCE: Duration = Duration::from_millis(4);
/// How long a segment that did not leave is waited for, to say what did.
const PATIENCE: Duration = Duration::from_secs(1);
/// The kernel's jiffy, to which it rounds every timer up.
const JIFFY: Duration = Duration::from_millis(4);
/// Jiffies of the shortest RTO, nearly.
const RTO_JIFFIES: u64 = 32;
/// After so many jiffies the wheel of its timers has eight times coarser steps.
const WHEEL: u64 = 63;

struct Player<'a> {
    stack: &'a mut dyn Stack,
    wire: Wire,
    /// Segments that left and were not asked for yet.
    sent: VecDeque<(Duration, Packet)>,
    /// The stack's clock in the segments of the trace, by their numbers.
    clocks: BTreeMap<u32, u32>,
    /// The stack's clock less the trace's.
    clock_offset: u32,
    /// How much later than in the trace things happen: a timer was rounded.
    shift: Duration,
    /// When the sender's data were last acknowledged, and up to where.
    progress: (Duration, u32),
    compares_window: bool,
}

/// Plays `trace` against `stack`.
///
/// # Errors
/// The first difference.
pub fn replay(trace: &Trace, stack: &mut dyn Stack) -> Result<(), String> {
    for (name, is_on) in &trace.settings {
        stack.set(name, if *is_on { "1" } else { "0" })?;
    }
    stack.call(&Call::Socket)?;
    stack.call(&Call::SetController(trace.controller.to_owned()))?;
    stack.call(&Call::Listen)?;
    let mut player = Player {
        stack,
        wire: Wire::new(Trace::addresses(), (SERVER_PORT, CLIENT_PORT)),
        sent: VecDeque::new(),
        clocks: BTreeMap::new(),
        clock_offset: 0,
        shift: Duration::ZERO,
        progress: (Duration::ZERO, 0),
        compares_window: trace.compares_window,
    };
    for (index, event) in trace.events.iter().enumerate() {
        player.play(event).map_err(|message| format!("event {index} at {}: {message}", seconds(event.at)))?;
    }
    let last = trace.events.last().map_or(Duration::ZERO, |event| event.at);
    player.wait(last + TOLERANCE)?;
    match player.next_data() {
        Some((at, packet)) => Err(format!("at the end {} was sent at {}", player.wire.name(&packet), seconds(at))),
        None => Ok(()),
    }
}

impl Player<'_> {
    fn play(&mut self, Event { at, what }: &Event) -> Result<(), String> {
        match what {
            What::Leaves(leaving) => self.expect(*at, leaving),
            What::State(state) => self.check(*state),
            What::Accept => self.stack.call(&Call::Accept).map(|_| ()),
            What::Write(bytes) => {
                self.wait(*at)?;
                let written = self.stack.call(&Call::Write(*bytes))?;
                if written == *bytes as i64 { Ok(()) } else { Err(format!("{written} of {bytes} bytes were written")) }
            }
            What::Arrives(segment, echo) => {
                self.wait(*at)?;
                let packet = self.wire.build(&self.echoing(segment, *echo))?;
                if let Some(ack) = segment.ack.filter(|ack| ack.wrapping_sub(self.progress.1) as i32 > 0) {
                    self.progress = (*at, ack);
                }
                self.stack.inject(packet)
            }
        }
    }

    /// The segment as it would be if the stack's segments had made the trace.
    fn echoing(&self, segment: &SegmentSpec, echo: Option<u32>) -> SegmentSpec {
        let mut segment = segment.clone();
        if let (SegmentSpecOptions::These(options), Some(number)) = (&mut segment.options, echo) {
            for option in options {
                if let OptionSpec::Timestamps(value, _) = *option {
                    *option = OptionSpec::Timestamps(value, self.clocks.get(&number).copied().unwrap_or(0));
                }
            }
        }
        segment
    }

    /// Lets time pass until `at` of the trace.
    fn wait(&mut self, at: Duration) -> Result<(), String> {
        while let Some(sent) = self.stack.wait(at + self.shift)? {
            self.sent.push_back(sent);
        }
        Ok(())
    }

    /// The next segment that left and is no pure acknowledgment.
    fn next_data(&mut self) -> Option<(Duration, Packet)> {
        while let Some((at, packet)) = self.sent.pop_front() {
            if packet.sequence_len() > 0 {
                return Some((at, packet));
            }
        }
        None
    }

    fn expect(&mut self, at: Duration, leaving: &Leaving) -> Result<(), String> {
        let Leaving { segment, number, clock, by_timer } = leaving;
        if segment.len == 0 && !segment.flags.syn() && !segment.flags.fin() {
            self.clocks.insert(*number, clock.wrapping_add(self.clock_offset));
            return Ok(());
        }
        let due = at + self.shift;
        let mut late = TOLERANCE + JIFFY;
        if *by_timer {
            late += rounding(at.saturating_sub(self.progress.0));
        }
        let mut found = self.next_data();
        while found.is_none() {
            let Some(sent) = self.stack.wait(due + late)? else { break };
            self.sent.push_back(sent);
            found = self.next_data();
        }
        let Some((sent_at, packet)) = found else { return Err(self.missing(segment, due)) };
        let actual = self.wire.describe(&packet, segment).ok_or("a segment of another connection was sent")?;
        self.note_clock(&actual, *number, *clock);
        if !is_same(segment, &actual) {
            return Err(format!("{actual} was sent at {} instead of {segment}", seconds(sent_at)));
        }
        if sent_at + TOLERANCE < due || sent_at > due + late {
            return Err(format!("{actual} was sent at {}, due at {}", seconds(sent_at), seconds(due)));
        }
        if *by_timer {
            self.shift = (self.shift + sent_at).saturating_sub(due);
        }
        Ok(())
    }

    fn note_clock(&mut self, actual: &SegmentSpec, number: u32, clock: u32) {
        let SegmentSpecOptions::These(options) = &actual.options else { return };
        for option in options {
            if let OptionSpec::Timestamps(value, _) = option {
                self.clocks.insert(number, *value);
                self.clock_offset = value.wrapping_sub(clock);
            }
        }
    }

    fn check(&mut self, state: State) -> Result<(), String> {
        let recovery = self.stack.field("tcpi_ca_state")?;
        let mut actual = State { recovery, ..state };
        if self.compares_window {
            actual.window = self.stack.field("tcpi_snd_cwnd")?;
            actual.threshold = self.stack.field("tcpi_snd_ssthresh")?;
        }
        if actual == state { Ok(()) } else { Err(format!("{actual:?} instead of {state:?}")) }
    }

    /// What to say of a segment that was not sent when it was due: what came instead.
    fn missing(&mut self, segment: &SegmentSpec, due: Duration) -> String {
        let mut next = None;
        while next.is_none() {
            let Ok(Some(sent)) = self.stack.wait(due + PATIENCE) else { break };
            self.sent.push_back(sent);
            next = self.next_data();
        }
        let next =
            next.map_or("nothing".to_owned(), |(at, packet)| format!("{} at {}", self.wire.name(&packet), seconds(at)));
        format!("{segment} was not sent when due at {}, but {next}", seconds(due))
    }
}

/// By how much the kernel rounds up what waits for `wait`: to a step of its wheel of timers, and an RTO to a jiffy before
/// it is doubled.
fn rounding(wait: Duration) -> Duration {
    let mut step = JIFFY;
    while wait.as_nanos() / step.as_nanos() > WHEEL {
        step = step.saturating_mul(8);
    }
    step + wait / RTO_JIFFIES
}

/// Windows, options and PSH are each stack's own.
fn is_same(expected: &SegmentSpec, actual: &SegmentSpec) -> bool {
    let flags = |spec: &SegmentSpec| spec.flags.without(TcpFlags::PSH);
    flags(expected) == flags(actual)
        && (expected.start, expected.len, expected.ack) == (actual.start, actual.len, actual.ack)
        && expected.ecn == actual.ecn
}
