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

pub use device::{DEVICE_QUEUE_PACKETS, Devices, Way, estate_name};
pub use error::DivertError;
pub use method::Method;

use super::config::{Config, Role};
use super::estate::Estate;
use airtcp_core::{Instant, OwnSegments};
use link::{Headers, LinkDiversion};
pub use lock::Lock;
use routed::RoutedDiversion;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

/// Which packets are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// None.
    Nothing,
    /// TCP segments, unfragmented.
    Tcp,
    /// All of IP.
    All,
    /// All of IP that is about to leave, and nothing that arrives.
    Leaving,
}

/// Traffic of one link, diverted as long as [`Diversion::beat`] is called, until this is dropped.
pub struct Diversion {
    way: Taking,
    /// By peer.
    wanted: Vec<Wanted>,
    link: String,
    lock: Lock,
}

enum Taking {
    Link(Box<LinkDiversion>),
    Routed(RoutedDiversion),
}

impl Diversion {
    /// Prepares to divert on the link that is held, and to take segments of each peer's that are for the gateway itself. Nothing is taken
    /// before the first [`Diversion::beat`]; by an heir, before [`Diversion::take_over`].
    ///
    /// # Errors
    /// What stands in the way, with what to do; nothing is left behind.
    pub fn start(
        config: &Config,
        own: &[Option<OwnSegments>],
        lock: Lock,
        estate: &mut Estate,
    ) -> Result<(Diversion, Vec<Devices>), DivertError> {
        let peers = config.each_peer();
        let devices = peers.iter().map(|peer| Devices::open(&peer.name, estate)).collect::<Result<Vec<_>, _>>()?;
        own.iter().flatten().try_for_each(|own| has_address(own, config))?;
        let is_station = config.role == Some(Role::Station);
        let can_be_routed = config.takes_whole_link() && own.iter().all(Option::is_none) && !is_station;
        let at_link = match config.method {
            method if estate.is_inherited() => Some(LinkDiversion::start(config, method, own, estate)?),
            Some(Method::Routed) if can_be_routed => None,
            Some(Method::Routed) if is_station => return Err(DivertError::RoutedStation),
            Some(Method::Routed) => return Err(DivertError::RoutedSegments),
            method => match LinkDiversion::start(config, method, own, estate) {
                Ok(link) => Some(link),
                Err(DivertError::NoPrograms { .. }) if method.is_none() && can_be_routed => None,
                Err(error) => return Err(error),
            },
        };
        let way = match at_link {
            Some(link) => Taking::Link(Box::new(link)),
            None => Taking::Routed(RoutedDiversion::start(config, &devices[0].out)?),
        };
        let (link, wanted) = (config.link.clone(), vec![Wanted::Nothing; peers.len()]);
        Ok((Diversion { way, wanted, link, lock }, devices))
    }

    /// What an heir goes on with, beside the devices; nothing where it cannot.
    pub fn lend(&self) -> Vec<(String, BorrowedFd<'_>)> {
        let Taking::Link(link) = &self.way else { return Vec::new() };
        let mut things = link.lend();
        if !things.is_empty() {
            things.push(self.lock.lend(&self.link));
        }
        things
    }

    /// The one before has stopped: what this has prepared takes its place.
    ///
    /// # Errors
    /// What was set up was lost; start anew.
    pub fn take_over(&self) -> Result<(), DivertError> {
        match &self.way {
            Taking::Link(link) => link.take_over(),
            Taking::Routed(_) => Ok(()),
        }
    }

    /// Goes on diverting what is wanted of each peer's packets for a second; `addresses` says where the peers are. Call it
    /// ten times a second.
    ///
    /// # Errors
    /// What was set up was lost; start anew.
    pub fn beat(&mut self, now: Instant, wanted: &[Wanted], addresses: &[Option<IpAddr>]) -> Result<(), DivertError> {
        self.wanted.copy_from_slice(wanted);
        match &mut self.way {
            Taking::Link(link) => link.beat(now, wanted, addresses),
            Taking::Routed(routed) => routed.beat(self.wanted[0] != Wanted::Nothing),
        }
    }

    /// True if packets are taken now, of any peer.
    pub fn is_diverting(&self) -> bool {
        (0..self.wanted.len()).any(|peer| self.takes(peer) != Wanted::Nothing)
    }

    /// Which packets of a peer are taken now. The second best way takes all where it takes any.
    pub fn takes(&self, peer: usize) -> Wanted {
        match &self.way {
            Taking::Link(link) if !link.knows_whose(peer) => Wanted::Nothing,
            Taking::Link(_) => self.wanted[peer],
            Taking::Routed(_) if self.wanted[peer] == Wanted::Nothing => Wanted::Nothing,
            Taking::Routed(_) => Wanted::All,
        }
    }

    /// Why no packets of a peer that answers are taken, as a sentence with what to do.
    pub fn advice(&self, peer: usize) -> Option<&'static str> {
        match &self.way {
            Taking::Link(link) => link.advice(peer),
            Taking::Routed(_) => None,
        }
    }

    /// The hardware addresses of the packets that are taken, where programs take them.
    ///
    /// # Errors
    /// Too many open files.
    pub fn headers(&self) -> std::io::Result<Option<Headers>> {
        match &self.way {
            Taking::Link(link) => link.headers().map(Some),
            Taking::Routed(_) => Ok(None),
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
        self.wanted.fill(Wanted::Nothing);
        match &mut self.way {
            Taking::Link(link) => link.stop(),
            Taking::Routed(routed) => routed.stop_marking(),
        }
    }
}

/// Segments need an address at this end.
fn has_address(own: &OwnSegments, config: &Config) -> Result<(), DivertError> {
    if own.local.is_unspecified() {
        return Err(DivertError::NoAddress { remote: own.remote, link: config.link.clone() });
    }
    Ok(())
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
