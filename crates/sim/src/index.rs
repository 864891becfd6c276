//! The numbers of a run's things, each kind of a type of its own: whoever takes a node for an element is told by the
//! compiler. Tables that such a number is a place in are of `TiVec` (typed-index-collections).

/// Declares types of numbers, all of the width that packets and tables have for them.
macro_rules! numbers {
    ($($(#[$about:meta])* $name:ident)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        #[cfg(test)]
        impl $name {
            /// For constants of tests.
            #[allow(dead_code, reason = "not every kind has such constants")]
            pub const fn at(place: u32) -> Self {
                $name(place)
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(place: usize) -> Self {
                $name(place as u32)
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(number: $name) -> Self {
                number.0 as usize
            }
        }
    )*};
}

numbers! {
    /// A node, by its place in the topology.
    NodeId
    /// A link, by its place in the topology.
    LinkId
    /// An 802.11 cell, by its place in the topology.
    WlanId
    /// A flow, by its place in the topology.
    FlowId
    /// A probe, by its place in the topology.
    ProbeId
    /// A workload, by its place in the topology.
    WorkloadId
    /// A direction of a link.
    PipeId
    /// Links that packets end behind, and that one link feeds.
    FanId
    /// The beginning of a link that several others feed.
    JointId
    /// A direction between an access point and a station of its cell, among those of all cells.
    AirHopId
    /// A host, or an element of a scheme.
    ElementId
    /// A station's interface to the medium of its cell.
    InterfaceId
    /// An end of a flow, at its host.
    SocketId
}

impl NodeId {
    /// No node's: there are never so many.
    pub const NONE: NodeId = NodeId(u32::MAX);
}

impl ElementId {
    /// No element's, alike.
    pub const NONE: ElementId = ElementId(u32::MAX);
}

impl FlowId {
    /// The number itself, for what is not in this crate.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl PipeId {
    /// The pipe of a link in one direction.
    pub fn of(link: LinkId, reverse: bool) -> PipeId {
        PipeId(2 * link.0 + u32::from(reverse))
    }
}

impl InterfaceId {
    /// That of the access point.
    pub const AP: InterfaceId = InterfaceId(0);
    /// That of the first station.
    pub const FIRST: InterfaceId = InterfaceId(1);
}

/// What carries packets from a node to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A pipe.
    Wire(PipeId),
    /// A direction within a cell.
    Air(AirHopId),
}
