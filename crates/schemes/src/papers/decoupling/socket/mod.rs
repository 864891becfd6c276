//! The reliable decoupling socket (section 5 of the paper; DEC-30): a data TCP, which the user sees, over a circuit of
//! hidden control TCPs between the same two hosts. Error control is the business of the first, congestion control of the
//! second.
//!
//! The data TCP is a [`Connection`](airtcp_tcp::Connection) without congestion control (DEC-31). It is asked for a segment while the tunnel queue
//! has room (DEC-U6), so it sends as fast as the queue empties and never overflows it. Whatever of it takes sequence space,
//! retransmissions too, leaves through the circuit and is charged to the control window (DEC-36). What carries nothing goes
//! beside it: its SYN, so that both handshakes take one round trip together, and acknowledgments, which a receiver sends
//! directly (DEC-19).
//!
//! F1 to F3 are parameters ([`DataSettings`]); their defaults are what the paper says. F2 repairs the first hole, and does so
//! again after X more duplicates, X being the control window: `max(3, control window / packet size)` (DEC-U7).
//! Retransmissions join the tail of the tunnel queue (DEC-U22).
//!
//! Ours, as variants: `holes = "all"` repairs every hole that SACK shows (DEC-U9), because a repair takes a round trip and the
//! tunnel queue's time, and the first hole alone cannot keep up where a path loses more than one data packet in that time.
//! [`Duplex`] sends in both directions, for applications that talk to each other: one data TCP between two circuits. The
//! simulator's flows send in one, and have [`sender`] and [`receiver`] alone.
//!
//! `repeat = "path"` counts what waits in the tunnel queue before the repair into X, since that returns duplicates, too
//! ([`Repeat`]). `one_copy` puts a segment that still waits there not there again, however often it is asked for.

mod duplex;
mod receiver;
mod sender;
mod settings;

pub use duplex::Duplex;
pub(in crate::papers::decoupling) use settings::with_nearest;
pub use settings::{DataSettings, ReliableSettings, Repeat, Timer, WhenFull};

use super::counters;
use crate::socket::{FlowEnd, SocketEntry, SocketSettings, SocketSite};
use airtcp_core::Instant;
use airtcp_core::parameters::ParameterError;
use airtcp_tcp::Habits;
use alloc::boxed::Box;
use receiver::Receiver;
use sender::Sender;

/// Its line in the table of sockets.
pub const ENTRY: SocketEntry = SocketEntry {
    slug: "decoupling",
    about: "A reliable decoupling socket: a data TCP without congestion control over a circuit of control TCPs.",
    has_size: true,
    control: "tcp",
    counters: counters::CIRCUIT,
    settings: || Box::new(ReliableSettings::default()),
};

impl SocketSettings for ReliableSettings {
    fn check(&self) -> Result<(), ParameterError> {
        self.circuit.check()
    }

    fn connect(&self, site: &mut SocketSite<'_>, now: Instant) -> FlowEnd {
        FlowEnd::Other(Box::new(Sender::new(self, site, now)))
    }

    /// The data TCP is no host's: it counts duplicate acknowledgments one by one (DEC-34).
    fn habits(&self) -> Habits {
        Habits::Without
    }

    fn listen(&self, site: &mut SocketSite<'_>) -> Option<FlowEnd> {
        Some(FlowEnd::Other(Box::new(Receiver::new(self, site))))
    }
}
