//! Packets whose fate is awaited: what was sent tracked, until the medium tells what became of it.

use airtcp_core::{Context, Duration, Instant, Packet, Port, Token};
use alloc::collections::VecDeque;

/// A medium that tells of nothing for so long tells nothing, and the report on a frame is lost if it has not come so
/// long after the report on one that was sent later.
const PATIENCE: Duration = Duration::from_secs(2);

/// Packets in a row whose first is on its way; of more it is forgotten.
const ROW_MAX: usize = 1 << 16;

/// A packet on its way.
#[derive(Debug)]
struct Awaited<T> {
    note: T,
    sent: Instant,
    /// When the report on a later one came; the end of time if none has.
    overtaken: Instant,
}

/// What is known of packets on their way, by their tokens. Whoever sends sees to its bound with [`Tracker::len`].
#[derive(Debug)]
pub(crate) struct Tracker<T> {
    /// Those from `first_token` on, in a row; `None` where the report has come. The first is on its way.
    pending: VecDeque<Option<Awaited<T>>>,
    first_token: u64,
    /// All before this one were overtaken.
    overtaken_to: u64,
    len: usize,
    /// When the last report came.
    heard: Instant,
}

impl<T> Tracker<T> {
    /// Nothing is on its way.
    pub fn new() -> Self {
        Tracker { pending: VecDeque::new(), first_token: 0, overtaken_to: 0, len: 0, heard: Instant::ZERO }
    }

    /// Packets on their way.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Sends a packet through [`Port::LINK`] and remembers `note` until its report comes.
    ///
    /// # Errors
    /// The packet itself when the port is full.
    pub fn send(&mut self, cx: &mut Context<'_>, packet: Packet, note: T) -> Result<(), Packet> {
        let token = self.first_token + self.pending.len() as u64;
        cx.send_tracked(Port::LINK, packet, Token(token))?;
        if self.pending.len() >= ROW_MAX {
            self.forget_first();
        }
        self.pending.push_back(Some(Awaited { note, sent: cx.now(), overtaken: Instant::MAX }));
        self.len += 1;
        Ok(())
    }

    /// The report has come; what was noted, unless it came too late or was for nobody here. What was sent before is
    /// overdue from now on.
    pub fn take(&mut self, now: Instant, token: Token) -> Option<T> {
        let place = usize::try_from(token.0.checked_sub(self.first_token)?).ok()?;
        let Awaited { note, .. } = self.pending.get_mut(place)?.take()?;
        self.len -= 1;
        self.heard = now;
        if place > 0 {
            let known = usize::try_from(self.overtaken_to.saturating_sub(self.first_token)).unwrap_or(usize::MAX);
            for earlier in self.pending.range_mut(known.min(place)..place).flatten() {
                earlier.overtaken = now;
            }
        }
        self.overtaken_to = self.overtaken_to.max(token.0);
        self.forget_reported();
        Some(note)
    }

    fn forget_first(&mut self) {
        self.len -= usize::from(self.pending.front_mut().and_then(Option::take).is_some());
        self.forget_reported();
    }

    /// Has the first be one on its way again.
    fn forget_reported(&mut self) {
        while let Some(None) = self.pending.front() {
            self.pending.pop_front();
            self.first_token += 1;
        }
    }

    /// Forgets what no report came for in time.
    pub fn expire(&mut self, now: Instant) {
        while self.deadline().is_some_and(|due| due <= now) {
            self.forget_first();
        }
    }

    /// When the oldest is forgotten.
    pub fn deadline(&self) -> Option<Instant> {
        // Those that were overtaken are the first, and in the order in which they were.
        let first = self.pending.front()?.as_ref()?;
        let since = if first.overtaken < Instant::MAX { first.overtaken } else { first.sent.max(self.heard) };
        Some(since + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, data};
    use airtcp_core::testing::Recorder;
    use airtcp_core::{Ledger, Rng};

    #[test]
    fn a_note_is_given_back_once_and_forgotten_when_no_report_comes() {
        let (mut tracker, mut io, mut rng) = (Tracker::new(), Recorder::default(), Rng::derive(1, "tracker"));
        let mut ledger = Ledger::default();
        for (millis, note) in [(0, 'a'), (5, 'b')] {
            let mut cx = Context::new(at(millis), &mut rng, &mut ledger, &mut io);
            tracker.send(&mut cx, data(0), note).unwrap();
        }
        assert_eq!(tracker.deadline(), Some(at(2000)));
        let taken = [8, 9].map(|millis| tracker.take(at(millis), Token(1)));
        assert_eq!((taken, tracker.len()), ([Some('b'), None], 1));
        assert_eq!(tracker.deadline(), Some(at(2008)), "two seconds after it was overtaken");
        tracker.expire(at(2007));
        assert_eq!(tracker.len(), 1);
        tracker.expire(at(2008));
        assert_eq!((tracker.len(), tracker.take(at(2008), Token(0)), tracker.deadline()), (0, None, None));
    }
}
