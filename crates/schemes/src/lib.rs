//! The schemes that make TCP fast over wireless links, each a folder, each a line in [`SCHEMES`]; and the sockets that
//! carry flows, each a line in [`SOCKETS`].
//!
//! [`papers`] has the schemes of the papers, [`baselines`] what they are compared with, and [`local_recovery`] what goes
//! beyond them. The modules beside them are shared:
//! the queue before a link ([`egress`]), the two ends of a hop (`hop`, `peer`), repair by selective repeat
//! (`selective_repeat`), a code that repairs without asking (`sliding_code`), a proxy that splits connections (`proxy`),
//! acknowledgments (`acks`, `redundant_ack`, and those made of a medium's: `emulation`), sequence space (`position`, `seq_map`), and what a medium tells of a frame (`tracker`).
//!
//! A scheme is made of [`Element`](airtcp_core::Element)s and knows neither clock nor socket nor topology: the
//! simulator and the gateway daemon run the same code. Adding one is a file and a line here; a
//! crate outside the workspace passes its own [`SchemeEntry`] to the command's `main_with`.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod acks;
pub mod baselines;
pub mod egress;
mod emulation;
#[doc(hidden)]
pub mod fuzzing;
mod hop;
mod link_rate;
pub mod local_recovery;
pub mod papers;
mod peer;
mod position;
mod proxy;
mod redundant_ack;
mod selective_repeat;
mod seq_map;
mod settings;
mod sliding_code;
pub mod socket;
mod tally;
#[cfg(test)]
mod testing;
mod timers;
mod tracker;

use airtcp_core::{ByteSize, Duration, Event, Gauge, Rate, Rng};
use airtcp_link::varying::Forecast;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;
pub use settings::{Made, SchemeChoice, SchemeSettings, settings_for};
use socket::SocketEntry;

/// Every scheme of this crate.
pub const SCHEMES: &[SchemeEntry] = &[
    papers::gsnoop::ENTRY,
    papers::as_tcp::ENTRY,
    papers::fast_tcp::ENTRY,
    papers::decoupling::ENTRY,
    papers::decoupling::header_hop::ENTRY,
    local_recovery::ENTRY,
    baselines::snoop::ENTRY,
    baselines::eln::ENTRY,
    baselines::delayed_dupacks::ENTRY,
    baselines::ack_filter::ENTRY,
    baselines::thin::ENTRY,
    baselines::arq::ENTRY,
    baselines::fec::ENTRY,
    baselines::split::ENTRY,
    baselines::autorate::ENTRY,
    baselines::fec_tunnel::ENTRY,
];

/// Every socket of this crate, TCP first: what carries a flow unless it says otherwise.
pub const SOCKETS: &[SocketEntry] = &[
    socket::tcp::ENTRY,
    papers::decoupling::socket::ENTRY,
    papers::decoupling::datagrams::STREAMING,
    papers::decoupling::datagrams::DATAGRAM,
    socket::quic::ENTRY,
    socket::wireguard::ENTRY,
];

/// A scheme as files, help, the simulator and the gateway see it.
#[derive(Clone, Copy)]
pub struct SchemeEntry {
    /// Name in files, tables, docs and metrics.
    pub slug: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Which boxes it needs.
    pub placement: Placement,
    /// False for a scheme that acknowledges what the receiver may never get.
    pub keeps_end_to_end: bool,
    /// What its elements report besides the common events and gauges.
    pub reports: Reports,
    /// Its settings with their defaults; [`settings_for`] makes them.
    pub settings: fn() -> Box<dyn SchemeSettings>,
}

/// Events and gauges that a scheme declares for itself.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// What it counts.
    pub events: &'static [Event],
    /// Which levels it has.
    pub gauges: &'static [Gauge],
}

impl Reports {
    /// Nothing of its own.
    pub const NONE: Reports = Reports { events: &[], gauges: &[] };
}

/// The labels of every event and gauge of `schemes`, the common ones first, each once.
pub fn labels(schemes: &[SchemeEntry]) -> Vec<&'static str> {
    let events = Event::COMMON.iter().chain(schemes.iter().flat_map(|entry| entry.reports.events));
    let gauges = Gauge::COMMON.iter().chain(schemes.iter().flat_map(|entry| entry.reports.gauges));
    let mut labels: Vec<&str> = Vec::new();
    for label in events.map(|event| event.label()).chain(gauges.map(|gauge| gauge.label())) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Which boxes a scheme needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One element at each end of a link; they exchange control messages.
    BothEnds,
    /// One element at the end named first in the link's `between`.
    NearEnd,
    /// One element at the node where a path begins (the near end) and one at the node where it ends; placed by `from` and
    /// `to` and not on a link. The first gets what the node forwards along the path, both get what is for their own node.
    Path,
}

/// Which end of its link or path an element sits at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The node named first in the link's `between`, or `from`.
    Near,
    /// The node named second, or `to`.
    Far,
    /// Both at once: a gateway with a path each way. Only schemes along a path can be there.
    Both,
}

/// What is known about the place of one element.
pub struct Site<'a> {
    /// Which end of the link or path.
    pub end: End,
    /// Facts about the link or path, seen from this end.
    pub link: LinkFacts,
    /// The element's random stream.
    pub rng: &'a mut Rng,
    /// Bound on the element's memory.
    pub max_memory: ByteSize,
    /// What the outgoing direction of the link will carry, where the world knows: for comparisons only.
    pub forecast: Option<Forecast>,
}

/// Facts about a link, or about a path as a whole, as seen from one end; whatever is unknown is measured or left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// Rate of the outgoing direction.
    pub rate: Option<Rate>,
    /// Propagation out and back.
    pub round_trip: Option<Duration>,
    /// Limit of the queue in front of the outgoing direction.
    pub queue: Option<ByteSize>,
    /// The same limit in packets, where it counts packets and not bytes.
    pub queue_packets: Option<u64>,
    /// Longest IP packet that the outgoing direction takes, in bytes.
    pub mtu: Option<u32>,
    /// What is at this end and at the other; known of a path.
    pub ends: Option<PathEnds>,
}

/// The two ends of a path by their addresses, this one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnds {
    /// Nodes of a scenario, which hand everything that is for them to the scheme first.
    Nodes([IpAddr; 2]),
    /// Gateways.
    Gateways([IpAddr; 2]),
}

/// Default bound on an element's memory.
pub const MAX_MEMORY: ByteSize = ByteSize(64 << 20);

/// The smallest bound that every element can keep: a packet of any length still fits beside the rest.
pub const LEAST_MEMORY: ByteSize = ByteSize(128 << 10);

/// The entry called `slug`.
pub fn find<'a>(schemes: &'a [SchemeEntry], slug: &str) -> Option<&'a SchemeEntry> {
    schemes.iter().find(|entry| entry.slug == slug)
}
