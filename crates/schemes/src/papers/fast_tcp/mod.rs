//! Fast-TCP (Ma, Ruutu & Wu; SPEC section 4; not Caltech's FAST TCP): the router before a slow link delays the
//! acknowledgments that come back when the queue of data towards the link builds up, and drops nothing.
//!
//! ```text
//! sender --- data ---> [ router: forward queue ] ~~ slow link ~~> receiver
//!        <--- ACKs --- [ ACK buffer <- delay controller <- queue length ]
//! ```
//!
//! A sender in slow start answers each acknowledgment with two segments. Acknowledgments that leave twice as far apart as
//! data packets on the link bring as many segments as the link carries off: the queue stops growing at its threshold.
//! Hosts are unchanged (FTC-1), and nothing is acknowledged that the receiver does not have.
//!
//! - [`Mode::Paper`] follows the paper: one FIFO, every pure acknowledgment alike, d or 2d apart (FTC-4). It supposes an
//!   acknowledgment for each segment (FTC-X3).
//! - [`Mode::Modern`] delays by what is acknowledged, only what can wait without harm ([`flow`]), only while the link is
//!   the bottleneck, and no longer than `max_delay`.

mod ack_buffer;
pub mod events;
mod flow;
mod forward;
mod pace;
mod router;
mod settings;
mod split;
#[cfg(test)]
mod tests;
mod thresholds;

pub use router::Router;
pub use settings::{FastTcpSettings, Mode, Watch};
pub use thresholds::Thresholds;

use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use alloc::boxed::Box;

/// Fast-TCP's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "fast-tcp",
    about: "A router delays acknowledgments while its queue towards the link builds up; hosts are unchanged",
    source: "Ma, Ruutu & Wu, An Enhanced TCP Mechanism: Fast-TCP in IP Networks with Wireless Links",
    placement: Placement::NearEnd,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: events::GAUGES },
    settings: || settings_for(make),
};

fn make(settings: &FastTcpSettings, site: &mut Site<'_>) -> Made {
    settings.check()?;
    Ok(Box::new(Router::new(settings, site)))
}
