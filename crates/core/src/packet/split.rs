//! Cuts a packet in two that a hop can carry where it is too long for what the hop adds, and joins the two again.
//!
//! Not fragmentation: the head stays the packet that it was but for its length, the tail is a datagram of its own with
//! what was cut off, and only the other end of the hop makes one of the two.

use super::shim::{content_at, protocol_of, rewrite_header};
use super::{Content, Packet};
use alloc::vec;
use alloc::vec::Vec;

/// "No next header": a tail carries nothing for the host that it is addressed to.
const NO_NEXT_HEADER: u8 = 59;

impl Packet {
    /// Cuts the packet to `len` bytes on the medium: the tail, and `self` is the head. `None`, and nothing changes, if it is
    /// not longer, or if less than its header would be left.
    pub fn split_off_tail(&mut self, len: u32) -> Option<Packet> {
        let total = self.0.ip.total_len;
        if self.wire_len() != total
            || total <= len
            || len < u32::from(self.0.ip.header_len) + 8
            || self.0.shim.is_some()
        {
            return None;
        }
        let rest = match &self.0.content {
            Content::Wire { datagram, .. } => {
                let at = content_at(datagram);
                let mut head = datagram.get(..len as usize).filter(|head| head.len() >= at)?.to_vec();
                let rest = datagram[len as usize..].to_vec();
                let protocol = protocol_of(&head);
                rewrite_header(&mut head, protocol);
                let mut head = Packet::parse(head.into())?;
                head.0.corrupted = self.0.corrupted;
                *self = head;
                rest
            }
            // Whatever it stands for stays with the head; the tail takes its time on the medium.
            Content::Virtual { .. } | Content::Bytes(_) => {
                self.set_wire_len(len);
                vec![0; (total - len) as usize]
            }
        };
        let ip = &self.0.ip;
        let mut tail = Packet::opaque(ip.source, ip.destination, NO_NEXT_HEADER, rest.into());
        tail.set_traffic_class(ip.traffic_class);
        tail.set_hop_limit(ip.hop_limit);
        Some(tail)
    }

    /// Puts the tail back on. False, and nothing changes, if the two are no packet together.
    pub fn append_tail(&mut self, tail: &Packet) -> bool {
        let Some(rest) = tail.payload_bytes() else { return false };
        if let Content::Wire { datagram, .. } = &self.0.content {
            let mut whole: Vec<u8> = Vec::with_capacity(datagram.len() + rest.len());
            whole.extend_from_slice(datagram);
            whole.extend_from_slice(&rest);
            if whole.len() > 0xffff {
                return false;
            }
            let protocol = protocol_of(&whole);
            rewrite_header(&mut whole, protocol);
            let Some(whole) = Packet::parse(whole.into()) else { return false };
            *self = whole;
            return true;
        }
        let is_whole = self.wire_len() + rest.len() as u32 == self.0.ip.total_len;
        if is_whole {
            self.0.override_wire_len(None);
        }
        is_whole
    }
}
