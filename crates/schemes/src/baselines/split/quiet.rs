//! Acknowledgments that do not cross a link which acknowledges frames itself.

use airtcp_core::Packet;
use airtcp_tcp::{Connection, State};

/// Says which acknowledgments of one connection are not sent (AST-7, AST-U16).
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiet {
    /// The window that the other end may use is told, now and then.
    pub tells_window: bool,
    /// The end of the window that was told last, as a sequence number with the wrap.
    pub told_edge: Option<u32>,
}

impl Quiet {
    /// True if `packet`, which `connection` sends, says nothing that the other end does not learn from the link: an
    /// acknowledgment of data, without data, and not of a connection that opens or closes.
    pub fn keeps(&mut self, connection: &Connection, packet: &Packet) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        // The window of a SYN is never scaled.
        let shift = if tcp.flags.syn() { 0 } else { connection.window_shift() };
        let edge = tcp.acknowledgment.0.wrapping_add(u32::from(tcp.window) << shift);
        let is_open = connection.state() == State::Established && !connection.is_read_finished();
        let is_plain = packet.payload_len() == 0 && !tcp.flags.syn() && !tcp.flags.fin() && !tcp.flags.rst();
        let is_needless = is_open && is_plain && !tcp.flags.ece() && !self.allows_much_more(edge, connection);
        if !is_needless {
            self.told_edge = Some(edge);
        }
        is_needless
    }

    /// Half a buffer more than was told; a SYN tells no more than 64 KiB.
    fn allows_much_more(&self, edge: u32, connection: &Connection) -> bool {
        let Some(told) = self.told_edge.filter(|_| self.tells_window) else { return self.tells_window };
        let more = edge.wrapping_sub(told) as i32;
        more > 0 && more as u64 >= connection.receive_buffer() / 2
    }
}
