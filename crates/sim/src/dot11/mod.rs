//! An 802.11 cell: stations that share one medium by the distributed coordination function (DCF; AST-13).
//!
//! A [`Bss`] knows who sends next, so it needs one event for each time that the medium is used: the end of an exchange
//! (RTS, CTS, data, ACK; in 802.11n, ac and ax an aggregate and its block ACK) or of a collision. Between two of these it is idle and stations count down; a station that gets
//! something to send meanwhile may be the next.
//!
//! What a model of a medium has to state:
//! - *Freezing*: slots count while the medium is idle, whole ones only, from AIFS after it became idle. What is left is
//!   kept, as the standard says; a station that just sent may draw zero and go first. So it is in b and g (DCF). In n, ac and ax
//!   (EDCA) slot boundaries count, also the one at which somebody else begins: see `contention`.
//! - *Collisions*: those who begin at the same time lose their frames. It costs the longest of these; those who only
//!   heard it wait AIFS after that (or EIFS, see `eifs`), those who sent it wait for their ACK timeout, too, and with EDCA for AIFS
//!   behind it.
//! - *Damage*: others hear the header of a damaged frame and stay away for the ACK that does not come, and so does its sender.
//! - *Retries*: a frame is given up after `retry_limit` transmissions, and the contention window begins anew.
//! - *After a frame* a station counts down once more, also if it has no further one. A frame that comes to an idle
//!   medium later is sent at once, with EDCA at the next slot boundary.
//! - *Beacons* go first, PIFS after the medium is idle, and are never damaged.
//! - A packet is handed up, and its sender told, at the end of the exchange.
//!
//! What aggregates add is in `aggregate` (how they fill, what an answer or its absence means), `agreement` (windows, order,
//! frames given up), `answer` (the seam for what rides in block ACKs), `txop` and `modulation`.

mod aggregate;
#[cfg(test)]
mod aggregate_tests;
mod agreement;
mod airtime;
mod answer;
mod bss;
mod contenders;
mod contention;
mod entry;
mod exchange;
mod hand_up;
mod idle_sense;
mod interface;
mod modulation;
mod phy;
mod plan;
mod poll;
mod power_save;
mod report;
mod reverse;
mod ride;
mod riders;
#[cfg(test)]
mod riders_tests;
pub mod saturation;
mod settings;
#[cfg(test)]
mod tests;
mod transmission;
mod turns;
mod txop;

pub use airtime::{Airtime, FrameKind, MediumUse, Usage};
pub use bss::Bss;
pub use entry::{Entry, Tracked};
pub use phy::{Band, Phy};
pub use report::Report;
pub use settings::{CellSettings, Contention, Edca, Fetch, HandUp, ReverseFrame};
