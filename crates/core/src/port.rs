//! The two sides of an element.

/// One side of an element. A scheme placed on a link has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u8);

impl Port {
    /// Towards the node's own forwarding and stack.
    pub const INNER: Port = Port(0);
    /// Towards the link the scheme is placed on.
    pub const LINK: Port = Port(1);

    /// Place in a list of the two sides.
    pub const fn index(self) -> usize {
        (self.0 & 1) as usize
    }

    /// The other of the two sides.
    pub const fn opposite(self) -> Port {
        Port(self.0 ^ 1)
    }
}
