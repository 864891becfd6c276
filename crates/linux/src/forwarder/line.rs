//! One connection between two applications, as far as it runs between the forwarders: a [`Duplex`], records in its stream,
//! and what both ends know of each other's application. No I/O and no clock.
//!
//! An application that has ended its own stream is shown the end of the other's only when the host of the other has
//! acknowledged every byte ([`Line::may_end_application`]). So an end that an application sees, when it has closed, says that
//! all of its own has arrived, and a forwarder that is killed before leaves an error, never an end.

use super::control_starts::ControlStarts;
use super::frame::{self, Ends, Front, Kind};
use super::line_key::LineKey;
use super::record::{self, HEADER_LEN, LENGTH_MAX, Malformed, Reader, Record};
use airtcp_core::{Event, Instant, Rng, SeqNum};
use airtcp_schemes::papers::decoupling::socket::{Duplex, ReliableSettings};
use airtcp_schemes::socket::SocketSite;
use airtcp_tcp::{Chunk, Config, Endpoint, Opening, Stream};
use bytes::{BufMut, Bytes};
use std::collections::VecDeque;

/// Bytes taken from the data TCP at a time.
const READ_MAX: u64 = 64 << 10;

/// How data TCPs and their circuits behave.
#[derive(Clone, Debug)]
pub struct LineSettings {
    /// F1 to F3, and the circuit.
    pub reliable: ReliableSettings,
    /// The data TCP.
    pub tcp: Config,
}

/// See the module.
pub struct Line {
    key: LineKey,
    ends: Ends,
    duplex: Duplex,
    /// Where it is to lead, encoded: stands in front of our SYN.
    opening: Vec<u8>,
    starts: ControlStarts,
    /// Records that the send buffer has no room for yet.
    pending: VecDeque<Bytes>,
    reader: Reader,
    /// Read from the data TCP and not yet looked at.
    piece: Bytes,
    /// The far application's host took the connection.
    is_opened: bool,
    /// Our application ended its stream.
    has_ended: bool,
    /// The far application ended its stream, and all before that was read here.
    peer_has_ended: bool,
    /// Our application's host has all of the far application's stream, and the peer is told.
    is_delivered: bool,
    /// The far application's host has all of our application's stream.
    is_delivered_there: bool,
}

impl Line {
    /// A connection that this end opens.
    pub fn open(settings: &LineSettings, key: LineKey, opening: Vec<u8>, rng: &mut Rng, now: Instant) -> Line {
        let tcp = opening_of(settings, key, rng);
        let mut site = SocketSite { opening: &tcp, flow: 0, rng };
        let duplex = Duplex::connect(&settings.reliable, &mut site, now);
        Line { opening, ..Line::over(duplex, key) }
    }

    /// The other end of it; `None` if `body` is no SYN.
    pub fn accept(settings: &LineSettings, front: &Front, body: Bytes, rng: &mut Rng, now: Instant) -> Option<Line> {
        let tcp = opening_of(settings, front.key, rng);
        let ends = Ends::new(front.key.is_ours, 0);
        let syn = frame::take_segment(front, body, &ends, None)?;
        let mut site = SocketSite { opening: &tcp, flow: 0, rng };
        let duplex = Duplex::accept(&settings.reliable, &mut site, &syn, now)?;
        Some(Line { is_opened: true, ..Line::over(duplex, front.key) })
    }

    fn over(duplex: Duplex, key: LineKey) -> Line {
        Line {
            key,
            ends: Ends::new(key.is_ours, duplex.control_port()),
            duplex,
            opening: Vec::new(),
            starts: ControlStarts::default(),
            pending: VecDeque::new(),
            reader: Reader::default(),
            piece: Bytes::new(),
            is_opened: false,
            has_ended: false,
            peer_has_ended: false,
            is_delivered: false,
            is_delivered_there: false,
        }
    }

    /// Takes a frame of this connection; false if it is not a segment.
    pub fn handle(&mut self, now: Instant, front: &Front, body: Bytes) -> bool {
        let Some(packet) = frame::take_segment(front, body, &self.ends, self.starts.of(front)) else { return false };
        self.duplex.handle_packet(now, &packet);
        true
    }

    /// True for data that a table without memory refuses: those that are not the next ones, and all once so much waits for
    /// an application that does not read.
    pub fn can_wait(&self, front: &Front, body: &Bytes, reserve: u64) -> bool {
        if front.kind != Kind::Data || self.duplex.data().memory() <= reserve {
            return false;
        }
        let Some(packet) = frame::take_segment(front, body.clone(), &self.ends, None) else { return false };
        let data = self.duplex.data();
        let is_next = packet.tcp().is_some_and(|tcp| data.position_of(tcp.sequence) <= data.received_in_order() as i64);
        packet.payload_len() > 0 && !(is_next && data.readable() < reserve)
    }

