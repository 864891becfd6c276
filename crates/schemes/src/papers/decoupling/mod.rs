//! TCP Decoupling (Wang & Kung; SPEC section 1): TCP's congestion control without TCP's error control.
//!
//! ```text
//!            +-- guaranteed bandwidth (GMB) ---- data ----------------+
//! data --> [ tunnel queue ] -- control TCP 1 --- data, header packet --+--> routers --> data pass on
//!            +-- control TCP 2 ---- data, header packet ---------------+            --> control receivers
//!                     ^----------------------------- ACKs ------------------------------------+
//! ```
//!
//! A **circuit** ([`Circuit`], [`CircuitEnd`]) sends a stream of packets at a rate that TCP sets: for each virtual segment
//! of VMSS bytes of data a control TCP sends a **header packet**, a segment of its own without payload. What becomes of
//! the header packets moves the control TCP's window, and the window lets the data out. Data are neither read nor changed
//! nor sent again (DEC-21). VMSS is free: header packets at equal rates divide a link like virtual segments (DEC-25), a
//! large one leaves as ordinary packets between which others fit (DEC-26), and costs 52 / VMSS of the bandwidth there and
//! half of that back (DEC-27).
//!
//! - The control TCP is an unmodified [`airtcp_tcp::Connection`] over a virtual stream, MSS = VMSS: [`control`] hands out
//!   credit by it, [`header`] takes the payload off and puts it back at the other end.
//! - What a wireless hop can do for header packets is a scheme of its own, [`header_hop`].
//! - A circuit is pull-style, knows no simulator and no socket. Placed along a path it is a trunk for everybody's packets
//!   ([`trunk`], DEC-28).
//! - Below a TCP without congestion control it makes a reliable [`socket`] (DEC-30), below a source of UDP a stream of
//!   [`datagrams`] that is friendly to TCP (DEC-29).

mod circuit;
mod circuit_end;
mod control;
mod counters;
pub mod datagrams;
mod departure;
pub mod events;
mod guarantee;
mod header;
pub mod header_hop;
mod settings;
pub mod socket;
#[cfg(test)]
mod tests;
mod trunk;
mod tunnel;

pub use circuit::Circuit;
pub use circuit_end::CircuitEnd;
pub use departure::{Departure, Stats};
pub use settings::CircuitSettings;
pub use trunk::{ENTRY, EndSettings, Fail, Far, Headers, Near, Station, TrunkSettings};
