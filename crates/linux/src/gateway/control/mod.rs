//! Control messages between the gateways of a scheme: UDP to each configured peer.
//!
//! No incoming message is trusted. [`Session`] says which are the peer's and why others are ignored; each is counted.
//! The socket sends and receives through the link's interface only, and tells how many routers a datagram has passed.

mod channel;
mod envelope;
mod handshake;
mod ignored;
mod inbox;
mod key;
mod keyring;
mod pace;
mod path_search;
mod probe;
mod seen;
mod session;
mod socket;
mod train;
mod window;

pub use channel::{ControlChannel, ControlCounters};
pub use handshake::{Handshake, Introduction};
pub use ignored::Ignored;
pub use key::{Key, KeyError, Secret};
pub use probe::Probe;
pub use seen::Seen;
pub use session::{HOP_LIMIT, Opened, Origin, PeerState, Session, Setup};
pub use socket::ControlSocket;