    /// Writes the next frame to `out`; false if there is none now.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        while let Some(packet) = self.duplex.poll_transmit(now) {
            let Some((kind, control)) = self.ends.kind_of(&packet) else { continue };
            Front { kind, control, key: self.key }.put(out);
            if kind == Kind::Open {
                out.put_u16(self.opening.len() as u16);
                out.put_slice(&self.opening);
            }
            self.starts.note(kind, control, &packet);
            frame::put_segment(kind, &packet, out);
            return true;
        }
        false
    }

    /// The earliest deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.duplex.poll_timeout()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.duplex.handle_timeout(now);
    }

    /// Bytes of the application that can be written now.
    pub fn room(&self) -> usize {
        if self.has_ended || !self.pending.is_empty() {
            return 0;
        }
        (self.duplex.data().writable().saturating_sub(HEADER_LEN as u64) as usize).min(LENGTH_MAX)
    }

    /// Writes bytes of the application, no more than [`Line::room`], behind [`HEADER_LEN`] bytes that are free.
    ///
    /// # Panics
    /// There is no room.
    pub fn write(&mut self, mut record: Vec<u8>) {
        let length = record.len() - HEADER_LEN;
        record[..HEADER_LEN].copy_from_slice(&record::data_header(length));
        let record = Bytes::from(record);
        assert_eq!(self.duplex.data_mut().write(&record), record.len(), "there was room");
    }

    /// The application ended its stream.
    pub fn end(&mut self) {
        self.has_ended = true;
        self.say(&Record::End);
    }

    /// This end's application took the connection that the peer asked for.
    pub fn opened(&mut self) {
        self.say(&Record::Opened);
    }

    /// The application's host has acknowledged all of the far application's stream.
    pub fn delivered(&mut self) {
        self.is_delivered = true;
        self.say(&Record::Delivered);
    }

    fn say(&mut self, record: &Record) {
        self.pending.push_back(record::plain(record));
        self.flush();
    }

    /// Writes the records that wait, as far as there is room.
    pub fn flush(&mut self) {
        while let Some(record) = self.pending.front() {
            if self.duplex.data().writable() < record.len() as u64 {
                return;
            }
            self.duplex.data_mut().write(record);
            self.pending.pop_front();
        }
    }

    /// The next bytes of the far application's stream; `None` if there are none now.
    ///
    /// # Errors
    /// The peer speaks something else.
    pub fn read(&mut self) -> Result<Option<Bytes>, Malformed> {
        loop {
            match self.reader.take(&mut self.piece)? {
                Some(_) if self.peer_has_ended && self.is_delivered_there => return Err(Malformed),
                Some(Record::Data(_) | Record::End) if self.peer_has_ended => return Err(Malformed),
                Some(Record::Data(bytes)) => return Ok(Some(bytes)),
                Some(Record::End) => self.peer_has_ended = true,
                Some(Record::Opened) => self.is_opened = true,
                Some(Record::Delivered) if self.has_ended => self.is_delivered_there = true,
                Some(Record::Delivered) => return Err(Malformed),
                None => match self.duplex.data_mut().read(READ_MAX) {
                    Some(Chunk::Bytes(bytes)) => self.piece = bytes,
                    _ => return Ok(None),
                },
            }
        }
    }

    /// The far application ended its stream, and all of it was read here.
    pub fn peer_has_ended(&self) -> bool {
        self.peer_has_ended
    }

    /// The application may be shown the end of the far application's stream: its host has all of it, and the far host has
    /// all of the application's, if that has ended, too.
    pub fn may_end_application(&self) -> bool {
        self.is_delivered && (!self.has_ended || self.is_delivered_there)
    }

    /// The peer was told that the application's host has all of the far application's stream.
    pub fn is_delivered(&self) -> bool {
        self.is_delivered
    }

    /// Both streams have ended, and each host has all of the other's.
    pub fn is_settled(&self) -> bool {
        self.has_ended && self.peer_has_ended && self.is_delivered && self.is_delivered_there
    }

    /// The same, and the peer knows.
    pub fn is_finished(&self) -> bool {
        self.is_settled() && self.pending.is_empty() && self.duplex.data().unacknowledged() == 0
    }

    /// The far application's host took the connection.
    pub fn is_opened(&self) -> bool {
        self.is_opened
    }

    /// The data TCP has given up.
    pub fn has_failed(&self) -> bool {
        self.duplex.data().close_reason().is_some()
    }

    /// Memory of both buffers and of what holds them.
    pub fn memory(&self) -> u64 {
        self.duplex.data().memory() + self.piece.len() as u64 + size_of::<Line>() as u64
    }

    /// What the circuit counted.
    pub fn counts(&self) -> Vec<(Event, u64)> {
        self.duplex.counts()
    }

    /// Congestion window of the circuit in bytes, segments of the data TCP sent again.
    pub fn levels(&self) -> (u64, u64) {
        (self.duplex.circuit().window_bytes(), self.duplex.data().stats().retransmitted_segments)
    }

    /// What holds at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        self.duplex.check()
    }
}

fn opening_of(settings: &LineSettings, key: LineKey, rng: &mut Rng) -> Opening {
    let ends = Ends::new(key.is_ours, 0);
    let (local, remote) = Ends::data_ports(key.is_ours);
    Opening {
        config: Config { random_seed: rng.next_u64(), ..settings.tcp.clone() },
        local: Endpoint { address: ends.local, port: local },
        remote: Endpoint { address: ends.remote, port: remote },
        initial_sequence: SeqNum(rng.next_u64() as u32),
        timestamp_offset: rng.next_u64() as u32,
        source: Stream::Bytes,
    }
}
