//! The sending loop: writes the pattern, samples `TCP_INFO`, knows when to stop.

use super::establish::PATIENCE_MS;
use super::flow::{Amount, FlowSpec, Progress, since};
use super::payload::Pattern;
use super::result::{Outcome, Sample};
use super::wrap::{Clocks, Wrapped};
use crate::sys::tcp_info::TcpInfo;
use crate::sys::tcp_socket::{set_reset_on_close, wait_ready};
use airtcp_core::{Duration, Instant};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// Bytes made at a time.
pub(super) const CHUNK: usize = 64 * 1024;

/// The report of the sending end.
#[derive(Default)]
pub(super) struct Sent {
    /// Bytes the kernel took.
    pub bytes: u64,
    /// `TCP_INFO` over time.
    pub samples: Vec<Sample>,
    /// Why it stopped; `None` when the stream was closed in order by both ends.
    pub outcome: Option<Outcome>,
    /// Clocks that went through zero.
    pub wrapped: Wrapped,
    pub(super) hash: Sha256,
}

impl Sent {
    /// SHA-256 of the first `bytes` bytes of what was sent. Normally those are all of it; of a
    /// stream that was cut off, the part that arrived is made again.
    pub(super) fn hash_of_first(&self, seed: u64, bytes: u64) -> [u8; 32] {
        if bytes >= self.bytes {
            return self.hash.clone().finalize().into();
        }
        let mut pattern = Pattern::new(seed);
        let mut hash = Sha256::new();
        let mut chunk = vec![0; CHUNK];
        let mut left = bytes;
        while left > 0 {
            let count = left.min(CHUNK as u64) as usize;
            pattern.fill(&mut chunk[..count]);
            hash.update(&chunk[..count]);
            left -= count as u64;
        }
        hash.finalize().into()
    }
}

/// Sends what `spec` asks for and waits until the receiver has it.
pub(super) fn send(stream: TcpStream, spec: &FlowSpec, origin: Instant, progress: &Progress) -> Sent {
    let clocks = Clocks::read(&spec.wrap, &stream);
    let mut sender = Sender::new(&stream, spec, origin, progress);
    let outcome = match sender.run() {
        Ok(outcome) => outcome,
        Err(error) => Some(Outcome::Broken(error.to_string())),
    };
    sender.take_sample();
    sender.sent.outcome = outcome;
    if let (Some(before), Some(after)) = (clocks, Clocks::read(&spec.wrap, &stream)) {
        sender.sent.wrapped = before.wrapped_before(after);
    }
    if sender.sent.outcome.is_some() {
        progress.sender_gave_up.store(true, Ordering::Relaxed);
        // Nobody waits for the rest: free the kernel of retransmitting it. A stream that is
        // broken already has nothing to reset, so a failure does not matter.
        let _ = set_reset_on_close(stream.as_fd());
    }
    sender.sent
}

struct Sender<'a> {
    stream: &'a TcpStream,
    spec: &'a FlowSpec,
    origin: Instant,
    progress: &'a Progress,
    pattern: Pattern,
    /// Bytes made but not yet taken by the kernel: `chunk[at..end]`.
    chunk: Vec<u8>,
    at: usize,
    end: usize,
    next_sample: Duration,
    sent: Sent,
}

impl<'a> Sender<'a> {
    fn new(stream: &'a TcpStream, spec: &'a FlowSpec, origin: Instant, progress: &'a Progress) -> Self {
        let mut pattern = Pattern::new(spec.seed);
        let mut early = vec![0; spec.wrap.bytes_sent_early()];
        pattern.fill(&mut early);
        let mut sent = Sent { bytes: early.len() as u64, ..Sent::default() };
        sent.hash.update(&early);
        let next_sample = since(origin);
        Sender { stream, spec, origin, progress, pattern, chunk: vec![0; CHUNK], at: 0, end: 0, next_sample, sent }
    }

    fn run(&mut self) -> io::Result<Option<Outcome>> {
        while self.wants_to_send() {
            if let Some(outcome) = self.ended_early() {
                return Ok(Some(outcome));
            }
            self.wait(libc::POLLOUT)?;
            self.write_some()?;
        }
        self.stream.shutdown(Shutdown::Write)?;
        let give_up = match self.spec.amount {
            Amount::Until(until) => (until + self.spec.drain).min(self.spec.deadline),
            Amount::Bytes(_) => self.spec.deadline,
        };
        loop {
            if let Some(outcome) = self.ended_early() {
                return Ok(Some(outcome));
            }
            if since(self.origin) >= give_up {
                return Ok(Some(Outcome::CutOff));
            }
            if self.progress.receiver_done.load(Ordering::Relaxed) {
                return Ok(None);
            }
            self.wait(libc::POLLIN)?;
            // The receiver closes after it has read the end of the stream.
            match (&mut &*self.stream).read(&mut [0; 64]) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn wants_to_send(&self) -> bool {
        match self.spec.amount {
            Amount::Until(until) => since(self.origin) < until,
            Amount::Bytes(bytes) => self.sent.bytes < bytes,
        }
    }

    fn ended_early(&self) -> Option<Outcome> {
        if self.progress.is_cancelled() {
            return Some(Outcome::Cancelled);
        }
        (since(self.origin) >= self.spec.deadline).then_some(Outcome::TimedOut)
    }

    /// Waits for the socket, a sample's time or [`PATIENCE_MS`], whichever comes first.
    fn wait(&mut self, events: i16) -> io::Result<()> {
        let now = since(self.origin);
        if now >= self.next_sample {
            self.take_sample();
            self.next_sample = now + self.spec.sample_every;
        }
        let left = i32::try_from(self.next_sample.saturating_sub(now).as_millis()).unwrap_or(PATIENCE_MS);
        wait_ready(self.stream, events, left.clamp(1, PATIENCE_MS)).map(|_| ())
    }

    fn take_sample(&mut self) {
        if let Ok(info) = TcpInfo::of(self.stream.as_fd()) {
            self.sent.samples.push(Sample { at: since(self.origin), info });
        }
    }

    fn write_some(&mut self) -> io::Result<()> {
        if self.at == self.end {
            let limit = match self.spec.amount {
                Amount::Bytes(bytes) => bytes - self.sent.bytes,
                Amount::Until(_) => u64::MAX,
            };
            (self.at, self.end) = (0, limit.min(CHUNK as u64) as usize);
            self.pattern.fill(&mut self.chunk[..self.end]);
        }
        match (&mut &*self.stream).write(&self.chunk[self.at..self.end]) {
            Ok(count) => {
                self.sent.hash.update(&self.chunk[self.at..self.at + count]);
                self.at += count;
                self.sent.bytes += count as u64;
                self.progress.sent.store(self.sent.bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(error) if is_transient(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// True for the errors that only mean "not now".
pub(super) fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
