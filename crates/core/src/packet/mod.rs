//! A packet: an IP datagram whose headers are parsed once and whose content is either virtual
//! (a fixed function of stream and offset), a refcounted slice, or the original bytes of a
//! live packet.
//!
//! [`Packet`] is one pointer wide, so queues move it cheaply. A live packet that nobody edits
//! leaves with exactly the bytes it came with; an edit changes those bytes in place and
//! corrects the checksums incrementally (RFC 1624).

mod build;
pub mod checksum;
mod edit;
mod image;
mod ip;
mod parse;
mod payload;
mod shim;
mod split;
mod tcp;
mod too_long;

pub use build::{Fields, Segment};
pub use ip::{CONTROL_DSCP, Ecn, FlowKey, IpHeader, protocol};
pub use payload::{Payload, fill_virtual};
pub use shim::{SHIM_HEADER, TakenShim};
pub use tcp::{SackBlocks, TcpFlags, TcpHeader, TcpOptions, Timestamps};

use crate::reason::CreateReason;
use alloc::boxed::Box;
use bytes::Bytes;
use core::mem::offset_of;

/// An IP packet in flight.
#[derive(Clone, Debug)]
pub struct Packet(Box<Inner>);

/// In this order in memory: what a hop reads comes first, and what few packets have, the blocks of a selective acknowledgment, last.
#[derive(Clone, Debug)]
#[repr(C)]
struct Inner {
    ip: IpHeader,
    /// IP bytes on the medium, if [`Inner::has_wire_len`].
    wire_len: u32,
    origin: Option<CreateReason>,
    content: Content,
    /// What one end of a hop put behind the IP header; in the bytes themselves for a live packet.
    shim: Option<Box<shim::Shim>>,
    /// It takes another length on the medium than its headers say (compressed hop).
    has_wire_len: bool,
    corrupted: bool,
    /// Its TCP checksum need not be looked at.
    checksum_is_known_good: bool,
    tcp: Option<TcpHeader>,
}

const _: () = assert!(Packet::MEMORY == 192, "three cache lines with what an allocator adds");

impl Inner {
    /// IP bytes on the medium, where it differs from the headers.
    #[inline]
    fn wire_len_override(&self) -> Option<u32> {
        self.has_wire_len.then_some(self.wire_len)
    }

    fn override_wire_len(&mut self, bytes: Option<u32>) {
        (self.has_wire_len, self.wire_len) = (bytes.is_some(), bytes.unwrap_or(0));
    }
}

/// Where the bytes behind the headers are.
#[derive(Clone, Debug)]
enum Content {
    /// A fixed function of (stream, offset): exact, and costs nothing to carry.
    Virtual { stream: u64, offset: u64, len: u32 },
    /// Real bytes behind synthesised headers.
    Bytes(Bytes),
    /// The whole datagram as it came from a device; `payload_at` is where the transport payload begins.
    Wire { datagram: Bytes, payload_at: u32 },
}

impl Packet {
    /// Bytes in memory from where [`Packet::ip`] is to the end of what every packet has in one piece with it.
    pub const HEADER_MEMORY: usize = offset_of!(Inner, tcp) + TcpHeader::FIRST_MEMORY;

    /// Bytes of memory besides its content: what an allocator adds is among them.
    const MEMORY: usize = size_of::<Inner>() + 8;

    fn new(ip: IpHeader, tcp: Option<TcpHeader>, content: Content) -> Self {
        let (has_wire_len, corrupted, checksum_is_known_good) = (false, false, false);
        let (wire_len, origin, shim) = (0, None, None);
        let inner = Inner { ip, wire_len, origin, content, shim, has_wire_len, corrupted, checksum_is_known_good, tcp };
        Packet(Box::new(inner))
    }

    /// The IP header's fields.
    pub fn ip(&self) -> &IpHeader {
        &self.0.ip
    }

    /// The TCP header, if this is an unfragmented, well-formed TCP segment.
    pub fn tcp(&self) -> Option<&TcpHeader> {
        self.0.tcp.as_ref()
    }

    /// Addresses and ports in this packet's direction, if it is TCP.
    pub fn flow(&self) -> Option<FlowKey> {
        let tcp = self.tcp()?;
        Some(FlowKey {
            source: self.0.ip.source,
            destination: self.0.ip.destination,
            source_port: tcp.source_port,
            destination_port: tcp.destination_port,
        })
    }

