//! A flow: what it is asked to do, how far it is, and why it could not start.

use super::wrap::Wrap;
use crate::sys::clock;
use crate::sys::netns::NetNs;
use crate::sys::sched;
use airtcp_core::{Duration, Instant};
use airtcp_schemes::socket::datagram::Pace;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
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

/// What carries a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Carrier {
    /// A connection of the kernel's TCP.
    Tcp,
    /// UDP datagrams with numbers; nothing comes back.
    Datagrams(Stream),
    /// A QUIC connection with one stream.
    Quic {
        /// How much may be under way, in bytes.
        receive_window: u64,
    },
    /// TCP in a WireGuard tunnel of its own.
    Wireguard {
        /// Of the tunnel's devices.
        mtu: u32,
    },
}

impl Carrier {
    /// What the threads of a flow need on their stacks: a handshake of TLS takes more, in a build without optimization.
    pub(super) fn stack(&self) -> usize {
        if matches!(self, Carrier::Quic { .. }) { 8 * STACK } else { STACK }
    }
}

/// A stream of UDP datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Time between two; without one, as fast as they are taken.
    pub pace: Option<Pace>,
    /// The Unix socket of a forwarder that leads them to the receiver. What it does not take at once is lost, if there is a pace.
    pub via: Option<PathBuf>,
    /// Bytes of each as an IP packet.
    pub packet: u32,
    /// Their differentiated services code point.
    pub dscp: u8,
}

/// One flow and what it carries. Times count from the run's origin.
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
    /// What carries it.
    pub carrier: Carrier,
    /// The receiver's port; 0 lets the kernel choose.
    pub port: u16,
    /// Where the sender connects, if that is not the receiver itself: a forwarder takes it there.
    pub via: Option<SocketAddr>,
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
    /// SCHED_FIFO priority of both threads of [`Carrier::Tcp`], below that of gateways: hosts that do not lose their turns to what else this
    /// machine does. Without one, that of any program.
    pub priority: Option<u8>,
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
            carrier: Carrier::Tcp,
            port: 0,
            via: None,
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
            priority: None,
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

    /// Gives the calling thread the flow's priority.
    pub(super) fn take_priority(&self) -> Result<(), TrafficError> {
        let refused =
            |source| TrafficError::Socket { flow: self.name.clone(), action: "get a real-time priority", source };
        self.priority.map_or(Ok(()), sched::set_fifo).map_err(refused)
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
    /// This build has no such carrier.
    #[error("flow '{flow}': this airtcp was built without {what}; build it with the feature '{feature}'")]
    NotBuilt {
        /// The flow.
        flow: String,
        /// What is missing.
        what: &'static str,
        /// What brings it.
        feature: &'static str,
    },
    /// QUIC's congestion controllers are its own.
    #[error("flow '{flow}': QUIC has the controllers cubic, bbr and reno, not '{controller}'; choose one of them")]
    NotOfQuic {
        /// The flow.
        flow: String,
        /// The unknown name.
        controller: String,
    },
    /// QUIC could not be set up.
    #[error("flow '{flow}': cannot set QUIC up: {message}")]
    Quic {
        /// The flow.
        flow: String,
        /// What was refused.
        message: String,
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
