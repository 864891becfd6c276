//! Repair of a hop by selective repeat, whatever the frames around the packets look like: numbered transmissions,
//! selective acknowledgments, and the order of what arrives. Link ARQ and the header hop of TCP Decoupling use it.

#[cfg(test)]
pub(crate) mod contract;
mod exchange;
mod frame;
mod received;
mod receiver;
mod reordering;
mod sender;

pub(crate) use exchange::{Exchange, auto_hold, guard};
pub(crate) use frame::FRAME_LEN;
pub use frame::{Ack, Acknowledgment, Arrived, Frame, Message, Said};
pub use received::Received;
pub(crate) use receiver::{Patience, Receiver};
pub(crate) use sender::{IN_STEP, Mending, Place, START, Sender};
