//! Control messages on a link that an egress queue is emptied into: they take its time, too.

use crate::egress::{Egress, time_on_link};
use airtcp_core::{Context, Duration, Peer, Rate, control};

/// Bytes of a HELLO and of the report that is sent with it.
const HELLO_BYTES: u32 = 2 * (control::overhead(false, false) + 33);
/// HELLOs take at most one part in so many of the link. Argued, not swept: 4 and 16 were compared.
const HELLO_PARTS: u64 = 16;

/// Sends a control message to the other end of the link; it takes its time there.
pub(crate) fn tell(cx: &mut Context<'_>, egress: &mut Egress, message: &[u8]) {
    let bytes = cx.send_control(Peer::OTHER_END, message);
    egress.charge(cx.now(), bytes);
}

/// The least distance of HELLOs: closer together they would fill the link at its present rate.
pub(crate) fn hello_share(egress: &Egress) -> Duration {
    hello_distance(egress.rate())
}

/// The same on a link of this rate.
pub(crate) fn hello_distance(rate: Option<Rate>) -> Duration {
    time_on_link(rate, HELLO_BYTES) * HELLO_PARTS
}
