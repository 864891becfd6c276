//! How much the receiver of a connection has room for (RFC 9293, RFC 7323): nothing beyond is worth a copy, and no sender
//! that keeps the rules is further ahead.

use crate::position::Position;
use airtcp_core::TcpHeader;

/// The largest shift of a window (RFC 7323, section 2.3), for connections whose beginning was not seen.
const SCALE_MAX: u8 = 14;

/// One receiver's window.
#[derive(Debug)]
pub(super) struct ReceiverWindow {
    scale: u8,
    /// One past the last position that it had room for; unknown before its first acknowledgment.
    end: Option<Position>,
}

impl Default for ReceiverWindow {
    fn default() -> Self {
        ReceiverWindow { scale: SCALE_MAX, end: None }
    }
}

impl ReceiverWindow {
    /// Its SYN offered this shift; 0 if none.
    pub fn set_scale(&mut self, scale: u8) {
        self.scale = scale.min(SCALE_MAX);
    }

    /// It acknowledged everything before `acknowledged`. A window never shrinks.
    pub fn note(&mut self, tcp: &TcpHeader, acknowledged: Position) {
        // The window of a SYN is not scaled.
        let scale = if tcp.flags.syn() { 0 } else { self.scale };
        self.end = self.end.max(Some(acknowledged + (u64::from(tcp.window) << scale)));
    }

    /// True if a segment that begins at `start` may be sent.
    pub fn admits(&self, start: Position) -> bool {
        self.end.is_none_or(|end| start <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, edited};
    use airtcp_core::TcpFlags;

    #[test]
    fn a_window_is_scaled_but_that_of_a_syn_and_never_shrinks() {
        let mut window = ReceiverWindow::default();
        assert!(window.admits(u64::MAX));
        let syn = edited(&ack(1), |tcp| (tcp.flags, tcp.window) = (TcpFlags::SYN.with(TcpFlags::ACK), 100));
        window.set_scale(3);
        window.note(syn.tcp().unwrap(), 1000);
        assert!(window.admits(1100) && !window.admits(1101));
        for (number, size) in [(1000, 50), (1000, 20)] {
            window.note(edited(&ack(1), |tcp| tcp.window = size).tcp().unwrap(), number);
            assert!(window.admits(1400) && !window.admits(1401));
        }
    }
}
