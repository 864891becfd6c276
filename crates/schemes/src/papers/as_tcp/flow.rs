//! What the sublayer remembers of one connection.

use super::restraint::Restraint;
use crate::emulation::Emulation;

/// By the direction in which data leave over the medium.
#[derive(Debug)]
pub(super) struct Flow {
    /// Of what leaves.
    pub sent: Emulation,
    /// Of what comes.
    pub received: Restraint,
    /// Which it is of all that the station ever remembered: another one may have its slot later.
    pub number: u32,
}

impl Flow {
    /// One that begins.
    pub fn new(sent: Emulation, number: u32) -> Flow {
        Flow { sent, received: Restraint::default(), number }
    }
}
