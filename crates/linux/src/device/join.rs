//! Segments in a row joined to a super-frame, so that the kernel handles them at once; the link carries the segments
//! byte for byte as they were.

use super::datagram::Datagram;
use super::layout::{ACK, ECE, Layout, PSH};
use super::offload::Offload;
use crate::sys::tun::Tun;
use airtcp_core::packet::checksum;
use bytes::Bytes;
use std::io::{self, IoSlice};

/// Longest datagram.
const MAX: usize = 65_535;

/// Segments of one flow, each where the one before ends.
#[derive(Debug, Default)]
pub struct Join {
    segments: Vec<Bytes>,
    /// Of the first segment, if it can be followed by others.
    layout: Option<Layout>,
    /// Of the first segment, too.
    checksum_is_known_good: bool,
    /// Payload of each segment but the last.
    segment: usize,
    length: usize,
    is_closed: bool,
}

impl Join {
    /// Takes `datagram` if it continues what is here, or nothing is here.
    ///
    /// # Errors
    /// The datagram, if it does not.
    pub fn push(&mut self, datagram: Datagram) -> Result<(), Datagram> {
        let bytes = &datagram.bytes;
        if self.segments.is_empty() {
            self.layout = Layout::of(bytes).filter(|layout| is_plain(bytes, *layout));
            self.checksum_is_known_good = datagram.checksum_is_known_good;
            self.length = bytes.len();
            self.segment = self.layout.map_or(0, |layout| bytes.len() - layout.payload_at);
            self.is_closed = self.layout.is_none_or(|layout| bytes[layout.tcp_at + 13] & PSH != 0);
        } else if self.continues(&datagram) {
            let layout = self.layout.expect("a frame without layout is closed");
            let payload = bytes.len() - layout.payload_at;
            self.length += payload;
            self.is_closed = payload < self.segment || bytes[layout.tcp_at + 13] & PSH != 0;
        } else {
            return Err(datagram);
        }
        self.segments.push(datagram.bytes);
        Ok(())
    }

    /// The kernel will make anew what may differ between segments: everything else must be the same, and what it makes
    /// must be what was there.
    fn continues(&self, datagram: &Datagram) -> bool {
        let Some(layout) = self.layout.filter(|_| !self.is_closed) else { return false };
        let (first, tcp) = (&self.segments[0], layout.tcp_at);
        let Datagram { bytes: datagram, checksum_is_known_good } = datagram;
        if Layout::of(datagram) != Some(layout) || !is_plain(datagram, layout) {
            return false;
        }
        let payload = datagram.len() - layout.payload_at;
        let sent = (self.length - layout.payload_at) as u32;
        let sequence = |of: &[u8]| u32::from_be_bytes([of[tcp + 4], of[tcp + 5], of[tcp + 6], of[tcp + 7]]);
        let identification = |of: &[u8]| u16::from_be_bytes([of[4], of[5]]);
        payload <= self.segment
            && self.length + payload <= MAX
            && sequence(datagram) == sequence(first).wrapping_add(sent)
            && (!layout.is_ipv4
                || identification(datagram) == identification(first).wrapping_add(self.segments.len() as u16))
            && same(first, datagram, layout)
            // A wrong checksum must stay wrong.
            && (*checksum_is_known_good || layout.checksum_holds(datagram))
            && (self.segments.len() > 1 || self.checksum_is_known_good || layout.checksum_holds(first))
    }

    /// What is here.
    pub fn segments(&self) -> &[Bytes] {
        &self.segments
    }

    /// Bytes of the datagram that stands for all that is here.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Gives two or more segments as one frame to a device with offloads.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write(&self, tun: &Tun) -> io::Result<()> {
        let (offload, headers) = self.headers();
        let header = offload.bytes();
        let mut parts = Vec::with_capacity(2 + self.segments.len());
        parts.extend([IoSlice::new(&header), IoSlice::new(&headers)]);
        parts.extend(self.segments.iter().map(|segment| IoSlice::new(&segment[headers.len()..])));
        tun.send(&parts)
    }

    /// The headers of the frame, which its payload follows.
    fn headers(&self) -> (Offload, Vec<u8>) {
        let layout = self.layout.expect("segments without layout are never joined");
        let (first, last) = (&self.segments[0], &self.segments[self.segments.len() - 1]);
        let mut headers = first[..layout.payload_at].to_vec();
        headers[layout.tcp_at + 13] |= last[layout.tcp_at + 13] & PSH;
        layout.set_length(&mut headers, self.length);
        let sum = checksum::fold(layout.pseudo_header(&headers, self.length - layout.tcp_at));
        headers[layout.tcp_at + 16..layout.tcp_at + 18].copy_from_slice(&sum.to_be_bytes());
        (Offload::tcp(layout.is_ipv4, layout.tcp_at, layout.payload_at, self.segment), headers)
    }

    /// Nothing is here any more.
    pub fn clear(&mut self) {
        self.segments.clear();
    }
}

