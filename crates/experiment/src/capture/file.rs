//! One capture file: what a tap sees, as pcapng blocks.
//!
//! Packets are raw IP with the checksums their content has. Comments say what a capture on a real network cannot know:
//! why a packet was dropped and where, and what it was made for. A packet that the medium damaged keeps its true bytes
//! and is marked by the CRC error flag and a comment. A loss that a link decides later than it is given the packet, as
//! CoDel does, is a second record at the same end. What ends between two links (a host without a socket for it, a
//! gateway that saw it before) is written once more, on an interface named after the place.

use super::CaptureSettings;
use crate::scenario::ResolvedScenario;
use airtcp_core::{CreateReason, DropReason, Instant, Packet};
use airtcp_sim::{Direction, Tap};
use bytes::Bytes;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// `epb_flags`: the packet came in.
const INBOUND: u32 = 1;
/// `epb_flags`: the packet went out.
const OUTBOUND: u32 = 2;
/// `epb_flags`: the frame's checksum was wrong.
const CRC_ERROR: u32 = 1 << 24;
/// `if_tsresol`: nanoseconds.
const NANOSECONDS: u8 = 9;

/// What a capture holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes written.
    pub bytes: u64,
    /// Packets written.
    pub packets: u64,
    /// Packets left out once the file was full.
    pub left_out: u64,
}

/// One packet of the file.
struct Record {
    at: Instant,
    interface: u32,
    wire: Bytes,
    flags: u32,
    comments: Vec<String>,
}

impl Record {
    fn new(at: Instant, interface: u32, packet: &Packet, flags: u32) -> Record {
        Record { at, interface, wire: packet.to_wire(), flags, comments: origin(packet) }
    }
}

/// A tap that writes what it sees.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    settings: CaptureSettings,
    /// Names of what leads from node to node, in the order of the topology; number `i` has the interfaces `2 i` and `2 i + 1`.
    spans: Vec<String>,
    /// Interfaces of places where packets end between links.
    places: BTreeMap<String, u32>,
    counts: Counts,
    /// The latest packet given to a link; not written yet, for what becomes of it may be known at once.
    pending: Option<Record>,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Begins a file about a run of `cell`; `note` says which.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(out: W, cell: &ResolvedScenario, note: &str, settings: CaptureSettings) -> io::Result<Self> {
        let options = vec![
            SectionHeaderOption::Comment(note.to_owned().into()),
            SectionHeaderOption::OS("virtual time".into()),
            SectionHeaderOption::UserApplication(concat!("airtcp ", env!("CARGO_PKG_VERSION")).into()),
        ];
        // The same bytes on every machine.
        let header = SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() };
        let mut capture = Capture {
            writer: PcapNgWriter::with_section_header(out, header).map_err(io_error)?,
            settings,
            spans: cell.spans().map(|span| span.name).collect(),
            places: BTreeMap::new(),
            counts: Counts::default(),
            pending: None,
            failed: None,
        };
        for span in cell.spans() {
            for (side, rate) in span.rates.into_iter().enumerate() {
                let [here, there] = [side, 1 - side].map(|side| &cell.nodes[span.between[side]]);
                let description = format!("{} {} at node {here}, towards {there}", span.kind, span.short);
                let rate = rate.map(|rate| InterfaceDescriptionOption::IfSpeed(rate.bps()));
                capture.write_interface(&format!("{}@{here}", span.short), &description, rate)?;
            }
        }
        Ok(capture)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<(W, Counts)> {
        self.flush();
        match self.failed {
            Some(error) => Err(error),
            None => Ok((self.writer.into_inner(), self.counts)),
        }
    }

    fn write_interface(
        &mut self,
        name: &str,
        description: &str,
        more: Option<InterfaceDescriptionOption<'_>>,
    ) -> io::Result<()> {
        let mut options = vec![
            InterfaceDescriptionOption::IfName(name.into()),
            InterfaceDescriptionOption::IfDescription(description.into()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        options.extend(more);
        let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: self.settings.snap_len, options };
        self.counts.bytes += self.writer.write_pcapng_block(block).map_err(io_error)? as u64;
        Ok(())
    }

    /// Writes the record before this one, and keeps this one.
    fn record(&mut self, record: Record) {
        self.flush();
        self.pending = Some(record);
    }

    fn flush(&mut self) {
        let Some(record) = self.pending.take().filter(|_| self.failed.is_none()) else { return };
        if self.counts.bytes >= self.settings.max_bytes {
            self.counts.left_out += 1;
            return;
        }
        let kept = record.wire.len().min(self.settings.snap_len as usize);
        let comments = record.comments.into_iter();
        let mut options: Vec<_> = comments.map(|text| EnhancedPacketOption::Comment(text.into())).collect();
        if record.flags != 0 {
            options.push(EnhancedPacketOption::Flags(record.flags));
        }
        let block = EnhancedPacketBlock {
            interface_id: record.interface,
            timestamp: std::time::Duration::from_nanos(record.at.as_nanos()),
            original_len: record.wire.len() as u32,
            data: Cow::Borrowed(&record.wire[..kept]),
            options,
        };
        match self.writer.write_pcapng_block(block) {
            Ok(bytes) => {
                self.counts.bytes += bytes as u64;
                self.counts.packets += 1;
            }
            Err(error) => self.failed = Some(io_error(error)),
        }
    }

    /// The interface of a place between links; it comes into being with the first packet that ends there.
    fn place(&mut self, place: &str) -> io::Result<u32> {
        if let Some(interface) = self.places.get(place) {
            return Ok(*interface);
        }
        // An interface stands before its packets, and after all packets of earlier times.
        self.flush();
        let interface = (2 * self.spans.len() + self.places.len()) as u32;
        self.write_interface(place, "packets that ended here", None)?;
        self.places.insert(place.to_owned(), interface);
        Ok(interface)
    }

    fn name(&self, direction: Direction) -> String {
        format!("{}.{}", self.spans[direction.link], if direction.reverse { "reverse" } else { "forward" })
    }
}

