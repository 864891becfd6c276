//! Acknowledgments that do not cross a link which acknowledges frames itself.

use airtcp_core::{Fields, Packet, SeqNum, TcpFlags};
use airtcp_tcp::{Connection, State};

/// What of a segment matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    flags: TcpFlags,
    acknowledgment: SeqNum,
    window: u16,
    has_data: bool,
}

impl Said {
    /// By a packet that is there.
    pub fn by(packet: &Packet) -> Option<Said> {
        let tcp = packet.tcp()?;
        let (flags, acknowledgment, window) = (tcp.flags, tcp.acknowledgment, tcp.window);
        Some(Said { flags, acknowledgment, window, has_data: packet.payload_len() > 0 })
    }

    /// By an acknowledgment that is not made yet.
    pub fn by_acknowledgment(fields: &Fields) -> Said {
        let Fields { flags, acknowledgment, window, .. } = *fields;
        Said { flags, acknowledgment, window, has_data: false }
    }
}

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

    /// True if a segment, which `connection` sends, says nothing that the other end does not learn from the link: an
    /// acknowledgment of data, without data, and not of a connection that opens or closes.
    ///
    /// What acknowledges nothing new answers a question, a window probe or a keep-alive, and is sent; the duplicates
    /// that a gap causes are not, for the link has told of what came behind it.
    pub fn keeps(&mut self, connection: &Connection, said: Said) -> bool {
        let Said { flags, acknowledgment, window, has_data } = said;
        // The window of a SYN is never scaled.
        let shift = if flags.syn() { 0 } else { connection.window_shift() };
        let edge = acknowledgment + (u32::from(window) << shift);
        let is_open = connection.state() == State::Established && !connection.is_read_finished();
        let is_plain = !has_data && !flags.syn() && !flags.fin() && !flags.rst();
        // In a gap, what has no data asks what is missing; a byte may be one that came behind it.
        let may_ask = self.is_bare || !connection.has_gap();
        let is_answer = self.is_asked && self.acknowledged == Some(acknowledgment) && may_ask;
        let is_asked_for = is_answer || flags.ece() || self.allows_much_more(edge, connection);
        let is_needless = self.is_emulated && is_open && is_plain && !is_asked_for;
        self.acknowledged = Some(acknowledgment);
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
