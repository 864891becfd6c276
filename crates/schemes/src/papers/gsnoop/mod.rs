//! G-Snoop (Leung & Yeung): two gateways repair a lossy hop anywhere on the path, and the hosts
//! notice nothing.
//!
//! GSN-1: one element sits at each end of the wireless link and nowhere else. It plays gateway A
//! (upstream) for what goes to the link and gateway B (downstream) for what comes off it, so both
//! directions are repaired. Three modes share the messages between the gateways, the peer and the
//! clock of their queue:
//!
//! - [`modern`]: B hides the gap itself for a bounded time; for today's SACK/RACK senders.
//! - `modern` with *suppression*: B hides the acknowledgments that tell of the gap; an ablation.
//! - [`paper`]: the paper's own rules GSN-1 … GSN-18, for Reno senders without SACK.

mod duplicate_ack;
pub mod events;
mod message;
pub mod modern;
pub mod paper;
mod settings;

#[cfg(test)]
mod random_operations_tests;

pub use crate::peer::Hello;
pub use message::{MAX_RANGES, Message, SeqRange};
pub use modern::Gateway;
pub use settings::{GsnoopSettings, Mode, RepairPlace};

use crate::egress::check_rate;
use crate::{Made, Placement, Reports, SchemeEntry, Site, peer, settings_for};
use airtcp_core::flow_table::FlowTable;
use airtcp_core::parameters::ParameterError;
use alloc::boxed::Box;

/// G-Snoop's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "gsnoop",
    about: "Two gateways repair a lossy hop anywhere on the path; hosts are unchanged",
    source: "Leung & Yeung, G-Snoop: Enhancing TCP Performance over Wireless Networks",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

/// A full-size packet, for packet times.
const PACKET_BYTES: u32 = 1500;

/// Share of `max_memory` for each use, in sixteenths; the rest is slack for the allocator.
mod share {
    pub const QUEUE: u64 = 3;
    pub const CACHE: u64 = 5;
    pub const HELD: u64 = 3;
    pub const FLOWS: u64 = 2;
}

/// Heap a flow may own beside its table entry before its packets are counted elsewhere.
const FLOW_HEAP: usize = 512;

/// A table of flows for one of the two directions.
fn flow_table<F>(site: &mut Site<'_>) -> FlowTable<F> {
    let memory = site.max_memory.0 / 16 * share::FLOWS / 2;
    FlowTable::new(memory as usize / (FlowTable::<F>::entry_memory() + FLOW_HEAP), site.rng)
}

/// Memory of `flows` entries of a table.
fn table_memory<F>(flows: usize) -> u64 {
    (flows * (FlowTable::<F>::entry_memory() + FLOW_HEAP)) as u64
}

fn make(settings: &GsnoopSettings, site: &mut Site<'_>) -> Made {
    peer::check_distance(settings.hello, settings.peer_timeout)?;
    if settings.tries == 0 {
        return Err(ParameterError::bad(
            "tries",
            "a gateway that asks for nothing holds packets in vain; write 1 or more",
        ));
    }
    check_rate(settings.rate)?;
    Ok(match settings.mode {
        Mode::Modern | Mode::Suppression => Box::new(modern::Gateway::new(settings, site)),
        Mode::Paper => Box::new(paper::Gateway::new(settings, site)),
    })
}