/// Data and nothing special: no flag but ACK, PSH and ECE.
fn is_plain(datagram: &[u8], layout: Layout) -> bool {
    let flags = &datagram[layout.tcp_at + 12..layout.tcp_at + 14];
    datagram.len() > layout.payload_at && flags[0] & 0xf == 0 && flags[1] & !(ACK | PSH | ECE) == 0
}

/// The headers are the same, but for length, identification, sequence number, PSH and checksums.
fn same(a: &[u8], b: &[u8], layout: Layout) -> bool {
    let ip: &[_] = if layout.is_ipv4 { &[0..2, 6..10, 12..layout.tcp_at] } else { &[0..4, 6..40] };
    let tcp = [0..4, 8..13, 14..16, 18..layout.payload_at - layout.tcp_at];
    let tcp = tcp.map(|range| range.start + layout.tcp_at..range.end + layout.tcp_at);
    let flags = layout.tcp_at + 13;
    ip.iter().chain(&tcp).all(|range| a[range.clone()] == b[range.clone()]) && (a[flags] ^ b[flags]) & !PSH == 0
}

#[cfg(test)]
mod tests {
    use super::super::cut::Cut;
    use super::*;
    use airtcp_core::{Packet, Segment, SeqNum, TcpFlags, TcpHeader};
    use std::net::IpAddr;

    const SIZE: u32 = 1000;

