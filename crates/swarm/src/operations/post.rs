//! The world of one gateway under random operations: ports that refuse and accept, and a record of what it did.

use crate::draw::{Draw, Trace};
use airtcp_core::{Backlog, DropReason, Io, Packet, Peer, Port, Token};

/// What an element did, and what its ports allow.
pub struct Post {
    /// Packets each port still takes, by port number.
    pub space: [usize; 2],
    /// A packet was refused at the port since it was last ready.
    pub refused: [bool; 2],
    /// Sent and not yet collected.
    pub sent: Vec<(Port, Packet)>,
    /// Control messages sent and not yet collected.
    pub control: Vec<Vec<u8>>,
    /// Tracked packets whose fate was not reported to the element yet.
    pub tokens: Vec<Token>,
    /// Everything that the element did.
    pub trace: Trace,
    draw: Draw,
}

/// Most transmission reports that an element waits for at a time. The oldest beyond that are never delivered, as if the
/// medium had lost them.
const MAX_TOKENS: usize = 64;

impl Post {
    /// A post whose ports take everything.
    pub fn new(draw: Draw) -> Self {
        Post {
            space: [usize::MAX; 2],
            refused: [false; 2],
            sent: Vec::new(),
            control: Vec::new(),
            tokens: Vec::new(),
            trace: Trace::default(),
            draw,
        }
    }

    fn leave(&mut self, packet: &Packet, why: u64) {
        self.trace.add(why);
        self.trace.add(u64::from(packet.wire_len()));
        if let Some(tcp) = packet.tcp() {
            self.trace.add(u64::from(tcp.sequence.0) << 32 | u64::from(tcp.acknowledgment.0));
            self.trace.add(u64::from(tcp.flags.0) << 16 | u64::from(tcp.window));
        }
    }
}

impl Io for Post {
    fn room(&mut self, port: Port) -> usize {
        self.space[usize::from(port.0 & 1)]
    }

    /// Something plausible: an empty port has no backlog, a full one has any.
    fn backlog(&mut self, port: Port) -> Backlog {
        if self.room(port) > 0 {
            return Backlog::default();
        }
        let packets = self.draw.magnitude(1, 1000);
        Backlog { packets: packets as usize, bytes: packets * 1500 }
    }

    fn try_send(&mut self, port: Port, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        let side = usize::from(port.0 & 1);
        if self.space[side] == 0 {
            self.refused[side] = true;
            return Err(packet);
        }
        if self.space[side] != usize::MAX {
            self.space[side] -= 1;
        }
        self.leave(&packet, 1 + u64::from(port.0));
        self.sent.push((port, packet));
        if let Some(token) = token {
            self.tokens.push(token);
            if self.tokens.len() > MAX_TOKENS {
                self.tokens.remove(0);
            }
        }
        Ok(())
    }

    fn control_overhead(&self) -> u32 {
        airtcp_core::control::overhead(false, false)
    }
    fn send_control(&mut self, peer: Peer, message: &[u8]) {
        self.trace.add(u64::from(peer.0));
        self.trace.add_bytes(message);
        self.control.push(message.to_vec());
    }

    fn show_discarded(&mut self, packet: &Packet, reason: DropReason) {
        self.trace.add_bytes(reason.label().as_bytes());
        self.leave(packet, 200);
    }
}
