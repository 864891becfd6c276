//! An element in its place, with the accounts that make conservation checkable.

use crate::host::Host;
use airtcp_core::{CreateReason, DropReason, Element, Event, Instant, Port, Rng};

/// A host, whose flows are measured, or a scheme.
pub enum Body {
    Host(Box<Host>),
    Scheme(Box<dyn Element + Send>),
}

impl Body {
    pub fn element(&mut self) -> &mut dyn Element {
        match self {
            Body::Host(host) => host.as_mut(),
            Body::Scheme(scheme) => scheme.as_mut(),
        }
    }
    pub fn as_element(&self) -> &dyn Element {
        match self {
            Body::Host(host) => host.as_ref(),
            Body::Scheme(scheme) => scheme.as_ref(),
        }
    }
}

/// An element and what the engine knows of it.
pub struct Slot {
    pub body: Body,
    pub rng: Rng,
    pub place: Place,
    pub accounts: Accounts,
    /// Timeouts handled at one and the same time.
    pub busy: (Instant, u32),
}

impl Slot {
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
    /// A way.
    Way(usize),
    /// Every station of the cell at this site: that of an access point.
    Stations(usize),
}

/// Where an element sits.
#[derive(Clone, Debug)]
pub struct Place {
    /// "schemes.repair.a" or "hosts.sender"
    pub name: String,
    pub index: usize,
    pub node: usize,
    /// What is behind [`Port::LINK`].
    pub exit: Exit,
    /// The element at the other end of a two-ended scheme.
    pub peer: Option<usize>,
}

/// Both sides of *in + created = sent + held + consumed + discarded*.
#[derive(Clone, Debug)]
pub struct Accounts {
    pub received: u64,
    pub sent: u64,
    pub consumed: u64,
    pub created: [u64; CreateReason::ALL.len()],
    pub discarded: [u64; DropReason::ALL.len()],
    pub events: [u64; Event::ALL.len()],
    pub refused: Option<Port>,
}

impl Default for Accounts {
    fn default() -> Self {
        Accounts {
            received: 0,
            sent: 0,
            consumed: 0,
            created: [0; CreateReason::ALL.len()],
            discarded: [0; DropReason::ALL.len()],
            events: [0; Event::ALL.len()],
            refused: None,
        }
    }
}

impl Accounts {
    /// What must be held if nothing was lost or invented; negative when more left than came.
    pub fn balance(&self) -> i64 {
        let created: u64 = self.created.iter().sum();
        let discarded: u64 = self.discarded.iter().sum();
        (self.received + created) as i64 - (self.sent + self.consumed + discarded) as i64
    }
}
