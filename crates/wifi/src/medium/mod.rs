//! A medium for the kernel's simulated radios (mac80211_hwsim): a program decides when a frame arrives, whether it does, and
//! whether its sender hears an ACK. The decisions are those of the simulator's 802.11 cell, on the wall clock, so that
//! loss, retry limits, rates and contention are the same in a simulated and in a live run.

mod cell;
mod frame;
mod hwsim;

pub use cell::{Cell, Totals};

use airtcp_core::Outcome;
use airtcp_linux::sys::clock;
use airtcp_linux::sys::genetlink::GenericSocket;
use airtcp_linux::sys::poll::PollSet;
use airtcp_linux::sys::process::Signals;
use airtcp_linux::sys::sched::set_exact_timers;
use anyhow::Context;
use cell::Action;
use hwsim::{FAMILY, Heard};
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;

/// What a medium did from its start to its end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// By radio, the access point first.
    pub radios: Vec<Totals>,
    /// Messages that the kernel refused: radios that are gone, or on another channel.
    pub refused: u64,
    /// Longest time by which an event was late, in microseconds.
    pub latest_us: u64,
}

/// Is the air of all radios until a signal ends it.
///
/// # Errors
/// The kernel has no simulated radios, or another program is their medium.
pub fn serve(mut cell: Cell, on_ready: impl FnOnce()) -> anyhow::Result<Summary> {
    let signals = Signals::collect()?;
    set_exact_timers()?;
    let mut socket = GenericSocket::open()?;
    let family =
        socket.family(FAMILY).context("there are no simulated radios here: modprobe mac80211_hwsim radios=2")?;
    socket.ask(hwsim::register(family), |_| {}).context("the radios have a medium already, or this is not root")?;
    socket.set_nonblocking()?;
    on_ready();
    let mut summary = Summary::default();
    let (mut set, mut actions, mut heard) = (PollSet::new(), Vec::new(), Vec::new());
    loop {
        set.clear();
        set.add_readable(socket.as_fd());
        let signal = set.add_readable(signals.as_fd());
        set.wait(cell.next_event().map(|due| due.saturating_since(clock::now())))?;
        if set.is_ready(signal) && signals.take().end {
            summary.radios = cell.totals();
            return Ok(summary);
        }
        let now = clock::now();
        while let Some(due) = cell.next_event().filter(|due| *due <= now) {
            summary.latest_us = summary.latest_us.max(now.saturating_since(due).as_micros());
            cell.advance(due, &mut actions);
        }
        while socket.receive(&mut summary.refused, |message| heard.extend(Heard::read(&message)))? {}
        heard.drain(..).for_each(|frame| cell.hear(now, frame, &mut actions));
        for action in actions.drain(..) {
            socket.send(match action {
                Action::Deliver(to, heard) => heard.deliver(family, to),
                Action::Conclude(heard, outcome, tries) => heard.conclude(family, outcome == Outcome::Acked, tries),
            })?;
        }
    }
}
