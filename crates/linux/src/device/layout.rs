//! Where things are in a TCP datagram, as far as super-frames are concerned: IPv4 or IPv6 without extension headers.

use airtcp_core::packet::checksum;

/// Flags in the TCP header's fourteenth byte.
pub const FIN: u8 = 0x01;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
pub const ECE: u8 = 0x40;
pub const CWR: u8 = 0x80;

const TCP: u8 = 6;

/// Where the headers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub is_ipv4: bool,
    pub tcp_at: usize,
    pub payload_at: usize,
}

impl Layout {
    /// `None` if this is no TCP segment that stands right behind an IP header, or is a fragment.
    pub fn of(datagram: &[u8]) -> Option<Layout> {
        let first = *datagram.first()?;
        let (tcp_at, protocol) = match first >> 4 {
            4 if datagram.len() >= 20 && datagram[6] & 0x3f == 0 && datagram[7] == 0 => {
                (usize::from(first & 15) * 4, datagram[9])
            }
            6 if datagram.len() >= 40 => (40, datagram[6]),
            _ => return None,
        };
        let offset = usize::from(datagram.get(tcp_at + 12)? >> 4) * 4;
        let payload_at = tcp_at + offset;
        let fits = protocol == TCP && tcp_at >= 20 && offset >= 20 && payload_at <= datagram.len();
        fits.then_some(Layout { is_ipv4: first >> 4 == 4, tcp_at, payload_at })
    }

    /// Adds to the identification (IPv4), as the kernel numbers segments that it cuts.
    pub fn set_identification(&self, datagram: &mut [u8], add: u16) {
        if self.is_ipv4 {
            let id = u16::from_be_bytes([datagram[4], datagram[5]]).wrapping_add(add);
            datagram[4..6].copy_from_slice(&id.to_be_bytes());
        }
    }

    /// Sets the length of a whole datagram of `length` bytes, and the IPv4 header's checksum.
    pub fn set_length(&self, headers: &mut [u8], length: usize) {
        if self.is_ipv4 {
            headers[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            headers[10..12].fill(0);
            let sum = !checksum::fold(checksum::add(0, &headers[..self.tcp_at]));
            headers[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            headers[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
        }
    }

    /// The sum of the pseudo header for `length` bytes of TCP (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub fn pseudo_header(&self, headers: &[u8], length: usize) -> u64 {
        let addresses = if self.is_ipv4 { &headers[12..20] } else { &headers[8..40] };
        checksum::add(length as u64 + u64::from(TCP), addresses)
    }

    /// Sets the length and both checksums of a whole datagram.
    pub fn finish(&self, datagram: &mut [u8]) {
        self.set_length(datagram, datagram.len());
        let field = self.tcp_at + 16;
        datagram[field..field + 2].fill(0);
        let sum = !self.sum(datagram);
        datagram[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// True if the TCP checksum of a whole datagram is right.
    pub fn checksum_holds(&self, datagram: &[u8]) -> bool {
        self.sum(datagram) == 0xffff
    }

    fn sum(&self, datagram: &[u8]) -> u16 {
        let tcp = &datagram[self.tcp_at..];
        checksum::fold(checksum::add(self.pseudo_header(datagram, tcp.len()), tcp))
    }
}
