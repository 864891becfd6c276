//! The sending end: writes the pattern into one stream, samples quinn's view of the path, knows when to stop.

use super::super::flow::{Amount, FlowSpec, Progress, since};
use super::super::payload::Pattern;
use super::super::result::{Outcome, Sample};
use super::super::sender::{CHUNK, Sent};
use super::end::End;
use crate::sys::tcp_info::TcpInfo;
use airtcp_core::{Duration, Instant};
use quinn_proto::{Dir, StreamId, WriteError};
use sha2::Digest;
use std::io;
use std::sync::atomic::Ordering;

const PATIENCE: Duration = Duration::from_millis(20);

/// The report of the sending end.
pub(super) struct SentOverQuic {
    pub sent: Sent,
    /// When the handshake was done.
    pub connected_at: Option<Duration>,
}

/// Sends what `spec` asks for and waits until the receiver has it.
pub(super) fn send(end: End, spec: &FlowSpec, origin: Instant, progress: &Progress) -> SentOverQuic {
    let mut sender = Sender {
        end,
        spec,
        origin,
        progress,
        stream: None,
        is_finished: false,
        pattern: Pattern::new(spec.seed),
        chunk: vec![0; CHUNK],
        at: CHUNK,
        next_sample: since(origin),
        sent: Sent::default(),
        connected_at: None,
    };
    let outcome = sender.run().unwrap_or_else(|error| Some(Outcome::Broken(error.to_string())));
    sender.sample();
    if outcome.is_some() {
        progress.sender_gave_up.store(true, Ordering::Relaxed);
    }
    // What cannot be said any more need not be: the other end sees the flags of `progress`.
    let _ = sender.end.close();
    sender.sent.outcome = outcome;
    SentOverQuic { sent: sender.sent, connected_at: sender.connected_at }
}

struct Sender<'a> {
    end: End,
    spec: &'a FlowSpec,
    origin: Instant,
    progress: &'a Progress,
    stream: Option<StreamId>,
    is_finished: bool,
    pattern: Pattern,
    /// Bytes made but not yet taken by quinn: `chunk[at..]`.
    chunk: Vec<u8>,
    at: usize,
    next_sample: Duration,
    sent: Sent,
    connected_at: Option<Duration>,
}

impl Sender<'_> {
    fn run(&mut self) -> io::Result<Option<Outcome>> {
        loop {
            self.end.drive()?;
            if self.end.is_connected && self.connected_at.is_none() {
                self.connected_at = Some(since(self.origin));
            }
            if self.connected_at.is_some() {
                self.write()?;
                // What was written leaves now, not after the wait.
                self.end.drive()?;
            }
            if let Some(lost) = &self.end.lost {
                return if self.progress.receiver_done.load(Ordering::Relaxed) {
                    Ok(None)
                } else {
                    Ok(Some(Outcome::Broken(lost.to_string())))
                };
            }
            let now = since(self.origin);
            if let Some(outcome) = self.ended(now) {
                return Ok(outcome);
            }
            if now >= self.next_sample {
                self.sample();
                self.next_sample = now + self.spec.sample_every;
            }
            self.end.wait(self.next_sample.saturating_sub(now).min(PATIENCE))?;
        }
    }

    /// How it ended, if it did.
    fn ended(&self, now: Duration) -> Option<Option<Outcome>> {
        if self.progress.is_cancelled() {
            return Some(Some(Outcome::Cancelled));
        }
        if self.progress.receiver_done.load(Ordering::Relaxed) {
            return Some(None);
        }
        match self.spec.amount {
            // There is always more to send, so what is under way is cut off.
            Amount::Until(until) if now >= until => Some(Some(Outcome::CutOff)),
            _ if now >= self.spec.deadline => Some(Some(Outcome::TimedOut)),
            _ => None,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let left = |sent: u64| match self.spec.amount {
            Amount::Bytes(bytes) => bytes - sent,
            Amount::Until(_) => u64::MAX,
        };
        let Some(connection) = self.end.connection() else { return Ok(()) };
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return Ok(()) };
        while left(self.sent.bytes) > 0 {
            if self.at == self.chunk.len() {
                self.chunk.resize(left(self.sent.bytes).min(CHUNK as u64) as usize, 0);
                self.pattern.fill(&mut self.chunk);
                self.at = 0;
            }
            match connection.send_stream(id).write(&self.chunk[self.at..]) {
                Ok(count) => {
                    self.sent.hash.update(&self.chunk[self.at..self.at + count]);
                    self.at += count;
                    self.sent.bytes += count as u64;
                    self.progress.sent.store(self.sent.bytes, Ordering::Relaxed);
                }
                Err(WriteError::Blocked) => return Ok(()),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        if !self.is_finished {
            connection.send_stream(id).finish().map_err(io::Error::other)?;
            self.is_finished = true;
        }
        Ok(())
    }

    /// As TCP would say it: window in packets, and packets that had to be sent again.
    fn sample(&mut self) {
        let Some(connection) = self.end.connection() else { return };
        let path = connection.stats().path;
        let info = TcpInfo {
            congestion_window: (path.cwnd / u64::from(path.current_mtu.max(1))) as u32,
            segment_size: path.current_mtu.into(),
            smoothed_rtt: Duration::from_nanos(path.rtt.as_nanos() as u64),
            min_rtt: Duration::from_nanos(path.min_rtt.as_nanos() as u64),
            retransmitted_segments: path.lost_packets as u32,
            retransmitted_bytes: path.lost_bytes,
            ..TcpInfo::default()
        };
        self.sent.samples.push(Sample { at: since(self.origin), info });
    }
}
