//! A scheme on a router's real packets: one process that looks after another that does the work.
//!
//! ```text
//! supervisor ── heartbeat pipe ──► worker: devices ─► parse ─► element ─► devices
//!                                      │  control socket (UDP to the peer's worker)
//!                                      └─ status socket (JSON, Prometheus)
//! ```
//!
//! What keeps traffic flowing when something dies, hangs or is stopped:
//! - the worker dies: its devices vanish with their routes; the kernel forwards plainly;
//! - the worker hangs or is stopped: the kernel stops diverting 1 s after its last heartbeat
//!   packet, and the supervisor kills and restarts it;
//! - the supervisor dies: the kernel kills the worker with it;
//! - everything is stopped: the kernel's 1 s still holds.

pub mod bare;
mod burden;
pub mod command;
pub mod config;
pub mod confine;
pub mod control;
pub mod divert;
pub(crate) mod estate;
pub mod exposition;
mod facts;
mod firewall;
pub mod hops;
mod host;
pub mod inspect;
mod letters;
mod life;
pub mod metrics;
mod network;
pub(crate) mod news;
pub mod orders;
mod outlet;
mod parcel;
pub mod path_test;
pub mod peers;
mod pid_file;
mod predecessor;
pub mod reload;
mod renewal;
mod requests;
pub mod runtime;
mod same_path;
pub mod scheme;
mod setups;
mod share;
pub mod status;
pub mod supervisor;
pub mod upgrade;
mod values;
pub mod wifi;
pub mod worker;
mod world;

pub use config::{Config, ConfigError, Direction, Role};
pub use facts::Facts;
pub use inspect::{check, plan};
pub use network::{Network, NetworkError};
pub use requests::{RequestError, ask_reload, ask_upgrade, name_of};
pub use status::Status;
