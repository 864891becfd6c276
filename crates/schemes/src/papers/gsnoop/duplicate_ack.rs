//! Knows a duplicate acknowledgment as the sender does: RFC 5681 section 2, as far as it can be
//! seen from the path. Same acknowledgment number as the latest, no payload, neither SYN nor FIN,
//! same window, and data outstanding.

use crate::position::Position;
use airtcp_core::Packet;

/// What an acknowledgment is to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckKind {
    /// It acknowledges more than any before it, or is the first that is seen.
    Progress,
    /// A duplicate acknowledgment.
    Duplicate,
    /// A window update, a segment with data, or an acknowledgment that was overtaken.
    Other,
}

/// The latest acknowledgment of one direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckWatch {
    latest: Option<(Position, u16)>,
}

impl AckWatch {
    /// Takes note of `packet`, which acknowledges everything before `number`; `high` is one past the last
    /// position that was sent, as far as is known here.
    pub fn note(&mut self, packet: &Packet, number: Position, high: Position) -> AckKind {
        let Some(tcp) = packet.tcp() else { return AckKind::Other };
        match self.latest {
            Some((latest, _)) if number < latest => return AckKind::Other,
            Some((latest, window)) if number == latest => {
                self.latest = Some((number, tcp.window));
                let is_bare = packet.sequence_len() == 0;
                return if is_bare && window == tcp.window && number < high {
                    AckKind::Duplicate
                } else {
                    AckKind::Other
                };
            }
            _ => self.latest = Some((number, tcp.window)),
        }
        AckKind::Progress
    }

    /// The latest number.
    pub fn number(&self) -> Option<Position> {
        self.latest.map(|(number, _)| number)
    }
}
