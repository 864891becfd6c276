//! A flow: what it is asked to do, how far it is, and why it could not start.

use super::wrap::Wrap;
use crate::sys::clock;
use crate::sys::netns::NetNs;
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Stack of a flow's threads: small, as the emulator locks all memory of the process.
pub(super) const STACK: usize = 256 * 1024;

/// How much a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// As much as possible until this time after the run's origin. Data in flight then has the time `drain` to arrive
    /// and is cut off after that.
    Until(Duration),
    /// Exactly this many bytes.
    Bytes(u64),
}

/// One TCP connection and what it carries. Times count from the run's origin.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name for threads, results and errors.
    pub name: String,
    /// Namespace of the sender.
    pub from: NetNs,
    /// Namespace of the receiver.
    pub to: NetNs,
    /// The sender's address.
    pub source: IpAddr,
    /// The receiver's address.
    pub destination: IpAddr,
    /// The receiver's port; 0 lets the kernel choose.
    pub port: u16,
    /// Congestion controller at the sender, by the kernel's name.
    pub controller: String,
    /// How much it sends.
    pub amount: Amount,
    /// When it connects.
    pub start: Duration,
    /// The part of the run that rates are taken over.
    pub window: (Duration, Duration),
    /// Seed of the content.
    pub seed: u64,
    /// When it is given up at the latest.
    pub deadline: Duration,
    /// How long [`Amount::Until`] waits for data that is still in flight.
    pub drain: Duration,
    /// Spacing of samples and of the receiver's series.
    pub sample_every: Duration,
    /// Bytes kept written but unsent (`TCP_NOTSENT_LOWAT`): enough to keep the connection
    /// busy between two wake-ups of the sender, little enough to drain soon.
    pub unsent_limit: u32,
    /// Receive window in bytes; `None` lets the kernel tune one.
    pub receive_buffer: Option<u64>,
    /// Start just below a wrap.
    pub wrap: Wrap,
}

impl FlowSpec {
    /// A bulk flow with the usual settings: it runs from the origin to `until`, measured after
    /// `warmup`, sampled each 100 ms.
    pub fn bulk(
        name: &str,
        from: (&NetNs, IpAddr),
        to: (&NetNs, IpAddr),
        controller: &str,
        warmup: Duration,
        until: Duration,
    ) -> Self {
        FlowSpec {
            name: name.into(),
            from: from.0.clone(),
            to: to.0.clone(),
            source: from.1,
            destination: to.1,
            port: 0,
            controller: controller.into(),
            amount: Amount::Until(until),
            start: Duration::ZERO,
            window: (warmup, until),
            seed: 1,
            deadline: until + Duration::from_secs(10),
            drain: Duration::from_secs(2),
            sample_every: Duration::from_millis(100),
            unsent_limit: 128 * 1024,
            receive_buffer: None,
            wrap: Wrap::default(),
        }
    }

    /// A transfer of exactly `bytes` that is given up after `deadline`.
    pub fn transfer(
        name: &str,
        from: (&NetNs, IpAddr),
        to: (&NetNs, IpAddr),
        controller: &str,
        bytes: u64,
        deadline: Duration,
    ) -> Self {
        FlowSpec {
            amount: Amount::Bytes(bytes),
            deadline,
            ..Self::bulk(name, from, to, controller, Duration::ZERO, deadline)
        }
    }
}

/// Why a flow could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// A kernel call failed before the flow could connect.
    #[error("flow '{flow}': cannot {action}: {source}")]
    Socket {
        /// The flow.
        flow: String,
        /// What was attempted.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel does not know the congestion controller.
    #[error(
        "flow '{flow}': the kernel has no congestion controller '{controller}'; \
         see net.ipv4.tcp_available_congestion_control"
    )]
    Controller {
        /// The flow.
        flow: String,
        /// The unknown name.
        controller: String,
    },
}

/// How far a running flow is; updated while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) cancelled: AtomicBool,
    /// The sender has given the rest up: what has not arrived will not.
    pub(super) sender_gave_up: AtomicBool,
    /// The receiver has read the end of the stream. Both ends live in one process, so the
    /// sender need not wait for a FIN that may be lost several times.
    pub(super) receiver_done: AtomicBool,
}

impl Progress {
    /// Bytes handed to the sender's kernel.
    pub fn sent_bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes that reached the receiving application.
    pub fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Ends the flow soon, within some tens of milliseconds.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Time since the run's origin.
pub(super) fn since(origin: Instant) -> Duration {
    clock::now().saturating_since(origin)
}
