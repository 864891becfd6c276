//! Packets as one string of bytes, which is cut into shards. Big endian: their number u32, then of each packet its length
//! u16 and its image.

use crate::hop::take;
use airtcp_core::Packet;
use alloc::vec::Vec;

/// Bytes of the number.
const HEAD: u32 = 4;
/// Bytes beside a packet: its length, and the first byte of its image.
const BESIDE: u32 = 3;

/// What packets of so many bytes on the medium would take, were all their content written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlobLen(u32);

impl BlobLen {
    /// Of no packet.
    pub const EMPTY: BlobLen = BlobLen(HEAD);

    /// With one more packet of so many bytes.
    pub fn with(self, packet: u32) -> BlobLen {
        BlobLen(self.0.saturating_add(BESIDE).saturating_add(packet))
    }

    /// Bytes of a shard, if there are so many.
    pub fn shard(self, shards: u8) -> u32 {
        self.0.div_ceil(u32::from(shards.max(1)))
    }
}

/// The packets' images as one; `None` if one is too long.
pub(super) fn write(packets: &[Packet]) -> Option<Vec<u8>> {
    let mut blob = Vec::new();
    blob.extend(u32::try_from(packets.len()).ok()?.to_be_bytes());
    for packet in packets {
        let image = packet.to_image();
        blob.extend(u16::try_from(image.len()).ok()?.to_be_bytes());
        blob.extend_from_slice(&image);
    }
    Some(blob)
}

/// The packets of a blob as far as they can be read; what is behind them fills the last shard.
pub(super) fn read(mut blob: &[u8]) -> Vec<Packet> {
    let count = take(&mut blob).map_or(0, u32::from_be_bytes);
    let mut next = || {
        let len = usize::from(u16::from_be_bytes(take(&mut blob)?));
        let (image, rest) = blob.split_at_checked(len)?;
        blob = rest;
        Packet::from_image(image)
    };
    (0..count).map_while(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::{data, opaque};

    #[test]
    fn packets_come_out_as_they_went_in_whatever_follows_them() {
        let packets = [data(0), opaque(700), Packet::parse(opaque(901).to_wire()).unwrap(), opaque(20)];
        let blob = [&write(&packets).unwrap()[..], &[0; 19]].concat();
        let read = read(&blob);
        assert_eq!(read.len(), packets.len());
        for (read, packet) in read.iter().zip(&packets) {
            assert_eq!((read.to_wire(), read.payload()), (packet.to_wire(), packet.payload()));
        }
    }

    #[test]
    fn written_out_a_blob_is_as_long_as_counted() {
        let packets = [opaque(700), opaque(20)];
        let counted = BlobLen::EMPTY.with(700).with(20);
        assert_eq!(write(&packets).unwrap().len(), counted.0 as usize);
        assert_eq!((counted.shard(1), counted.shard(20)), (730, 37));
    }

    #[test]
    fn rubbish_is_no_packets() {
        let blob = write(&[opaque(100), opaque(100)]).unwrap();
        for len in 0..blob.len() {
            assert_eq!(read(&blob[..len]).len(), usize::from(len >= 107), "{len}");
        }
        assert!(read(&[255; 400]).is_empty());
    }
}