    /// What the transport carries.
    pub fn payload(&self) -> Payload<'_> {
        match &self.0.content {
            Content::Virtual { stream, offset, len } => {
                Payload::Virtual { stream: *stream, offset: *offset, len: *len }
            }
            Content::Bytes(bytes) => Payload::Bytes(bytes),
            Content::Wire { datagram, payload_at } => Payload::Bytes(&datagram[*payload_at as usize..]),
        }
    }

    /// The payload as a refcounted slice, where it is real bytes.
    pub fn payload_bytes(&self) -> Option<Bytes> {
        match &self.0.content {
            Content::Virtual { .. } => None,
            Content::Bytes(bytes) => Some(bytes.clone()),
            Content::Wire { datagram, payload_at } => Some(datagram.slice(*payload_at as usize..)),
        }
    }

    /// True if the TCP header has options that [`TcpOptions`] does not hold, or known ones of another length than theirs.
    pub fn has_unknown_options(&self) -> bool {
        let Content::Wire { datagram, payload_at } = &self.0.content else { return false };
        let options = datagram.get(usize::from(self.0.ip.header_len) + 20..*payload_at as usize);
        self.0.tcp.is_some() && !options.is_some_and(TcpOptions::are_known)
    }

    /// Bytes of transport payload.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        match &self.0.content {
            Content::Virtual { len, .. } => *len,
            Content::Bytes(bytes) => bytes.len() as u32,
            Content::Wire { datagram, payload_at } => datagram.len() as u32 - payload_at,
        }
    }

    /// Sequence space the segment occupies: payload, plus one each for SYN and FIN.
    #[inline]
    pub fn sequence_len(&self) -> u32 {
        let flags = self.tcp().map_or(TcpFlags::default(), |tcp| tcp.flags);
        self.payload_len() + u32::from(flags.syn()) + u32::from(flags.fin())
    }

    /// IP bytes this packet takes on the medium.
    pub fn wire_len(&self) -> u32 {
        if self.0.has_wire_len { self.0.wire_len } else { self.0.ip.total_len }
    }

    /// Makes the packet take `bytes` on the medium, whatever its headers say.
    pub fn set_wire_len(&mut self, bytes: u32) {
        self.0.override_wire_len(Some(bytes));
    }

    /// True if the medium damaged the content; what a checksum would tell.
    pub fn is_corrupted(&self) -> bool {
        self.0.corrupted
    }

    /// Marks the content as damaged (simulated media only; live bytes are really changed).
    pub fn mark_corrupted(&mut self) {
        self.0.corrupted = true;
    }

    /// Why an element made it; `None` for a packet that came from a device. For captures and traces: nothing that a
    /// receiver could not know may depend on it.
    pub fn origin(&self) -> Option<CreateReason> {
        self.0.origin
    }

    /// Says why this packet, not the one it may be a copy of, came into being.
    pub fn set_origin(&mut self, reason: CreateReason) {
        self.0.origin = Some(reason);
    }

    /// True if [`Packet::checksum_holds`] without a look at the bytes.
    pub fn checksum_is_known_good(&self) -> bool {
        self.0.checksum_is_known_good
    }

    /// Says that somebody checked the TCP checksum of the bytes, or has just made it. Edits keep it right.
    pub fn set_checksum_known_good(&mut self) {
        self.0.checksum_is_known_good = true;
    }

    /// False if the medium marked it or the TCP checksum of real bytes is wrong.
    #[inline]
    pub fn checksum_holds(&self) -> bool {
        if self.0.corrupted {
            return false;
        }
        match &self.0.content {
            Content::Wire { datagram, .. } if self.0.tcp.is_some() && !self.0.checksum_is_known_good => {
                build::tcp_checksum_holds(&self.0.ip, datagram)
            }
            _ => true,
        }
    }

    /// The bytes as they came from a device, for a packet that did.
    pub fn datagram(&self) -> Option<&Bytes> {
        match &self.0.content {
            Content::Wire { datagram, .. } => Some(datagram),
            _ => None,
        }
    }

    /// Memory this packet takes, for bounds of caches and queues.
    pub fn memory(&self) -> usize {
        let content = match &self.0.content {
            Content::Virtual { len, .. } => *len as usize,
            Content::Bytes(bytes) => bytes.len(),
            Content::Wire { datagram, .. } => datagram.len(),
        };
        let shim = self.0.shim.as_ref().map_or(0, |shim| size_of::<shim::Shim>() + shim.body.len());
        Packet::MEMORY + content + shim
    }
}
