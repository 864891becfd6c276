//! Where the time of the medium goes.

use airtcp_core::{Duration, Packet};

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// A packet.
    Data,
    /// A TCP acknowledgment and nothing else.
    TcpAck,
}

impl FrameKind {
    /// Every kind, in declaration order; `kind as usize` indexes it.
    pub const ALL: [FrameKind; 2] = [FrameKind::Data, FrameKind::TcpAck];

    /// The name used in results.
    pub const fn label(self) -> &'static str {
        match self {
            FrameKind::Data => "data",
            FrameKind::TcpAck => "tcp_ack",
        }
    }

    /// What a frame with this packet is.
    pub fn of(packet: &Packet) -> Self {
        let is_ack = packet
            .tcp()
            .is_some_and(|tcp| packet.payload_len() == 0 && !(tcp.flags.syn() || tcp.flags.fin() || tcp.flags.rst()));
        if is_ack { FrameKind::TcpAck } else { FrameKind::Data }
    }
}

/// Time on the air, frames and what belongs to them (RTS, CTS, ACK), without the gaps between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Of frames that arrived.
    pub delivered: Duration,
    /// Of frames that were damaged, or whose ACK was.
    pub damaged: Duration,
    /// Of frames that were sent at the same time as others.
    pub collided: Duration,
}

/// What an interface did with the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// By kind of frame.
    pub airtime: [Airtime; FrameKind::ALL.len()],
    /// Transmissions, of RTS where a frame has one.
    pub transmissions: u64,
    /// Of these, such that met others.
    pub collisions: u64,
    /// Frames that arrived, without those that were sent again for the sake of a lost ACK.
    pub frames_delivered: [u64; FrameKind::ALL.len()],
    /// Frames given up after their retry limit, those that had arrived unacknowledged included.
    pub given_up: u64,
}

/// What a cell's medium was used for: by whom, and how many wanted it. (AST-19)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumUse {
    /// Times that somebody sent: successes, failures and collisions.
    pub exchanges: u64,
    /// Of these, times that several did.
    pub collisions: u64,
    /// Stations that had a frame to send, summed over all exchanges.
    pub contenders: u64,
    /// Frames sent back within the exchange of another (DCF+), and such that were announced in vain.
    pub reverse_frames: u64,
    /// TCP acknowledgments that rode in answers (HACK).
    pub riders: u64,
    /// PS-Polls that the access point heard.
    pub polls: u64,
    /// Transmissions of data in a cell that aggregates, each of one frame or more.
    pub aggregates: u64,
    /// Frames in them.
    pub aggregated_frames: u64,
    /// Block ACK requests.
    pub block_ack_requests: u64,
    /// Beacons; they are no exchanges.
    pub beacons: u64,
    /// Time that the medium was busy.
    pub busy: Duration,
}
