//! What the schemes at the two ends of a hop share (link ARQ, link FEC, the header hop): control messages that take the
//! link's time, room in the MTU for what they add, and the order of what comes out.

mod control;
mod order;
mod shim_room;
#[cfg(test)]
pub mod testing;
pub(crate) mod times;

use crate::egress::Egress;
use crate::peer::Peer;
use crate::tally::Tally;
use airtcp_core::{Context, DropReason, Event, Gauge, Packet, TakenShim};

pub(crate) use control::{hello_distance, hello_share, tell};
pub use order::Part;
pub(crate) use order::{Keep, Onward, Order, Outlet, Passed, Turn};
pub(crate) use shim_room::{ShimRoom, check_mtu};

/// Reports the levels that both ends of every hop have: of the queue before the link, of what is `held` back, and of the
/// other end.
pub(crate) fn observe(gauge: &mut dyn FnMut(Gauge, u64), egress: &Egress, held: &Tally, peer: &Peer) {
    gauge(Gauge::QUEUE_BYTES, egress.backlog().bytes);
    gauge(Gauge::QUEUE_BYTES_MAX, egress.bytes_max());
    gauge(Gauge::HELD_BYTES, held.waiting.bytes);
    gauge(Gauge::HELD_BYTES_MAX, held.bytes_max);
    gauge(Gauge::LINK_RTT_NS, peer.rtt().as_nanos());
    gauge(Gauge::PEER_IN_REACH, u64::from(peer.in_reach()));
}

/// A full-size packet, for packet times.
pub(crate) const PACKET_BYTES: u32 = 1500;

/// The incarnation of an end, as every frame names it. A restarted end has another epoch and counts anew, so its frames
/// must be told from earlier ones.
pub(crate) const fn incarnation(epoch: u64) -> u16 {
    epoch as u16
}

/// Takes a shim off a packet that came over the link: its body as `decode` reads it, and the packet. A damaged packet
/// is dropped.
pub(crate) fn unwrap<F>(
    cx: &mut Context<'_>,
    mut packet: Packet,
    decode: impl FnOnce(&[u8]) -> Option<F>,
) -> Option<(Option<F>, Packet)> {
    match packet.take_shim() {
        TakenShim::None => Some((None, packet)),
        TakenShim::Body(body) => Some((decode(&body), packet)),
        TakenShim::Damaged => {
            cx.emit(Event::CHECKSUM_BAD);
            cx.discard(packet, DropReason::CORRUPTED);
            None
        }
    }
}

/// Takes `N` bytes off the front of `rest`.
pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
