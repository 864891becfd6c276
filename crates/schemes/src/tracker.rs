//! Packets whose fate is awaited: what was sent tracked, until the medium tells what became of it.

use airtcp_core::{Context, Duration, Instant, Packet, Port, Token};
use alloc::collections::BTreeMap;

/// A medium that tells of nothing for so long tells nothing, and the report on a frame is lost if it has not come so
/// long after the report on one that was sent later.
const PATIENCE: Duration = Duration::from_secs(2);

/// A packet on its way.
#[derive(Debug)]
struct Awaited<T> {
    note: T,
    sent: Instant,
    /// When the report on a later one came.
    overtaken: Option<Instant>,
}

/// What is known of packets on their way, by their tokens. Whoever sends sees to its bound with [`Tracker::len`].
#[derive(Debug)]
pub(crate) struct Tracker<T> {
    pending: BTreeMap<u64, Awaited<T>>,
    next_token: u64,
    /// When the last report came.
    heard: Instant,
}

impl<T> Tracker<T> {
    /// Nothing is on its way.
    pub fn new() -> Self {
        Tracker { pending: BTreeMap::new(), next_token: 0, heard: Instant::ZERO }
    }

    /// Packets on their way.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Sends a packet through [`Port::LINK`] and remembers `note` until its report comes.
    ///
    /// # Errors
    /// The packet itself when the port is full.
    pub fn send(&mut self, cx: &mut Context<'_>, packet: Packet, note: T) -> Result<(), Packet> {
        let token = self.next_token;
        self.next_token += 1;
        cx.send_tracked(Port::LINK, packet, Token(token))?;
        self.pending.insert(token, Awaited { note, sent: cx.now(), overtaken: None });
        Ok(())
    }

    /// The report has come; what was noted, unless it came too late or was for nobody here. What was sent before is
    /// overdue from now on.
    pub fn take(&mut self, now: Instant, token: Token) -> Option<T> {
        let Awaited { note, .. } = self.pending.remove(&token.0)?;
        self.heard = now;
        let earlier = self.pending.range_mut(..token.0).rev().map(|(_, awaited)| &mut awaited.overtaken);
        earlier.take_while(|overtaken| overtaken.is_none()).for_each(|overtaken| *overtaken = Some(now));
        Some(note)
    }

    /// Forgets what no report came for in time.
    pub fn expire(&mut self, now: Instant) {
        while self.deadline().is_some_and(|due| due <= now) {
            self.pending.pop_first();
        }
    }

    /// When the oldest is forgotten.
    pub fn deadline(&self) -> Option<Instant> {
        // Those that were overtaken are the first, and in the order in which they were.
        let (_, first) = self.pending.first_key_value()?;
        Some(first.overtaken.unwrap_or(first.sent.max(self.heard)) + PATIENCE)
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
