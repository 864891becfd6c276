//! What a receiver answers: an ACK for a frame alone, a block ACK for an aggregate or a BAR.
//!
//! The seam for whatever rides in a block ACK (HACK puts compressed TCP acknowledgments there):
//! - [`Bss::answer_bytes`] says how long the answer is. It is asked whenever an exchange is planned, last when it can still
//!   grow, and the airtime of the answer follows from it. A receiver that attaches something adds its bytes there.
//! - [`Bss::hear_answer`] is called at the end of the exchange, once for each answer that its receiver sent, with whether the
//!   other side heard it. What rode along arrives there if it was heard, and stays where it was if not; reports of packets
//!   that arrive so are [`Report::Delivered`] as those of frames.
//!
//! A receiver's packets are in the agreements of its interface (`interfaces[receiver].agreements`), in the order in which
//! they were given to it. What waits there at the plan and what comes during the exchange differ: an answer can carry
//! only what [`Bss::answer_bytes`] counted.

use super::agreement::Aggregate;
use super::bss::Bss;
use super::interface::Load;
use super::report::Report;
use super::settings::{ACK_BYTES, BLOCK_ACK_BYTES};
use crate::index::InterfaceId;
use airtcp_core::{DropReason, Instant, Outcome, TxStatus};

impl Bss {
    /// Bytes of what `receiver` answers to a frame of `sender`.
    pub(super) fn answer_bytes(&self, _receiver: InterfaceId, _sender: InterfaceId, load: Load) -> u32 {
        match load {
            Load::Packet | Load::Poll | Load::Aggregate(Aggregate { frames: 1, .. }) => ACK_BYTES,
            // A bit for each frame of the window, in the sizes that there are (IEEE 802.11ax-2021 table 9-28a).
            Load::Aggregate(_) | Load::Request => BLOCK_ACK_BYTES + if self.timing.window() > 64 { 32 } else { 8 },
        }
    }

    /// The aggregate that `sender` sent to `receiver` is over: what arrived is acknowledged if the answer was heard, the rest
    /// is sent again or given up.
    pub(super) fn hear_answer(
        &mut self,
        receiver: InterfaceId,
        sender: InterfaceId,
        is_heard: bool,
        now: Instant,
        reports: &mut Vec<Report>,
    ) {
        let limit = self.retry_limits[0];
        let interface = &mut self.interfaces[sender];
        let Some((_, Aggregate { frames, .. })) = interface.aggregate() else { return };
        let Some(agreements) = &mut interface.agreements else { return };
        let mut place = 0;
        let (mut gone, mut dropped) = (Vec::new(), Vec::new());
        agreements.of(receiver).outstanding.retain_mut(|mpdu| {
            place += 1;
            if place > frames {
                return true;
            }
            mpdu.tries += 1;
            let outcome = match (is_heard && mpdu.arrives, mpdu.tries >= limit) {
                (true, _) => Outcome::Acked,
                (false, true) => Outcome::RetryLimit,
                (false, false) => return true,
            };
            gone.push((mpdu.packet_bytes, outcome));
            dropped.extend(mpdu.packet.take());
            if let Some(tracked) = mpdu.tracked {
                let tries = u8::try_from(mpdu.tries).unwrap_or(u8::MAX);
                let status = TxStatus { token: tracked.token, outcome, tries, at: now };
                reports.push(Report::Status { element: tracked.element, status });
            }
            false
        });
        for (bytes, outcome) in gone {
            agreements.backlog.packets -= 1;
            agreements.backlog.bytes -= u64::from(bytes);
            let is_given_up = outcome == Outcome::RetryLimit;
            interface.usage.given_up += u64::from(is_given_up);
            agreements.of(receiver).must_request |= is_given_up;
        }
        for packet in dropped {
            reports.push(self.drop(sender, receiver, packet, DropReason::RETRY_LIMIT));
        }
    }
}