impl<W: Write> Tap for Capture<W> {
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        let interface = entrance(direction);
        self.record(Record::new(at, interface, packet, OUTBOUND));
    }

    fn on_lost(&mut self, at: Instant, direction: Direction, packet: &Packet, reason: DropReason) {
        let interface = entrance(direction);
        let mut record = Record::new(at, interface, packet, 0);
        // Packets with the same bytes cannot be told apart, so any of them is the one.
        let is_same =
            |sent: &mut Record| sent.interface == interface && sent.flags == OUTBOUND && sent.wire == record.wire;
        if let Some(sent) = self.pending.take_if(is_same) {
            record = sent;
        }
        record.comments.push(dropped(reason, &self.name(direction)));
        self.record(record);
    }

    fn on_arrived(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        let exit = entrance(Direction { reverse: !direction.reverse, ..direction });
        let mut record = Record::new(at, exit, packet, INBOUND);
        if packet.is_corrupted() {
            record.flags |= CRC_ERROR;
            record.comments.push("corrupted by a link".into());
        }
        self.record(record);
    }

    fn on_dropped(&mut self, at: Instant, place: &str, packet: &Packet, reason: DropReason) {
        match self.place(place) {
            Ok(interface) => {
                let mut record = Record::new(at, interface, packet, 0);
                record.comments.push(dropped(reason, place));
                self.record(record);
            }
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }
}

/// The interface through which packets enter this direction of a link.
fn entrance(direction: Direction) -> u32 {
    (2 * direction.link) as u32 + u32::from(direction.reverse)
}

/// What the packet was made for, unless it is what a TCP endpoint sends anyway.
fn origin(packet: &Packet) -> Vec<String> {
    let reason = packet.origin().filter(|reason| *reason != CreateReason::TRANSMIT);
    reason.map(|reason| format!("created: {}", reason.label())).into_iter().collect()
}

fn dropped(reason: DropReason, place: &str) -> String {
    format!("dropped: {} at {place}", reason.label())
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
