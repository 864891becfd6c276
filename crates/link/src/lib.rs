//! What a packet meets between two nodes: a queue, a transmitter, a stretch of air or wire.
//!
//! [`Link`] is one direction of a link: a queue (drop-tail, ring, RED, CoDel, FQ-CoDel, with or without ECN),
//! serialisation at a rate, delay, and the impairments of a radio hop (independent, per-bit and bursty loss,
//! reordering, duplication, corruption, outage). The same struct carries packets in the simulator, in the live emulator
//! on the wall clock and in a gateway's own shaper: time comes in with each call. Rate, delay and loss may change while it
//! runs, by steps, by a recorded trace or by a model ([`varying`]).
//!
//! Drop-tail, ring and RED decide when a packet comes, so everything that will happen to it is known when it is sent.
//! CoDel and FQ-CoDel decide when it leaves, so they hold packets until the transmitter is free. Either way a link
//! needs at most one pending event, [`Link::next_event`]; at that time its owner calls [`Link::advance`], which serves
//! a held queue, and then [`Link::receive`] until nothing comes.
//!
//! ```
//! use airtcp_core::{Instant, Packet, Duration};
//! use airtcp_link::{Link, LinkSettings};
//! use core::net::Ipv4Addr;
//!
//! let settings = LinkSettings { rate: "10Mbit".parse().ok().into(), delay: Duration::from_millis(5).into(), ..Default::default() };
//! let mut link = Link::new(&settings, 1, "links.air");
//! let (a, b) = (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
//! let packet = Packet::opaque(a, b, 17, vec![0; 1480].into());
//! link.send(Instant::ZERO, packet, &mut |_, reason| panic!("dropped: {}", reason.label()));
//! let arrival = link.next_event().unwrap();
//! assert_eq!(arrival, Instant::from_nanos(1_200_000 + 5_000_000));
//! link.advance(arrival, &mut |_, reason| panic!("dropped: {}", reason.label()));
//! assert!(link.receive(arrival).is_some());
//! ```
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod air;
mod corrupt;
mod counters;
mod link;
pub mod loss;
mod outage;
mod queue;
mod reorder;
mod settings;
pub mod table;
mod transmitter;
mod turns;
pub mod varying;

pub use counters::LinkCounters;
pub use link::{Link, Stays};
pub use loss::Loss;
pub use outage::Outage;
pub use queue::{Buffer, Codel, DropTail, FqCodel, HeaderFirst, HeaderLevels, Queue, QueueLimit, QueueSite, Red, Ring};
pub use reorder::Reordering;
pub use settings::LinkSettings;
pub use varying::{LinkDelay, LinkRate};
