//! AS-TCP, augmented split-TCP (Jung et al.; SPEC section 2): on the air, MAC acknowledgments take the place of TCP's.
//!
//! ```text
//! station: TCP | TAS  ~~ 802.11 ~~  access point: TAS | split | TCP  --  server
//!                 ^ MAC ACK -> TCP ACK       ^ its own TCP ACKs end here
//! ```
//!
//! A connection is split at the access point (AST-1): the wireless half ends there, the wired half is an ordinary one, and the
//! station's TCP stays as it is (AST-12). The station's [`Station`] sends every segment tracked and acknowledges it to the station's TCP when the medium says that
//! the next hop has it. The [`AccessPoint`] splits the connection; what it would acknowledge over the air it keeps. A
//! frame that is given up is not acknowledged, nor is anything behind it: TCP's timeout repairs it.
//!
//! The price (AST-C13): a sender is told that its bytes arrived when the access point has them, as with every split
//! connection, and here a step earlier still. What the access point cannot take although it acknowledged the frame is lost
//! silently; `balance` sees to it that this does not happen, and [`events::ACKNOWLEDGED_LOST`] counts it where it does.
//!
//! `downloads` is the same in the other direction (ours, after FastACK: Bhartia et al., IMC 2017): the access point acknowledges to the sender
//! what the medium gave to a station, whose own acknowledgments stay with it (`restraint`). A split emulates for its own TCP
//! (`proxy`); without one the access point passes the sender's data on and has a sublayer like a station's.
//!
//! The papers leave open how both sides agree on numbers (AST-X1): the split relays the handshake, so that both halves carry the same
//! sequence numbers.

mod access_point;
pub mod events;
mod flow;
mod restraint;
mod settings;
mod station;
#[cfg(test)]
mod tests;

pub use access_point::AccessPoint;
pub use settings::{AsTcpSettings, Balance, Split};
pub use station::Station;

use crate::{End, Made, Placement, Reports, SchemeEntry, Site, settings_for};
use alloc::boxed::Box;

/// AS-TCP's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "as-tcp",
    about: "MAC acknowledgments become TCP acknowledgments, and the access point splits the connection",
    source: "Jung, Choi, Seok, Kwon & Choi, Augmented Split-TCP over Wireless LANs",
    placement: Placement::BothEnds,
    keeps_end_to_end: false,
    reports: Reports { events: events::EVENTS, gauges: events::GAUGES },
    settings: || settings_for(make),
};

fn make(settings: &AsTcpSettings, site: &mut Site<'_>) -> Made {
    Ok(match site.end {
        End::Near => Box::new(AccessPoint::new(settings, site)),
        // A link has two ends; both at once are of a path.
        End::Far | End::Both => Box::new(Station::new(settings, site)),
    })
}
