//! Gives a trace to another stack and stops at the first difference.

use super::trace::{Event, Leaving, State, Trace, What};
use crate::run::seconds;
use crate::script::{Call, OptionSpec, SegmentSpec, SegmentSpecOptions};
use crate::stack::{CLIENT_PORT, SERVER_PORT, Stack};
use crate::wire::Wire;
use airtcp_core::{Duration, Packet, TcpFlags};
use std::collections::BTreeMap;

/// How much earlier or later than in the trace a segment may leave.
const TOLERANCE: Duration = Duration::from_millis(4);
/// How long a segment that did not leave is waited for, to say what did.
const PATIENCE: Duration = Duration::from_secs(1);

struct Player<'a> {
    stack: &'a mut dyn Stack,
    wire: Wire,
    /// Segments that left, but for pure acknowledgments.
    sent: Vec<(Duration, Packet)>,
    /// How many of them were compared.
    compared: usize,
    /// When the stack was given what it was given so far: segments and writes.
    given: Vec<Duration>,
    /// How many of them the comparison has passed.
    passed: usize,
    /// What the stack's state was after so many inputs and segments.
    states: BTreeMap<(usize, usize), State>,
    is_accepted: bool,
    /// The stack's clock in the segments of the trace, by their numbers.
    clocks: BTreeMap<u32, u32>,
    /// The stack's clock less the trace's.
    clock_offset: u32,
    /// How much later than in the trace things happen: a timer ran out later.
    shift: Duration,
    /// How much later a segment may leave because clocks tick.
    jiffy: Duration,
    compares_window: bool,
}

/// Plays `trace` against `stack`. Where the stack does something else, `retrace` says what our sender does with the same
/// input at the times at which the stack was given it, and that is compared.
///
/// # Errors
/// The first difference.
pub fn replay(
    trace: &Trace,
    stack: &mut dyn Stack,
    retrace: &dyn Fn(&Trace, &[Duration]) -> Trace,
) -> Result<(), String> {
    for (name, is_on) in &trace.settings {
        stack.set(name, if *is_on { "1" } else { "0" })?;
    }
    stack.call(&Call::Socket)?;
    stack.call(&Call::SetController(trace.controller.to_owned()))?;
    stack.call(&Call::Listen)?;
    stack.begin()?;
    let mut player = Player::new(trace, stack);
    let (mut trace, mut asked_at) = (trace.clone(), None);
    loop {
        let Err(message) = player.walk(&trace) else { return Ok(()) };
        if asked_at == Some(player.given.len()) {
            return Err(format!("{message}, {}", player.next_after()));
        }
        asked_at = Some(player.given.len());
        trace = retrace(&trace, &player.times(&trace));
        player.rewind();
    }
}

