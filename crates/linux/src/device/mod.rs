//! Devices that packets are read from and written to, as datagrams and counted errors.
//!
//! The kernel hands over what belongs together at once (a super-frame) and takes it at once: a system call costs more than
//! what most schemes do with a packet. Schemes see the single segments: [`cut`] makes them, [`join`] puts together again
//! what still belongs together.

mod cut;
mod datagram;
mod join;
mod layout;
mod offload;
mod tun;

pub use datagram::Datagram;
pub use offload::Offload;
pub use tun::{DeviceCounters, DeviceGone, TunDevice};