    /// Segments in a row with `lengths` of payload, the last with PSH, as Linux numbers them.
    fn row(is_ipv4: bool, lengths: &[u32]) -> Vec<Bytes> {
        let address = |end: u8| {
            if is_ipv4 { IpAddr::from([10, 0, 0, end]) } else { IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, u16::from(end)]) }
        };
        let mut sequence = SeqNum(u32::MAX - 1500);
        let mut made = Vec::new();
        for (index, length) in lengths.iter().enumerate() {
            let is_last = index + 1 == lengths.len();
            let flags = TcpFlags(if is_last { 0x18 } else { 0x10 });
            let tcp = TcpHeader {
                source_port: 5,
                destination_port: 6,
                sequence,
                acknowledgment: SeqNum(7),
                flags,
                window: 8,
                urgent: 0,
                options: airtcp_core::TcpOptions::default(),
            };
            let segment = Segment { source: address(1), destination: address(2), traffic_class: 0, tcp };
            let payload: Vec<u8> = (0..*length).map(|at| (at * 7 + index as u32) as u8).collect();
            let mut datagram = Packet::tcp_bytes(&segment, payload.into()).to_wire().to_vec();
            let layout = Layout::of(&datagram).unwrap();
            layout.set_identification(&mut datagram, index as u16);
            layout.finish(&mut datagram);
            made.push(datagram.into());
            sequence += *length;
        }
        made
    }

    fn unchecked(bytes: Bytes) -> Datagram {
        Datagram { bytes, checksum_is_known_good: false }
    }

    /// How many of the segments were joined, and what the kernel would make of the frame.
    fn join(segments: &[Bytes]) -> (usize, Vec<Bytes>) {
        let mut join = Join::default();
        let count = segments.iter().take_while(|segment| join.push(unchecked((*segment).clone())).is_ok()).count();
        if count < 2 {
            return (count, join.segments().to_vec());
        }
        let (offload, mut frame) = join.headers();
        join.segments().iter().for_each(|segment| {
            let headers = Layout::of(segment).unwrap().payload_at;
            frame.extend_from_slice(&segment[headers..]);
        });
        assert_eq!(frame.len(), join.length());
        let mut cut = Cut::new(offload, &frame).unwrap();
        let cut: Vec<Bytes> = std::iter::from_fn(|| cut.next(&frame)).collect();
        (count, cut)
    }

    #[test]
    fn a_row_is_one_frame_that_is_cut_to_the_same_bytes() {
        for is_ipv4 in [true, false] {
            for lengths in [&[SIZE, SIZE, SIZE][..], &[SIZE, SIZE, 1], &[SIZE]] {
                let row = row(is_ipv4, lengths);
                assert_eq!(join(&row), (lengths.len(), row));
            }
        }
    }

    #[test]
    fn what_follows_a_short_segment_or_a_push_begins_a_new_frame() {
        assert_eq!(join(&row(true, &[SIZE, 10, SIZE])).0, 2);
        assert_eq!(join(&row(true, &[10, SIZE])).0, 1);
        let mut two = row(false, &[SIZE, SIZE]);
        two.extend(row(false, &[SIZE, SIZE, SIZE]).into_iter().skip(2));
        assert_eq!(join(&two).0, 2);
    }

    /// A change of the second segment, with its checksum made right again.
    fn changed(is_ipv4: bool, change: impl FnOnce(&mut [u8], Layout)) -> Vec<Bytes> {
        let mut row = row(is_ipv4, &[SIZE, SIZE, SIZE]);
        let mut second = row[1].to_vec();
        let layout = Layout::of(&second).unwrap();
        change(&mut second, layout);
        layout.finish(&mut second);
        row[1] = second.into();
        row
    }

    #[test]
    fn nothing_is_joined_that_would_change() {
        let tcp = |at: usize| move |datagram: &mut [u8], layout: Layout| datagram[layout.tcp_at + at] ^= 1;
        // Port, sequence, acknowledgment, FIN, window.
        for at in [0, 2, 7, 11, 13, 15] {
            assert_eq!(join(&changed(true, tcp(at))).0, 1, "{at}");
            assert_eq!(join(&changed(false, tcp(at))).0, 1, "{at}");
        }
        let flags = |flag: u8| move |datagram: &mut [u8], layout: Layout| datagram[layout.tcp_at + 13] |= flag;
        for flag in [super::super::layout::CWR, 0x20, ECE, 2, 4] {
            assert_eq!(join(&changed(true, flags(flag))).0, 1, "{flag:#x}");
        }
        // DSCP and ECN, identification, time to live, address.
        for at in [1, 5, 8, 15] {
            assert_eq!(join(&changed(true, |datagram, _| datagram[at] ^= 1)).0, 1, "{at}");
        }
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        for damaged in [0, 1] {
            let mut row = row(true, &[SIZE, SIZE]);
            let mut bytes = row[damaged].to_vec();
            *bytes.last_mut().unwrap() ^= 0x40;
            row[damaged] = bytes.into();
            assert_eq!(join(&row).0, 1);
        }
    }

    #[test]
    fn a_checksum_that_is_known_to_be_good_is_not_looked_at() {
        let mut row = row(true, &[SIZE, SIZE]);
        let mut bytes = row[1].to_vec();
        *bytes.last_mut().unwrap() ^= 0x40;
        row[1] = bytes.into();
        let mut join = Join::default();
        let known = |bytes: &Bytes| Datagram { bytes: bytes.clone(), checksum_is_known_good: true };
        assert!(row.iter().all(|bytes| join.push(known(bytes)).is_ok()));
    }

    #[test]
    fn a_frame_is_no_longer_than_a_datagram() {
        let (joined, cut) = join(&row(true, &[1448; 60]));
        assert_eq!((joined, cut.len()), (45, 45));
    }

    #[test]
    fn bytes_of_any_kind_are_no_frame_and_no_panic() {
        let mut rng = airtcp_core::Rng::derive(1, "frames");
        let offload = Offload::tcp(true, 20, 40, 9);
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..rng.below(90)).map(|_| rng.next_u64() as u8).collect();
            if let Some(first) = bytes.first_mut() {
                *first = [0x45, 0x46, 0x60, 0x4f][rng.below(4) as usize];
            }
            if bytes.len() > 9 {
                (bytes[6], bytes[9]) = (if bytes[0] == 0x60 { 6 } else { 0 }, 6);
            }
            if let Some(mut cut) = Cut::new(offload, &bytes) {
                while cut.next(&bytes).is_some() {}
            }
            let mut join = Join::default();
            for _ in 0..2 {
                let _ = join.push(unchecked(bytes.clone().into()));
            }
        }
    }
}