impl<'a> Player<'a> {
    fn new(trace: &Trace, stack: &'a mut dyn Stack) -> Player<'a> {
        Player {
            stack,
            wire: Wire::new(Trace::addresses(), (SERVER_PORT, CLIENT_PORT)),
            sent: Vec::new(),
            compared: 0,
            given: Vec::new(),
            passed: 0,
            states: BTreeMap::new(),
            is_accepted: false,
            clocks: BTreeMap::new(),
            clock_offset: 0,
            shift: Duration::ZERO,
            jiffy: trace.jiffy,
            compares_window: trace.compares_window,
        }
    }

    /// Compares from the beginning on, and gives the stack what it was not given yet.
    fn walk(&mut self, trace: &Trace) -> Result<(), String> {
        for (index, event) in trace.events.iter().enumerate() {
            self.play(event).map_err(|message| format!("event {index} at {}: {message}", seconds(event.at)))?;
        }
        let last = trace.events.last().map_or(Duration::ZERO, |event| event.at);
        self.wait(last + TOLERANCE)?;
        match self.sent.get(self.compared) {
            Some((at, packet)) => Err(format!("at the end {} was sent at {}", self.wire.name(packet), seconds(*at))),
            None => Ok(()),
        }
    }

    fn rewind(&mut self) {
        (self.compared, self.passed, self.shift) = (0, 0, Duration::ZERO);
    }

    /// When the stack was given each input, or will be.
    fn times(&self, trace: &Trace) -> Vec<Duration> {
        let inputs = trace.events.iter().filter(|event| event.what.is_input());
        inputs
            .enumerate()
            .map(|(index, event)| self.given.get(index).copied().unwrap_or(event.at + self.shift))
            .collect()
    }

    /// What follows was given to the stack long ago: what it did then is known.
    fn is_past(&self) -> bool {
        self.passed < self.given.len()
    }

    fn play(&mut self, event: &Event) -> Result<(), String> {
        match &event.what {
            What::Leaves(leaving) => self.expect(event.at, leaving),
            What::State(state) => self.check(*state),
            What::Accept if self.is_accepted => Ok(()),
            What::Accept => {
                self.is_accepted = true;
                self.stack.call(&Call::Accept).map(|_| ())
            }
            What::Write(_) | What::Arrives(..) => {
                if !self.is_past() {
                    self.give(event)?;
                }
                self.passed += 1;
                Ok(())
            }
        }
    }

    fn give(&mut self, Event { at, what }: &Event) -> Result<(), String> {
        self.wait(*at)?;
        let before = self.stack.now();
        match what {
            What::Write(bytes) => {
                let written = self.stack.call(&Call::Write(*bytes))?;
                if written != *bytes as i64 {
                    return Err(format!("{written} of {bytes} bytes were written"));
                }
            }
            What::Arrives(segment, echo) => {
                let packet = self.wire.build(&self.echoing(segment, *echo))?;
                self.stack.inject(packet)?;
            }
            _ => {}
        }
        self.given.push(before);
        Ok(())
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
        while self.receive(at + self.shift)? {}
        Ok(())
    }

    /// Waits until `until` for the next segment; false if there is none.
    fn receive(&mut self, until: Duration) -> Result<bool, String> {
        let sent = self.stack.wait(until)?;
        let is_sent = sent.is_some();
        self.sent.extend(sent.filter(|(_, packet)| packet.sequence_len() > 0));
        Ok(is_sent)
    }

    fn expect(&mut self, at: Duration, leaving: &Leaving) -> Result<(), String> {
        let Leaving { segment, number, clock, by_timer } = leaving;
        if segment.len == 0 && !segment.flags.syn() && !segment.flags.fin() {
            self.clocks.insert(*number, clock.wrapping_add(self.clock_offset));
            return Ok(());
        }
        let due = at + self.shift;
        let late = TOLERANCE + self.jiffy;
        while !self.is_past() && self.sent.len() == self.compared && self.receive(due + late)? {}
        let Some((sent_at, packet)) = self.sent.get(self.compared) else {
            return Err(format!("{segment} was not sent when due at {}", seconds(due)));
        };
        let sent_at = *sent_at;
        let actual = self.wire.describe(packet, segment).ok_or("a segment of another connection was sent")?;
        self.note_clock(&actual, *number, *clock);
        if !is_same(segment, &actual) {
            return Err(format!("{actual} was sent at {} instead of {segment}", seconds(sent_at)));
        }
        if sent_at + TOLERANCE < due || sent_at > due + late {
            return Err(format!("{actual} was sent at {}, due at {}", seconds(sent_at), seconds(due)));
        }
        self.compared += 1;
        if *by_timer && !self.is_past() {
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
        let place = (self.passed, self.compared);
        if !self.is_past() {
            let recovery = self.stack.field("tcpi_ca_state")?;
            let window = self.stack.field("tcpi_snd_cwnd")?;
            let threshold = self.stack.field("tcpi_snd_ssthresh")?;
            self.states.insert(place, State { window, threshold, recovery });
        }
        // Asked again, our sender may have a state at a place where the stack was not asked for its own.
        let Some(mut actual) = self.states.get(&place).copied() else { return Ok(()) };
        if !self.compares_window {
            actual = State { recovery: actual.recovery, ..state };
        }
        if actual == state { Ok(()) } else { Err(format!("{actual:?} instead of {state:?}")) }
    }

    /// What the stack sends next, for a message.
    fn next_after(&mut self) -> String {
        let until = self.stack.now() + PATIENCE;
        while self.sent.len() == self.compared && matches!(self.receive(until), Ok(true)) {}
        let next = self.sent.get(self.compared);
        next.map_or("and nothing follows".to_owned(), |(at, packet)| {
            format!("next is {} at {}", self.wire.name(packet), seconds(*at))
        })
    }
}

/// Windows, options and PSH are each stack's own.
fn is_same(expected: &SegmentSpec, actual: &SegmentSpec) -> bool {
    let flags = |spec: &SegmentSpec| spec.flags.without(TcpFlags::PSH);
    flags(expected) == flags(actual)
        && (expected.start, expected.len, expected.ack) == (actual.start, actual.len, actual.ack)
        && expected.ecn == actual.ecn
}
