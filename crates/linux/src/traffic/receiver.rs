//! The receiving loop: verifies every byte, counts what arrived when, finds the longest stall.

use super::establish::{PATIENCE_MS, Server};
use super::flow::{Amount, FlowSpec, Progress, since};
use super::payload::Pattern;
use super::sender::is_transient;
use crate::sys::tcp_socket::{clamp_window, wait_ready};
use airtcp_core::{Duration, Instant};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

const CHUNK: usize = 256 * 1024;

/// The report of the receiving end.
#[derive(Default)]
pub(super) struct Received {
    pub bytes: u64,
    pub window_bytes: u64,
    pub series: Vec<u64>,
    pub last_at: Option<Duration>,
    pub longest_stall: Duration,
    pub hash: [u8; 32],
    pub first_wrong_byte: Option<u64>,
    /// The sender ended the stream and everything before was read.
    pub closed_in_order: bool,
    pub error: Option<String>,
}

/// Reads the stream to its end, the deadline, an error or a cancellation.
pub(super) fn receive(server: Server, spec: &FlowSpec, origin: Instant, progress: &Progress) -> Received {
    let mut received = Received::default();
    let stream = match server.accepted(spec, origin, progress) {
        Ok(stream) => stream,
        Err(outcome) => {
            let hash = Sha256::new().finalize().into();
            return Received { error: Some(format!("not accepted: {outcome:?}")), hash, ..received };
        }
    };
    let mut hash = Sha256::new();
    let mut pattern = Pattern::new(spec.seed);
    let mut chunk = vec![0; CHUNK];
    let mut last = since(origin);
    // Silence after the sender's time is over is no stall.
    let busy_until = match spec.amount {
        Amount::Until(until) => until,
        Amount::Bytes(_) => Duration::MAX,
    };
    loop {
        let ready = wait_ready(&stream, libc::POLLIN, PATIENCE_MS);
        let outcome = match ready {
            Ok(0) => None,
            Ok(_) => Some(clamped(&stream, spec).and_then(|()| (&mut &stream).read(&mut chunk))),
            Err(error) => Some(Err(error)),
        };
        let now = since(origin);
        match outcome {
            Some(Ok(0)) => {
                progress.receiver_done.store(true, Ordering::Relaxed);
                received.closed_in_order = true;
                received.last_at = received.last_at.or(Some(now));
                break;
            }
            Some(Ok(count)) => {
                received.note_stall(last, now.min(busy_until));
                last = now;
                received.count(count as u64, now, spec);
                hash.update(&chunk[..count]);
                let wrong = pattern.verify(&chunk[..count]);
                received.first_wrong_byte = received.first_wrong_byte.or(wrong);
                progress.received.store(received.bytes, Ordering::Relaxed);
            }
            Some(Err(error)) if !is_transient(&error) => {
                received.error = Some(error.to_string());
                break;
            }
            _ if progress.sender_gave_up.load(Ordering::Relaxed) => break,
            _ => {}
        }
        if progress.is_cancelled() || now >= spec.deadline + spec.drain {
            break;
        }
    }
    received.note_stall(last, since(origin).min(busy_until));
    received.hash = hash.finalize().into();
    received
}

/// Keeps the window at what the flow asks for.
fn clamped(stream: &TcpStream, spec: &FlowSpec) -> io::Result<()> {
    spec.receive_buffer.map_or(Ok(()), |bytes| clamp_window(stream.as_fd(), bytes))
}

impl Received {
    pub(super) fn note_stall(&mut self, from: Duration, to: Duration) {
        self.longest_stall = self.longest_stall.max(to.saturating_sub(from));
    }

    pub(super) fn count(&mut self, bytes: u64, now: Duration, spec: &FlowSpec) {
        self.bytes += bytes;
        self.last_at = Some(now);
        if spec.window.0 <= now && now < spec.window.1 {
            self.window_bytes += bytes;
        }
        let bin = (now.as_nanos() / spec.sample_every.as_nanos().max(1)) as usize;
        // A flow ends by its deadline, so the series is bounded.
        if bin >= self.series.len() {
            self.series.resize(bin + 1, 0);
        }
        self.series[bin] += bytes;
    }
}
