//! A station of a Wi-Fi network: frames that the gateway sends itself, as the kernel tells only who sent a frame what became
//! of it (SPEC 7.3, AST-5).
//!
//! The TCP of the host is taken at the link as a router's is. What the element sends over the air leaves through a packet
//! socket (`air`), the rest as everywhere. A report has the frame as it was sent; `awaited` finds the one that it is about. `torn` finds
//! connections that a dead gateway has left without what it had acknowledged, at the station as at the access point.

mod ability;
mod air;
mod awaited;
mod torn;

pub use ability::findings;
pub use air::{Air, AirCounters};
pub use torn::{Order, Torn};
