//! Packets on their way to another process, in memory that has no name: for each its length in four bytes, and itself.

use airtcp_core::Packet;
use bytes::{Buf, Bytes};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::fd::OwnedFd;

/// Puts packets into memory.
///
/// # Errors
/// The system has none.
pub fn pack(packets: &[Packet]) -> io::Result<File> {
    let mut file = BufWriter::new(File::from(memfd_create("airtcp-packets", MFdFlags::MFD_CLOEXEC)?));
    for packet in packets {
        let bytes = packet.to_wire();
        file.write_all(&(bytes.len() as u32).to_le_bytes())?;
        file.write_all(&bytes)?;
    }
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Takes packets out of memory; what is no IP packet is left out.
///
/// # Errors
/// It cannot be read.
pub fn unpack(memory: OwnedFd) -> io::Result<Vec<Packet>> {
    let mut bytes = Vec::new();
    File::from(memory).read_to_end(&mut bytes)?;
    let (mut rest, mut packets) = (Bytes::from(bytes), Vec::new());
    while let Some(length) = rest.first_chunk().map(|length| u32::from_le_bytes(*length) as usize) {
        rest.advance(4);
        if length > rest.len() {
            break;
        }
        packets.extend(Packet::parse(rest.split_to(length)));
    }
    Ok(packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn what_is_cut_off_or_no_packet_is_left_out() {
        let host = IpAddr::from([10, 0, 0, 1]);
        let packet = Packet::opaque(host, host, 253, vec![7; 30].into());
        let mut file = pack(std::slice::from_ref(&packet)).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        file.write_all(&[3, 0, 0, 0, 1, 2, 3, 200, 0, 0, 0, 1]).unwrap();
        file.rewind().unwrap();
        let packets = unpack(file.into()).unwrap();
        assert_eq!(packets.iter().map(Packet::to_wire).collect::<Vec<_>>(), [packet.to_wire()]);
    }
}
