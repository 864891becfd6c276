//! What link ARQ and link FEC share: the queue before the link, the room for what they add,
//! and the order of what comes out.

#[cfg(test)]
pub mod bench;
mod fit;
mod line;
mod order;

pub(super) use fit::Fit;
pub(super) use line::Line;
pub(super) use order::Order;

/// IP, UDP and envelope around a control message.
pub(super) const CONTROL_OVERHEAD: u32 = 20 + 8 + 28;
/// A full-size packet, for packet times.
pub(super) const PACKET_BYTES: u32 = 1500;

/// Names one life of an end in every frame: a restarted end counts anew.
pub(super) const fn life(epoch: u64) -> u16 {
    epoch as u16
}

/// Takes `N` bytes off the front of `rest`.
pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
