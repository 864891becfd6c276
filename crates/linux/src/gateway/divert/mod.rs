//! Takes a link's packets into two TUN devices and puts back what is written into them. When the process is gone, the
//! router forwards as before.
//!
//! There are two ways, and [`link`] is the right one: programs of ours at the link itself, behind everything that the
//! router does with a packet. Where the kernel cannot run them, marks and policy routes take the packets on their way
//! through the router ([`routed`]); rules of a firewall may then see them twice, so that way refuses a router with rules
//! that it would break.

mod device;
mod error;
#[cfg(feature = "bpf")]
pub mod link;
#[cfg(not(feature = "bpf"))]
#[path = "link_absent.rs"]
pub mod link;
mod lock;
mod method;
pub mod routed;
mod step;

pub use device::{DEVICE_QUEUE_PACKETS, Devices, Way};
pub use error::DivertError;
pub use method::Method;

use super::config::Config;
use airtcp_core::Instant;
use link::LinkDiversion;
use lock::Lock;
use routed::RoutedDiversion;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;

/// Which packets are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// None.
    Nothing,
    /// TCP segments, unfragmented.
    Tcp,
    /// All of IP.
    All,
}

/// Traffic of one link, diverted as long as [`Diversion::beat`] is called, until this is dropped.
pub struct Diversion {
    way: Taking,
    wanted: Wanted,
    _lock: Lock,
}

enum Taking {
    Link(LinkDiversion),
    Routed(RoutedDiversion),
}

impl Diversion {
    /// Prepares to divert. Nothing is taken before the first [`Diversion::beat`].
    ///
    /// # Errors
    /// What stands in the way, with what to do; nothing is left behind.
    pub fn start(config: &Config) -> Result<(Diversion, Devices), DivertError> {
        let lock = Lock::link(&config.link)?;
        let devices = Devices::open(&config.name)?;
        let at_link = match config.method {
            Some(Method::Routed) => None,
            method => match LinkDiversion::start(config, method) {
                Ok(link) => Some(link),
                Err(DivertError::NoPrograms { .. }) if method.is_none() => None,
                Err(error) => return Err(error),
            },
        };
        let way = match at_link {
            Some(link) => Taking::Link(link),
            None => Taking::Routed(RoutedDiversion::start(config, &devices.out)?),
        };
        Ok((Diversion { way, wanted: Wanted::Nothing, _lock: lock }, devices))
    }

    /// Goes on diverting what is `wanted` for a second. Call it ten times a second.
    ///
    /// # Errors
    /// What was set up was lost; start anew.
    pub fn beat(&mut self, now: Instant, wanted: Wanted) -> Result<(), DivertError> {
        self.wanted = wanted;
        match &mut self.way {
            Taking::Link(link) => link.beat(now, wanted),
            Taking::Routed(routed) => routed.beat(wanted != Wanted::Nothing),
        }
    }

    /// True if packets are taken now.
    pub fn is_diverting(&self) -> bool {
        self.takes() != Wanted::Nothing
    }

    /// Which packets are taken now. The second best way takes all where it takes any.
    pub fn takes(&self) -> Wanted {
        match &self.way {
            Taking::Link(link) if !link.knows_whose() => Wanted::Nothing,
            Taking::Link(_) => self.wanted,
            Taking::Routed(_) if self.wanted == Wanted::Nothing => Wanted::Nothing,
            Taking::Routed(_) => Wanted::All,
        }
    }

    /// How packets are taken.
    pub fn method(&self) -> Method {
        match &self.way {
            Taking::Link(link) => link.method(),
            Taking::Routed(_) => Method::Routed,
        }
    }

    /// What the programs at the link did so far, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        match &self.way {
            Taking::Link(link) => link.counters(),
            Taking::Routed(_) => Vec::new(),
        }
    }

    /// Becomes readable when what was set up is lost.
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Taking::Link(_) => None,
            Taking::Routed(routed) => routed.watch(),
        }
    }

    /// Takes no more packets; those in the devices can still be read, and written back.
    pub fn stop(&mut self) {
        self.wanted = Wanted::Nothing;
        match &mut self.way {
            Taking::Link(link) => link.stop(),
            Taking::Routed(routed) => routed.stop_marking(),
        }
    }
}

/// Removes what a killed gateway on `link` left.
pub fn remove_leftovers(link: &str) {
    // Held meanwhile; one that somebody holds has a gateway that runs.
    let Some(_lock) = Lock::try_link(link) else { return };
    link::remove_leftovers(link);
    if let Err(error) = routed::slot::remove_leftovers() {
        tracing::warn!("{error}");
    }
}
