//! The receiving end: verifies every byte of the stream and counts what arrived when.

use super::super::flow::{Amount, FlowSpec, Progress, since};
use super::super::payload::Pattern;
use super::super::receiver::Received;
use super::end::End;
use airtcp_core::{Duration, Instant};
use quinn_proto::{Dir, ReadError, StreamId};
use sha2::{Digest, Sha256};
use std::io;
use std::sync::atomic::Ordering;

const PATIENCE: Duration = Duration::from_millis(20);

/// Reads the stream to its end, the deadline, an error or a cancellation.
pub(super) fn receive(mut end: End, spec: &FlowSpec, origin: Instant, progress: &Progress) -> Received {
    let mut reader = Reader {
        spec,
        origin,
        progress,
        stream: None,
        pattern: Pattern::new(spec.seed),
        hash: Sha256::new(),
        received: Received::default(),
        last: since(origin),
    };
    // Silence after the sender's time is over is no stall.
    let busy_until = match spec.amount {
        Amount::Until(until) => until,
        Amount::Bytes(_) => Duration::MAX,
    };
    loop {
        match reader.turn(&mut end) {
            Ok(false) => {}
            Ok(true) => {
                progress.receiver_done.store(true, Ordering::Relaxed);
                reader.received.closed_in_order = true;
                reader.received.last_at.get_or_insert(since(origin));
                break;
            }
            Err(error) => {
                reader.received.error = Some(error.to_string());
                break;
            }
        }
        let is_over = progress.sender_gave_up.load(Ordering::Relaxed) || progress.is_cancelled();
        if is_over || since(origin) >= spec.deadline + spec.drain {
            break;
        }
    }
    let mut received = reader.received;
    received.note_stall(reader.last, since(origin).min(busy_until));
    received.hash = reader.hash.finalize().into();
    received
}

struct Reader<'a> {
    spec: &'a FlowSpec,
    origin: Instant,
    progress: &'a Progress,
    stream: Option<StreamId>,
    pattern: Pattern,
    hash: Sha256,
    received: Received,
    last: Duration,
}

impl Reader<'_> {
    /// Waits for something and reads what has come; true at the end of the stream.
    fn turn(&mut self, end: &mut End) -> io::Result<bool> {
        end.wait(PATIENCE)?;
        end.drive()?;
        let Some(connection) = end.connection() else { return Ok(false) };
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        let Some(id) = self.stream else { return Ok(false) };
        let mut stream = connection.recv_stream(id);
        let mut chunks = stream.read(true).map_err(io::Error::other)?;
        let is_whole = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.take(&chunk.bytes),
                Ok(None) => break true,
                Err(ReadError::Blocked) => break false,
                Err(error) => return Err(io::Error::other(error)),
            }
        };
        // Credit for what was read, and acknowledgments, leave in the same turn.
        let _ = chunks.finalize();
        end.drive()?;
        match &end.lost {
            Some(lost) if !is_whole => Err(io::Error::other(lost.clone())),
            _ => Ok(is_whole),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let now = since(self.origin);
        self.received.note_stall(self.last, now);
        self.last = now;
        self.received.count(bytes.len() as u64, now, self.spec);
        self.hash.update(bytes);
        let wrong = self.pattern.verify(bytes);
        self.received.first_wrong_byte = self.received.first_wrong_byte.or(wrong);
        self.progress.received.store(self.received.bytes, Ordering::Relaxed);
    }
}
