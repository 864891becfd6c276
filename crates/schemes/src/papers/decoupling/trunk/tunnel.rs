//! The carriage *tunnel*: data leave in messages to the far end, as the header packets do, so that both are one flow on the
//! path. Queues of their own and several next hops, which go by addresses and ports, treat them alike (DEC-20, DEC-22).
//!
//! A packet takes more of the path so, and as many bytes count in the tunnel queue and for virtual segments. What is too
//! long is treated as a router treats it before a link of such an MTU: it is cut, or its sender is told. A message that is
//! too long all the same leaves as fragments of itself: of IPv6 packets up to 1280 bytes, which no MTU may refuse
//! (RFC 2473 section 7.1), and of those that waited while the path's MTU fell.

use super::message;
use crate::papers::decoupling::events;
use airtcp_core::{Context, CreateReason, DropReason, Duration, Instant, Packet, Port};
use alloc::vec::Vec;

/// The MTU of a link of which nothing is said.
const USUAL_MTU: u32 = 1500;
/// IP carries packets of this length over any path (RFC 791, RFC 8200).
const LEAST_MTU: [u32; 2] = [68, 1280];
/// IP and TCP header without options.
const HEADERS: [u32; 2] = [40, 60];
/// At most so many senders are told in each [`TOLD_EVERY`] (RFC 1812 section 4.3.2.8).
const TOLD: u32 = 100;
const TOLD_EVERY: Duration = Duration::from_millis(100);

/// The way into the tunnel.
#[derive(Debug)]
pub(super) struct Tunnel {
    link_mtu: u32,
    clamps_mss: bool,
    /// Longest packet that it took whole when it was asked last.
    mtu: u32,
    told: (Instant, u32),
}

/// What becomes of a packet.
#[derive(Debug)]
pub(super) enum Admitted {
    /// It enters.
    Whole(Packet),
    /// Its fragments do.
    Fragments(Vec<Packet>),
    /// It was too long.
    Nothing,
}

impl Tunnel {
    /// Through a link of this MTU, if it is known. `clamps_mss`: SYNs announce what fits.
    pub fn new(link_mtu: Option<u32>, clamps_mss: bool) -> Tunnel {
        let link_mtu = link_mtu.unwrap_or(USUAL_MTU);
        Tunnel { link_mtu, clamps_mss, mtu: link_mtu, told: (Instant::ZERO, 0) }
    }

    /// Longest packet that it took whole when it was asked last.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Asks what the path takes; bytes that a message takes of it besides the packet.
    pub fn look(&mut self, cx: &Context<'_>) -> u32 {
        let overhead = cx.control_overhead() + message::KIND;
        let path_mtu = cx.path_mtu().map_or(self.link_mtu, |path| path.min(self.link_mtu));
        self.mtu = path_mtu.saturating_sub(overhead);
        overhead
    }

    /// What of a packet enters, each as long as it is on the path.
    pub fn admit(&mut self, cx: &mut Context<'_>, mut packet: Packet) -> Admitted {
        let overhead = self.look(cx);
        let family = usize::from(packet.ip().source.is_ipv6());
        let mtu = self.mtu.max(LEAST_MTU[family]);
        if self.clamps_mss {
            // Also below what IPv6 carries over any path: a message that is cut is two on it.
            let fits = self.mtu.max(LEAST_MTU[0]).saturating_sub(HEADERS[family]);
            packet.clamp_mss(u16::try_from(fits).unwrap_or(u16::MAX));
        }
        if packet.ip().total_len <= mtu {
            return Admitted::Whole(lengthen(packet, overhead));
        }
        let Some(fragments) = packet.fragments(mtu) else {
            self.refuse(cx, packet, mtu);
            return Admitted::Nothing;
        };
        cx.emit(events::FRAGMENTED);
        cx.consume(packet);
        let fragments = fragments.into_iter().map(|part| cx.create(lengthen(part, overhead), events::FRAGMENT));
        Admitted::Fragments(fragments.collect())
    }

    fn refuse(&mut self, cx: &mut Context<'_>, packet: Packet, mtu: u32) {
        if cx.now().saturating_since(self.told.0) >= TOLD_EVERY {
            self.told = (cx.now(), 0);
        }
        if self.told.1 < TOLD
            && let Some(error) = packet.too_big(mtu)
        {
            self.told.1 += 1;
            cx.emit(events::TOO_BIG_TOLD);
            let error = cx.create(error, CreateReason::CONTROL);
            cx.send(Port::INNER, error);
        }
        cx.discard(packet, DropReason::TOO_BIG);
    }
}

fn lengthen(mut packet: Packet, overhead: u32) -> Packet {
    packet.set_wire_len(packet.ip().total_len + overhead);
    packet
}

/// The packet as it came, for the path beside the tunnel.
pub(super) fn without(mut packet: Packet) -> Packet {
    packet.set_wire_len(packet.ip().total_len);
    packet
}
