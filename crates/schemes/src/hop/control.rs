//! Control messages on a link that an egress queue is emptied into: they take its time, too.

use crate::egress::Egress;
use airtcp_core::{Context, Duration, Peer};

/// IP, UDP and envelope around a control message.
const CONTROL_OVERHEAD: u32 = 20 + 8 + 28;
/// What is sent with each HELLO: itself and a report.
const HELLO_BYTES: u32 = 2 * (CONTROL_OVERHEAD + 33);
/// Share of the link that HELLOs may take, as a divisor.
const HELLO_SHARE: u64 = 4;

/// Sends a control message to the other end of the link; it takes its time there.
pub(crate) fn tell(cx: &mut Context<'_>, egress: &mut Egress, message: &[u8]) {
    cx.send_control(Peer::OTHER_END, message);
    egress.charge(cx.now(), message.len() as u32 + CONTROL_OVERHEAD);
}

/// The distance of HELLOs: as `wanted`, or longer where they would fill the link.
pub(crate) fn hello_distance(egress: &Egress, wanted: Duration) -> Duration {
    wanted.max(egress.transmission(HELLO_BYTES) * HELLO_SHARE)
}
