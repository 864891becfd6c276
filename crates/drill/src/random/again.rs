//! Asks our sender again: the input of a trace, at other times.

use super::host::{Cause, FIRST, Host, Sender};
use super::record::config_of;
use super::setting::Setting;
use super::trace::{Trace, What};
use crate::stack::{CLIENT_PORT, SERVER_PORT};
use crate::wire::Wire;
use airtcp_core::{Duration, Instant};

/// What our sender does with the input of `trace` at `times`, one for each segment that arrives and each write. A machine
/// gives a stack its input a little later than the trace says, and what depends on time depends on that.
pub fn retrace(setting: &Setting, host: Host, trace: &Trace, times: &[Duration]) -> Trace {
    let empty = Trace { events: Vec::new(), ..trace.clone() };
    let mut sender = Sender::new(&config_of(setting, host), host, empty);
    let wire = Wire::of_sender(Trace::addresses(), (SERVER_PORT, CLIENT_PORT), FIRST.0);
    let inputs = trace.events.iter().filter(|event| event.what.is_input());
    for (event, at) in inputs.zip(times) {
        run_timers(&mut sender, Instant::ZERO + *at);
        sender.now = sender.now.max(Instant::ZERO + *at);
        match &event.what {
            What::Write(bytes) => {
                sender.write(*bytes);
                while sender.poll(Cause::Write).is_some() {}
            }
            What::Arrives(segment, _) => {
                let Ok(packet) = wire.build(segment) else { continue };
                sender.arrive(packet);
                while sender.poll(Cause::Arrival).is_some() {}
                sender.note_arrived();
            }
            _ => {}
        }
    }
    let last = trace.events.last().map_or(Duration::ZERO, |event| event.at);
    run_timers(&mut sender, Instant::ZERO + last + Duration::from_nanos(1));
    sender.trace
}

/// Lets timers run out that are due before `until`.
fn run_timers(sender: &mut Sender, until: Instant) {
    while let Some(at) = sender.deadline().filter(|at| *at < until) {
        sender.now = sender.now.max(at);
        let acts = sender.handle_timeout();
        while sender.poll(Cause::Timer).is_some() {}
        if acts {
            sender.note_state();
        }
    }
}
