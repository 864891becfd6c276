//! Messages to the other end of a link whose rate is learned: they take its time, and its bytes count.

use super::LinkRate;
use crate::egress::{Allowance, Egress};
use airtcp_core::{Context, Duration, Peer};

/// Packets wait for messages for at most one part in so many of the time; but that much at once.
const PARTS: u64 = 2;
const AT_ONCE: Duration = Duration::from_millis(50);

/// See the module. Packets wait for messages for no more than a half of the time: a rate that is taken for too low a one
/// would let none pass, and nothing would show that it is.
#[derive(Debug)]
pub(crate) struct Messages(Allowance);

impl Default for Messages {
    fn default() -> Self {
        Messages(Allowance::new(PARTS))
    }
}

impl Messages {
    /// Sends a message beside what waits in `egress`; its bytes.
    pub fn send(&mut self, cx: &mut Context<'_>, egress: &mut Egress, link_rate: &mut LinkRate, message: &[u8]) -> u32 {
        let bytes = cx.send_control(Peer::OTHER_END, message);
        if self.0.take(cx.now(), egress.transmission(bytes), AT_ONCE) {
            egress.charge(cx.now(), bytes);
        }
        link_rate.on_control(bytes);
        bytes
    }
}
