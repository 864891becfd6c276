//! Schemes to compare with: what the systems' papers were measured against, and what a user could
//! switch on instead. Each is meant to be as good as its idea allows.
//!
//! At one box of the path (`docs/baselines.md`): [`snoop`], [`eln`], [`delayed_dupacks`]; they
//! share the classification of acknowledgments (`acks`) and the queue before the link (`egress`). [`ack_filter`] has a queue
//! of its own, in which acknowledgments are replaced. At a hop (`docs/baselines-hop.md`): [`arq`], [`fec`], [`split`],
//! which share what two ends of a hop need (`hop`).

pub mod ack_filter;
pub mod arq;
pub mod delayed_dupacks;
pub mod eln;
pub mod fec;
pub mod snoop;
pub mod split;

use airtcp_core::parameters::ParameterError;

/// Refuses a parameter `mtu` that leaves TCP no room.
fn check_mtu(mtu: u32) -> Result<(), ParameterError> {
    if mtu >= 576 {
        return Ok(());
    }
    Err(ParameterError::bad("mtu", "TCP needs 576 bytes or more (RFC 9293 3.7.1); write 1500 if in doubt"))
}
