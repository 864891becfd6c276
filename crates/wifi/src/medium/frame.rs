//! What a medium has to know of an 802.11 frame (IEEE 802.11-2020, 9.2 and 9.3).

use airtcp_core::Packet;
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr};

/// A hardware address.
pub type Address = [u8; 6];

const DATA: u8 = 2;
/// Bits of the subtype of a data frame: QoS, and no data.
const QOS: u8 = 8;
const NULL: u8 = 4;
const TO_AND_FROM_DS: u8 = 3;
const HEADER: usize = 24;
const QOS_CONTROL: usize = 2;
const FOURTH_ADDRESS: usize = 6;
/// LLC and SNAP (RFC 1042).
const LLC: usize = 8;
/// Of a packet that is not IP.
const RESERVED_PROTOCOL: u8 = 255;

/// A frame as a radio sends it, without FCS.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a>(&'a [u8]);

impl<'a> Frame<'a> {
    /// `None` if it is too short to have a receiver's and a sender's address.
    pub fn new(bytes: &'a [u8]) -> Option<Frame<'a>> {
        (bytes.len() >= 16).then_some(Frame(bytes))
    }

    /// Who it is for.
    pub fn receiver(&self) -> Address {
        std::array::from_fn(|at| self.0[4 + at])
    }

    /// It is for many.
    pub fn is_for_group(&self) -> bool {
        self.0[4] & 1 == 1
    }

    /// The packet that it carries, if it carries any; what is not IP is opaque, and as long as it is.
    pub fn packet(&self) -> Option<Packet> {
        let (kind, subtype) = (self.0[0] >> 2 & 3, self.0[0] >> 4);
        if kind != DATA || subtype & NULL != 0 {
            return None;
        }
        let mut at = HEADER;
        at += if self.0[1] & 3 == TO_AND_FROM_DS { FOURTH_ADDRESS } else { 0 };
        at += if subtype & QOS != 0 { QOS_CONTROL } else { 0 };
        let payload = self.0.get(at + LLC..)?;
        let of_other = || {
            let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
            let mut packet = Packet::opaque(nowhere, nowhere, RESERVED_PROTOCOL, Bytes::copy_from_slice(payload));
            packet.set_wire_len(payload.len() as u32);
            packet
        };
        Some(Packet::parse(Bytes::copy_from_slice(payload)).unwrap_or_else(of_other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(control: [u8; 2], header: usize, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; header];
        bytes[..2].copy_from_slice(&control);
        bytes[4..10].copy_from_slice(&[2, 0, 0, 0, 1, 0]);
        bytes.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        bytes.extend(payload);
        bytes
    }

    fn wire_len(bytes: &[u8]) -> Option<u32> {
        Frame::new(bytes)?.packet().map(|packet| packet.wire_len())
    }

    #[test]
    fn the_packet_is_behind_header_qos_control_and_llc() {
        let arp = [0; 28];
        assert_eq!(wire_len(&frame([0x08, 1], 24, &arp)), Some(28));
        assert_eq!(wire_len(&frame([0x88, 1], 26, &arp)), Some(28));
        assert_eq!(wire_len(&frame([0x88, 3], 32, &arp)), Some(28));
    }

    #[test]
    fn beacons_null_frames_and_what_is_cut_off_carry_no_packet() {
        assert_eq!(wire_len(&frame([0x80, 0], 24, &[0; 40])), None, "a beacon");
        assert_eq!(wire_len(&frame([0x48, 1], 24, &[])), None, "null");
        assert_eq!(wire_len(&frame([0xc8, 1], 26, &[])), None, "QoS null");
        assert_eq!(wire_len(&frame([0x08, 1], 24, &[])[..30]), None);
        assert!(Frame::new(&[0; 15]).is_none());
    }

    #[test]
    fn a_group_is_told_by_the_first_bit_of_its_address() {
        let mut bytes = frame([0x08, 2], 24, &[]);
        assert!(!Frame::new(&bytes).unwrap().is_for_group());
        assert_eq!(Frame::new(&bytes).unwrap().receiver(), [2, 0, 0, 0, 1, 0]);
        bytes[4] = 0xff;
        assert!(Frame::new(&bytes).unwrap().is_for_group());
    }
}
