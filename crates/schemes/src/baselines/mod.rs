//! Schemes to compare with: what the systems' papers were measured against, and what a user could
//! switch on instead. Each is meant to be as good as its idea allows.
//!
//! At one box of the path (`docs/baselines.md`): [`snoop`], [`eln`], [`delayed_dupacks`]; they
//! share the classification of acknowledgments (`acks`) and the queue before the link (`egress`). [`ack_filter`] has a queue
//! of its own, in which acknowledgments are replaced, and [`thin`] lets every N-th leave. At a hop (`docs/baselines-hop.md`): [`arq`], [`fec`], [`split`],
//! which share what two ends of a hop need (`hop`); and what is run today (`docs/rivals.md`): [`autorate`], [`fec_tunnel`].

pub mod ack_filter;
pub mod arq;
pub mod autorate;
pub mod delayed_dupacks;
pub mod eln;
pub mod fec;
pub mod fec_tunnel;
pub mod snoop;
pub mod split;
pub mod thin;
