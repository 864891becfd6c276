//! What an element leaves, on its way to another process, in memory that has no name: records of a kind, a length and so many bytes.
//! A record of a kind that is not known is passed over.

use crate::sys::descriptors;
use airtcp_core::{Acquaintance, Duration, HeldFlow, Legacy, Packet, SeqNum};
use bytes::{Buf, Bytes};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::fd::OwnedFd;

/// A packet that waits for the link.
const WAITING: u8 = 1;
/// The copy of one that has left.
const COPY: u8 = 2;
/// The first sequence number that a flow has not got. Its packets follow.
const EXPECTED: u8 = 3;
/// A packet of that flow.
const HELD: u8 = 4;
/// Epoch, round trip in ns, and bytes received.
const ACQUAINTANCE: u8 = 5;

/// More bytes are not read.
const MOST: u64 = 1 << 32;

/// Puts it into memory.
///
/// # Errors
/// The system has none.
pub fn pack(legacy: &Legacy) -> io::Result<File> {
    let mut file = BufWriter::new(descriptors::memory("airtcp-legacy")?);
    let mut write = |kind: u8, bytes: &[u8]| {
        file.write_all(&[kind])?;
        file.write_all(&(bytes.len() as u32).to_le_bytes())?;
        file.write_all(bytes)
    };
    if let Some(Acquaintance { epoch, round_trip, received }) = legacy.acquaintance {
        write(ACQUAINTANCE, &[epoch, round_trip.as_nanos(), received].map(u64::to_le_bytes).concat())?;
    }
    legacy.copies.iter().try_for_each(|packet| write(COPY, &packet.to_wire()))?;
    for flow in &legacy.held {
        write(EXPECTED, &flow.expected.0.to_le_bytes())?;
        flow.packets.iter().try_for_each(|packet| write(HELD, &packet.to_wire()))?;
    }
    legacy.waiting.iter().try_for_each(|packet| write(WAITING, &packet.to_wire()))?;
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Takes it out of memory. What is no IP packet is left out, and so is a record that is cut off.
///
/// # Errors
/// It cannot be read.
pub fn unpack(memory: OwnedFd) -> io::Result<Legacy> {
    let file = File::from(memory);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    let (mut rest, mut legacy) = (&bytes[..], Legacy::default());
    while let Ok(kind) = rest.try_get_u8()
        && let Ok(length) = rest.try_get_u32_le()
        && length as usize <= rest.len()
    {
        // A copy, or one packet that is kept would keep all of them.
        let mut record = Bytes::copy_from_slice(&rest[..length as usize]);
        rest.advance(length as usize);
        match kind {
            WAITING => legacy.waiting.extend(Packet::parse(record)),
            COPY => legacy.copies.extend(Packet::parse(record)),
            HELD => {
                if let Some(flow) = legacy.held.last_mut() {
                    flow.packets.extend(Packet::parse(record));
                }
            }
            EXPECTED => legacy.held.extend(
                record.try_get_u32_le().map(|expected| HeldFlow { expected: SeqNum(expected), packets: Vec::new() }),
            ),
            ACQUAINTANCE => legacy.acquaintance = acquaintance(record),
            _ => {}
        }
    }
    Ok(legacy)
}

fn acquaintance(mut record: Bytes) -> Option<Acquaintance> {
    let mut number = || record.try_get_u64_le().ok();
    Some(Acquaintance { epoch: number()?, round_trip: Duration::from_nanos(number()?), received: number()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    const ACQUAINTED: Acquaintance =
        Acquaintance { epoch: u64::MAX, round_trip: Duration::from_millis(3), received: 1 << 40 };

    fn packet(bytes: usize) -> Packet {
        let host = IpAddr::from([10, 0, 0, 1]);
        Packet::opaque(host, host, 253, vec![7; bytes].into())
    }

    fn lengths(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(Packet::wire_len).collect()
    }

    fn legacy() -> Legacy {
        let flow = |expected, length| HeldFlow { expected: SeqNum(expected), packets: vec![packet(length), packet(9)] };
        Legacy {
            waiting: vec![packet(1), packet(2)],
            copies: vec![packet(3)],
            held: vec![flow(u32::MAX, 4), flow(7, 5)],
            acquaintance: Some(ACQUAINTED),
        }
    }

    #[test]
    fn all_of_it_arrives() {
        let found = unpack(pack(&legacy()).unwrap().into()).unwrap();
        assert_eq!((lengths(&found.waiting), lengths(&found.copies)), (vec![21, 22], vec![23]));
        let held = found.held.iter().map(|flow| (flow.expected.0, lengths(&flow.packets))).collect::<Vec<_>>();
        assert_eq!(held, [(u32::MAX, vec![24, 29]), (7, vec![25, 29])]);
        assert_eq!((found.acquaintance, found.packets()), (Some(ACQUAINTED), 6));
        assert_eq!(unpack(pack(&Legacy::default()).unwrap().into()).unwrap().packets(), 0);
    }

    #[test]
    fn what_is_cut_off_not_known_or_no_packet_is_left_out() {
        for more in
            [&[WAITING, 3, 0, 0, 0, 1, 2, 3][..], &[99, 1, 0, 0, 0, 5], &[WAITING, 200, 0, 0, 0, 1], &[WAITING, 1]]
        {
            let mut file = pack(&legacy()).unwrap();
            file.seek(io::SeekFrom::End(0)).unwrap();
            file.write_all(more).unwrap();
            file.rewind().unwrap();
            assert_eq!(unpack(file.into()).unwrap().packets(), 6);
        }
        let mut orphan = pack(&Legacy::default()).unwrap();
        orphan.write_all(&[HELD, 0, 0, 0, 0]).unwrap();
        orphan.rewind().unwrap();
        assert_eq!(unpack(orphan.into()).unwrap().packets(), 0);
    }
}
