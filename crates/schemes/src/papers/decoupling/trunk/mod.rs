//! A trunk: one circuit for everything that a router forwards along a path (DEC-28).
//!
//! [`Near`] sits where the path leaves its first node: what the node forwards there goes through the tunnel queue instead
//! ("one routing entry", DEC-2). [`Far`] sits at the last node and sees only what is for that node itself; data pass there
//! as in any router (DEC-19), and so does whatever goes the other way, at both. A full tunnel queue of a router drops.
//! What the packets carry does not matter: a stream of datagrams is sent as TCP would, and not repeated (DEC-29).
//!
//! The control TCPs cross the path as segments of their own, or in messages between the two ends. Between gateways both is
//! the work of a [`Station`], which says HELLO to the other, and is both ends of two trunks if each way has one.

mod far;
mod message;
mod near;
mod settings;
mod station;
#[cfg(test)]
mod tests;
mod tunnel;

pub use far::Far;
pub use near::Near;
pub use settings::{Carriage, EndSettings, Fail, Headers, TrunkSettings};
pub use station::Station;

use super::{Circuit, CircuitEnd};
use crate::papers::decoupling::events;
use crate::{End, Made, PathEnds, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::Instant;
use airtcp_core::parameters::ParameterError;
use airtcp_link::Queue;
use alloc::boxed::Box;

/// TCP Decoupling's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "decoupling",
    about: "A trunk whose rate is set by control TCPs with header packets; its data is not changed, acknowledged or retransmitted",
    source: "Wang & Kung, Use of TCP Decoupling in Improving TCP Performance over Wireless Networks",
    placement: Placement::Path,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: events::GAUGES },
    settings: || settings_for(make),
};

fn make(settings: &TrunkSettings, site: &mut Site<'_>) -> Made {
    settings.check()?;
    let is_tunnel = settings.ends.carriage == Carriage::Tunnel;
    if is_tunnel && matches!(site.link.ends, Some(PathEnds::Nodes(_))) {
        return Err(ParameterError::bad(
            "carriage",
            "in a scenario routers treat data and header packets alike; \"tunnel\" is for a gateway file, write direct",
        ));
    }
    let [local, remote] = match (settings.ends.headers, site.link.ends) {
        (None | Some(Headers::Tcp), Some(PathEnds::Nodes(addresses))) => addresses,
        (None | Some(Headers::Udp), _) => return Ok(Box::new(Station::new(settings, site, None))),
        (Some(Headers::Tcp), _) if is_tunnel => {
            return Err(ParameterError::bad(
                "headers",
                "in a tunnel data and header packets are one flow, of messages; write udp, or carriage direct",
            ));
        }
        (Some(Headers::Tcp), Some(PathEnds::Gateways(addresses))) => {
            return Ok(Box::new(Station::new(settings, site, Some(addresses))));
        }
        (Some(Headers::Tcp), None) => {
            return Err(ParameterError::bad(
                "headers",
                "as segments the control TCPs need the address of the other gateway: set `peer`, or write udp",
            ));
        }
    };
    Ok(match site.end {
        End::Near => {
            let circuit = Circuit::new(&settings.circuit, local, remote, site.rng, Instant::ZERO);
            let circuit = with_queue(circuit, settings.ends.queue.as_ref(), site);
            Box::new(Near::new(circuit, site.max_memory.0))
        }
        End::Far => Box::new(Far::new(CircuitEnd::new(&settings.circuit, local, remote, site.rng))),
        End::Both => {
            return Err(ParameterError::bad("headers", "as segments they cross the path one way; write udp"));
        }
    })
}

/// The circuit with another tunnel queue than a FIFO, if one is wanted. It takes a quarter of the memory at most, as any.
fn with_queue(circuit: Circuit, queue: Option<&Queue>, site: &mut Site<'_>) -> Circuit {
    match queue {
        Some(queue) => circuit.with_queue(queue, site.max_memory.0 / 4, site.rng),
        None => circuit,
    }
}
