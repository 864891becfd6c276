//! A shim must fit into the link's MTU beside the packet. TCP is told by the MSS of its SYNs, as
//! tunnels do; what is too long all the same leaves without protection.

use crate::LinkFacts;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Context, Event, Packet};

/// The IP header of a tail, at most.
const TAIL_HEADER: u32 = 40;
/// Where nothing is known of the link: Ethernet.
const DEFAULT_MTU: u32 = 1500;

/// Refuses a parameter `mtu` that leaves TCP no room.
pub(crate) fn check_mtu(mtu: u32) -> Result<(), ParameterError> {
    if mtu >= 576 {
        return Ok(());
    }
    Err(ParameterError::bad("mtu", "TCP needs 576 bytes or more (RFC 9293 3.7.1); write 1500 if in doubt"))
}

/// How long a packet may be to be protected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShimRoom {
    /// Longest protected packet, IPv4 and IPv6.
    longest: [u32; 2],
}

impl ShimRoom {
    /// On a link with the MTU that is configured or known, the smaller of both, beside so much for an IPv4 and an
    /// IPv6 packet.
    pub fn new(configured: Option<u32>, link: &LinkFacts, overhead: [u32; 2]) -> ShimRoom {
        let mtu = configured.into_iter().chain(link.mtu).min().unwrap_or(DEFAULT_MTU);
        ShimRoom { longest: overhead.map(|overhead| mtu.saturating_sub(overhead)) }
    }

    /// Makes a SYN ask for segments that leave the room. Called for what leaves and for what comes: the other end may not
    /// have seen it, as each end begins when it hears the other.
    pub fn clamp(&self, packet: &mut Packet) {
        let is_ipv4 = packet.ip().source.is_ipv4();
        let headers = if is_ipv4 { 40 } else { 60 };
        let mss = self.longest(is_ipv4).saturating_sub(headers);
        packet.clamp_mss(mss.clamp(1, u32::from(u16::MAX)) as u16);
    }

    fn longest(&self, is_ipv4: bool) -> u32 {
        self.longest[usize::from(!is_ipv4)]
    }

    /// True if the packet leaves the room.
    pub fn fits(&self, packet: &Packet) -> bool {
        packet.wire_len() <= self.longest(packet.ip().source.is_ipv4())
    }

    /// Cuts `packet` to what leaves room for the shim, if it is longer: its tail.
    pub fn split_off_tail(&self, packet: &mut Packet) -> Option<Packet> {
        let longest = self.longest(packet.ip().source.is_ipv4());
        let is_long = !self.fits(packet);
        // A tail of more is none that a link with this MTU has.
        let fits = packet.wire_len().saturating_sub(longest) + TAIL_HEADER <= longest;
        if is_long && fits { packet.split_off_tail(longest) } else { None }
    }

    /// Puts a shim on `packet` if it fits; counts the packet as unprotected if not.
    pub fn push_shim(&self, cx: &mut Context<'_>, packet: &mut Packet, body: &[u8]) -> bool {
        let shimmed = self.fits(packet) && packet.push_shim(body);
        if !shimmed {
            cx.emit(Event::UNPROTECTED);
        }
        shimmed
    }
}
