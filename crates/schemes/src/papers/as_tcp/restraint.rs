//! Which of its own acknowledgments a station keeps back because the access point makes them of the medium's (`downloads`).

use airtcp_core::{Packet, SeqNum, TcpFlags, TcpHeader};

/// Of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restraint {
    /// The last data that came said that somebody before the medium acknowledges them.
    is_emulated: bool,
    /// The other end has closed: its FIN is acknowledged by whom it is for.
    is_over: bool,
    /// The number acknowledged last, kept back or not.
    acknowledged: Option<SeqNum>,
    /// The end of the window that was told last.
    told_edge: Option<SeqNum>,
}

impl Restraint {
    /// Looks at a segment from the other end.
    pub fn note_received(&mut self, tcp: &TcpHeader, payload: u32) {
        if payload > 0 {
            self.is_emulated = tcp.flags.emulated();
        }
        self.is_over |= tcp.flags.fin();
    }

    /// True if `packet`, which is to leave, says nothing that the other end does not learn from the medium: it acknowledges data,
    /// and its window, which is shifted by `scale`, allows little more than was told. What acknowledges nothing new answers
    /// something, and leaves.
    pub fn keeps(&mut self, packet: &Packet, tcp: &TcpHeader, scale: u8) -> bool {
        if !tcp.flags.ack() || tcp.flags.syn() {
            return false;
        }
        let window = u32::from(tcp.window) << scale;
        let edge = tcp.acknowledgment + window;
        let is_news = self.acknowledged.is_some_and(|number| tcp.acknowledgment.after(number));
        let is_plain = tcp.flags == TcpFlags::ACK && tcp.options.sack.is_empty() && packet.payload_len() == 0;
        // Half of what may be on its way: told before the sender has to stop.
        let allows_much =
            self.told_edge.is_none_or(|told| i64::from(edge.distance_from(told)) >= i64::from(window / 2));
        let is_needless = self.is_emulated && !self.is_over && is_plain && is_news && tcp.window > 0 && !allows_much;
        self.acknowledged = Some(tcp.acknowledgment);
        if !is_needless {
            self.told_edge = Some(edge);
        }
        is_needless
    }
}
