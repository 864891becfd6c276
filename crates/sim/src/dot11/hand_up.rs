//! When the receiver hands frames up: all of an exchange at its end, or each when its last bit has come.
//!
//! The standard has each frame checked and put in order by itself (IEEE 802.11-2020 10.25.6.6), and does not say how soon. ns-3 hands
//! each up during the aggregate (`PhyEntity::EndOfMpdu`). Network cards tell their driver of several frames at once, after up to some
//! milliseconds, to spare interrupts. At the end of the exchange, the default, one event does for all.
//!
//! What a model has to state, where each is handed up:
//! - A frame has come with the symbol that its last bit is in; what that frame is worth to its sender the answer says as before.
//! - What comes up meanwhile is too late to ride in the answer.

use super::agreement::Aggregate;
use super::bss::Bss;
use super::interface::{Fate, Frame, Interface, Load};
use super::plan::Purpose;
use super::report::Report;
use super::settings::HandUp;
use crate::index::InterfaceId;
use airtcp_core::{Instant, Packet};

impl Bss {
    /// When the next frame of the aggregate on the air has come, if it is handed up then.
    pub(super) fn next_hand_up(&self) -> Option<Instant> {
        if self.hand_up != HandUp::Frame {
            return None;
        }
        let plan = self.plan?;
        let frame = self.interfaces[self.aggregate_sender()?].head.as_ref()?;
        let begins = plan.end - self.timing.sifs() - frame.answer - frame.air;
        let come = self.next_come(frame)?;
        // Alone, a frame may be without a delimiter.
        let bytes = if come.frames == 1 { come.bytes.min(frame.bytes) } else { come.bytes };
        Some(begins + self.timing.until(bytes))
    }

    /// Who sends an aggregate that nobody disturbs.
    fn aggregate_sender(&self) -> Option<InterfaceId> {
        let sender = match (self.plan?.purpose, &self.winners[..]) {
            (Purpose::Exchange, [only]) => *only,
            (Purpose::Further { from, .. }, _) => from,
            _ => return None,
        };
        let is_sent = self.interfaces[sender].head.as_ref().is_some_and(|frame| frame.fate != Some(Fate::NoCts));
        is_sent.then_some(sender)
    }

    /// What will have come with the next frame.
    fn next_come(&self, frame: &Frame) -> Option<Aggregate> {
        let Load::Aggregate(aggregate) = frame.load else { return None };
        let sender = self.aggregate_sender()?;
        let agreements = self.interfaces[sender].agreements.as_ref()?;
        let bytes = agreements.bytes_of(frame.to, self.come.frames).filter(|_| self.come.frames < aggregate.frames)?;
        Some(self.come.with(bytes))
    }

    /// Hands up what has come by now of the aggregate on the air.
    pub(super) fn hand_up_due(&mut self, now: Instant, reports: &mut Vec<Report>) {
        while self.next_hand_up().is_some_and(|at| at <= now) {
            let Some((plan, sender)) = self.plan.zip(self.aggregate_sender()) else { return };
            let Some(frame) = &self.interfaces[sender].head else { return };
            let (to, come) = (frame.to, self.next_come(frame));
            let Some(come) = come else { return };
            self.receive(sender, to, come, plan.begin, reports);
        }
    }

    /// The frames for `to` behind those that came already, up to those of `come`, arrive or do not.
    pub(super) fn receive(
        &mut self,
        from: InterfaceId,
        to: InterfaceId,
        come: Aggregate,
        begin: Instant,
        reports: &mut Vec<Report>,
    ) {
        let is_silent = self.interfaces[to].is_silent;
        let mut up = Vec::new();
        draw(&mut self.interfaces[from], to, self.come.frames..come.frames, begin, is_silent, &mut up);
        self.come = come;
        self.hand_up(from, to, up, reports);
    }
}

/// Draws which of these frames for `to` arrive; `up` gets what the receiver hands up.
fn draw(
    interface: &mut Interface,
    to: InterfaceId,
    frames: std::ops::Range<usize>,
    begin: Instant,
    is_silent: bool,
    up: &mut Vec<Packet>,
) {
    let Interface { agreements: Some(agreements), data_loss, usage, .. } = interface else { return };
    let agreement = agreements.of(to);
    for mpdu in agreement.outstanding.iter_mut().take(frames.end).skip(frames.start) {
        let is_damaged = data_loss.loses(begin, mpdu.bytes);
        mpdu.arrives = !is_damaged && !is_silent;
        if mpdu.arrives
            && let Some(packet) = mpdu.packet.take()
        {
            usage.frames_delivered[mpdu.kind as usize] += 1;
            agreement.recipient.receive(mpdu.sequence, packet, up);
        }
    }
}
