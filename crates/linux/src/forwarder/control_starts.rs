//! Where this end's SYNs to the control TCPs of the peer's circuit stood: header packets leave that out ([`super::frame`]).

use super::frame::{Front, Kind};
use airtcp_core::Packet;

/// By control TCP, the number behind our SYN.
#[derive(Clone, Debug, Default)]
pub struct ControlStarts(Vec<Option<u32>>);

impl ControlStarts {
    /// What a header packet of this frame acknowledges.
    pub fn of(&self, front: &Front) -> Option<u32> {
        self.0.get(usize::from(front.control)).copied().flatten()
    }

    /// `packet` leaves here, as a frame of this kind, to this control TCP.
    pub fn note(&mut self, kind: Kind, control: u8, packet: &Packet) {
        let syn = packet.tcp().filter(|tcp| kind == Kind::ControlAck && tcp.flags.syn()).map(|tcp| tcp.sequence);
        let (Some(syn), at) = (syn, usize::from(control)) else { return };
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(syn.0.wrapping_add(1));
    }
}
