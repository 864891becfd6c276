//! Acknowledgments that do not cross a link which acknowledges frames itself.

use airtcp_core::{Packet, SeqNum};
use airtcp_tcp::{Connection, State};

/// Says which acknowledgments of one connection are not sent (AST-7, AST-U16).
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiet {
    /// The window that the other end may use is told, now and then.
    tells_window: bool,
    /// The end of the window that was told last.
    told_edge: Option<SeqNum>,
    /// The number acknowledged last, sent or not.
    acknowledged: Option<SeqNum>,
    /// The other end said with its last segment that it makes acknowledgments of the link's own.
    is_emulated: bool,
    /// Its last segment had no data, or the byte of a keep-alive: it may be a question.
    is_asked: bool,
    /// It had none at all.
    is_bare: bool,
}

impl Quiet {
    pub fn new(tells_window: bool) -> Self {
        Quiet { tells_window, told_edge: None, acknowledged: None, is_emulated: false, is_asked: false, is_bare: false }
    }

    /// Looks at a segment from the other end.
    pub fn note_received(&mut self, packet: &Packet) {
        self.is_asked = packet.payload_len() <= 1;
        self.is_bare = packet.payload_len() == 0;
        if packet.payload_len() > 0 {
            self.is_emulated = packet.tcp().is_some_and(|tcp| tcp.flags.emulated());
        }
    }

    /// True if `packet`, which `connection` sends, says nothing that the other end does not learn from the link: an
    /// acknowledgment of data, without data, and not of a connection that opens or closes.
    ///
    /// What acknowledges nothing new answers a question, a window probe or a keep-alive, and is sent; the duplicates
    /// that a gap causes are not, for the link has told of what came behind it.
    pub fn keeps(&mut self, connection: &Connection, packet: &Packet) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        // The window of a SYN is never scaled.
        let shift = if tcp.flags.syn() { 0 } else { connection.window_shift() };
        let edge = tcp.acknowledgment + (u32::from(tcp.window) << shift);
        let is_open = connection.state() == State::Established && !connection.is_read_finished();
        let is_plain = packet.payload_len() == 0 && !tcp.flags.syn() && !tcp.flags.fin() && !tcp.flags.rst();
        // In a gap, what has no data asks what is missing; a byte may be one that came behind it.
        let may_ask = self.is_bare || !connection.has_gap();
        let is_answer = self.is_asked && self.acknowledged == Some(tcp.acknowledgment) && may_ask;
        let is_asked_for = is_answer || tcp.flags.ece() || self.allows_much_more(edge, connection);
        let is_needless = self.is_emulated && is_open && is_plain && !is_asked_for;
        self.acknowledged = Some(tcp.acknowledgment);
        if !is_needless {
            self.told_edge = Some(edge);
        }
        is_needless
    }

    /// Half a buffer more than was told, or half of the largest window that can be told.
    fn allows_much_more(&self, edge: SeqNum, connection: &Connection) -> bool {
        let told = self.told_edge.filter(|_| self.tells_window);
        let largest = u64::from(u16::MAX) << connection.window_shift();
        let much = (connection.receive_buffer().min(largest) / 2).max(1);
        told.is_some_and(|told| i64::from(edge.distance_from(told)) >= much as i64)
    }
}
