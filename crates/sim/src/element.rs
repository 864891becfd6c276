//! An element in its place, with its ledger.

use crate::belief::Belief;
use crate::events::Kind;
use crate::host::Host;
use crate::index::{ElementId, Hop, NodeId, WlanId};
use crate::network::{Departures, Network};
use airtcp_core::{Duration, Element, Instant, Ledger, Port, Rng};
use airtcp_link::varying::Forecast;
use airtcp_schemes::{End, LinkFacts};
use std::sync::Arc;
use typed_index_collections::TiSlice;

/// A host, whose flows are measured, or a scheme.
pub enum ElementKind {
    Host(Host),
    Scheme(Box<dyn Element + Send>),
}

impl ElementKind {
    pub fn element(&mut self) -> &mut dyn Element {
        match self {
            ElementKind::Host(host) => host,
            ElementKind::Scheme(scheme) => scheme.as_mut(),
        }
    }
    pub fn as_element(&self) -> &dyn Element {
        match self {
            ElementKind::Host(host) => host,
            ElementKind::Scheme(scheme) => scheme.as_ref(),
        }
    }
}

/// An element and what the engine knows of it.
///
/// In this order in memory, so that a packet for a host, and one that it sends, touch four cache lines of it.
#[repr(C, align(64))]
pub struct PlacedElement {
    pub body: ElementKind,
    pub place: Place,
    /// How much more than the engine's its machine's clock shows: nothing at hosts.
    pub clock: Duration,
    /// When the queue has its timeout; the end of time for never.
    pub armed: Instant,
    pub ledger: Ledger,
    pub rng: Rng,
    /// Timeouts handled at one and the same time.
    pub busy: (Instant, u32),
    /// What it believed of its link, at each sample.
    pub beliefs: Vec<Belief>,
}

const _: () = assert!(size_of::<PlacedElement>() == 384, "six cache lines");
const _: () = assert!(std::mem::offset_of!(PlacedElement, ledger) == 192, "three before the accounts");

impl PlacedElement {
    /// When it wants to be called, on the engine's clock; the end of time for never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        match &self.body {
            ElementKind::Host(host) => host.deadline(),
            ElementKind::Scheme(scheme) => scheme
                .poll_timeout()
                .map_or(Instant::MAX, |due| Instant::ZERO + due.saturating_since(Instant::ZERO + self.clock)),
        }
    }

    /// Before it is called at `now`: whoever had asked for it may have put it off since.
    #[inline]
    pub fn put_off(&mut self, now: Instant) {
        if let ElementKind::Host(host) = &mut self.body {
            host.put_off(now);
        }
    }

    /// Makes sure that the queue has an event no later than its deadline. A deadline that moved later changes nothing: the
    /// pending event finds out. A host's does not before the event is due.
    #[inline]
    pub fn arm(&mut self, now: Instant, network: &mut Network<'_>) {
        let due = self.deadline();
        let (due, is_news) = match &self.body {
            ElementKind::Host(_) => (due, due != self.armed),
            ElementKind::Scheme(_) => (due.max(now), due.max(now) < self.armed),
        };
        if is_news {
            self.armed = due;
            network.queue.set(network.sources.of(Kind::Timeout(self.place.index)), due.max(now), network.since);
        }
    }

    /// Counts a handled timeout; true when the element asks for more at the same time than any
    /// backlog explains: it would stop time.
    pub fn is_stuck(&mut self, now: Instant) -> bool {
        let count = if self.busy.0 == now { self.busy.1 + 1 } else { 0 };
        self.busy = (now, count);
        count > MAX_TIMEOUTS_AT_ONCE
    }
}

const MAX_TIMEOUTS_AT_ONCE: u32 = 100_000;

/// What is behind an element's [`Port::LINK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The node itself, which forwards: that of a host.
    Node,
    /// A hop.
    Hop(Hop),
    /// Every station of the cell at this site: that of an access point.
    Stations(WlanId),
}

/// Where an element sits, and how its packets leave there.
#[derive(Debug)]
pub struct Place {
    /// "schemes.repair.a"; that of a host is made when it is asked for: see [`Place::name`].
    pub scheme_name: Box<str>,
    pub index: ElementId,
    pub node: NodeId,
    /// What is behind [`Port::LINK`].
    pub exit: Exit,
    /// The element at the other end of a two-ended scheme, and its node.
    pub peer: Option<(ElementId, NodeId)>,
    /// The port that has refused a packet and owes a call of `handle_ready`.
    pub refused: Option<Port>,
    pub departures: Departures,
}

impl Place {
    /// "schemes.repair.a" or "hosts.sender", where nodes have these names.
    pub fn name(&self, nodes: &TiSlice<NodeId, Arc<str>>) -> String {
        if self.exit == Exit::Node { host_name(&nodes[self.node]) } else { self.scheme_name.to_string() }
    }
}

/// What the host at a node of this name is called.
pub fn host_name(node: &str) -> String {
    format!("hosts.{node}")
}

/// Where an element of a scheme is placed, and what is known there.
pub struct SchemePlace {
    pub node: NodeId,
    pub end: End,
    /// Facts about the link or path, seen from this end.
    pub link: LinkFacts,
    pub forecast: Option<Forecast>,
    pub exit: Exit,
}
