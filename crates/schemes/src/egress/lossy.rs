//! Is the link one that loses packets? Then redundancy and room for bursts are worth having.

use super::Egress;
use airtcp_core::{Duration, Instant};

/// A link is taken for lossy for so long after a loss.
pub(crate) const LOSSY_FOR: Duration = Duration::from_secs(10);
/// What one loss held back is back as a burst of the sender within this time.
const ROOM_FOR: Duration = Duration::from_millis(500);

/// Until when the link is taken for lossy; unknown before its first packet.
#[derive(Debug, Default)]
pub(crate) struct Lossy(Option<Instant>);

impl Lossy {
    /// Until something is known of a link, it is taken for lossy.
    pub fn is_lossy(&mut self, now: Instant) -> bool {
        now < *self.0.get_or_insert(now + LOSSY_FOR)
    }

    /// The link lost something, which is repaired in the time `repair`. The other end holds back so much until then.
    pub fn on_loss(&mut self, now: Instant, egress: &mut Egress, repair: Duration) {
        self.0 = Some(now + LOSSY_FOR);
        egress.make_room(now + ROOM_FOR, repair);
    }
}
