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
}

impl From<Emulation> for Flow {
    fn from(sent: Emulation) -> Flow {
        Flow { sent, received: Restraint::default() }
    }
}
