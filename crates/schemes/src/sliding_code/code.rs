//! What the encoder makes and the decoder takes.

use crate::position::Position;
use alloc::vec::Vec;

/// Most source symbols in a code.
pub(super) const MOST_COUNT: usize = 255;

/// A sum of consecutive source symbols (a repair symbol in RFC 8681).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    /// Position of the first source symbol in it.
    pub first: Position,
    /// How many there are.
    pub count: u8,
    /// Chooses the coefficients.
    pub seed: u16,
    /// The sum: as long as the longest symbol with its head.
    pub symbol: Vec<u8>,
    /// The longest of their lengths on the wire, in bytes; for the one who accounts for it, the code needs it not.
    pub longest: u32,
}
