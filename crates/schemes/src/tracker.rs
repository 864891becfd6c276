//! Packets whose fate is awaited: what was sent tracked, until the medium tells what became of it.

use airtcp_core::{Context, Duration, Instant, Packet, Port, Token};
use alloc::collections::BTreeMap;

/// A medium tells of a frame after its last try; one that does not within this time tells nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of packets on their way, by their tokens. Whoever sends sees to its bound with [`Tracker::len`].
#[derive(Debug)]
pub(crate) struct Tracker<T> {
    pending: BTreeMap<u64, (T, Instant)>,
    next_token: u64,
}

impl<T> Tracker<T> {
    /// Nothing is on its way.
    pub fn new() -> Self {
        Tracker { pending: BTreeMap::new(), next_token: 0 }
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
        self.pending.insert(token, (note, cx.now() + PATIENCE));
        Ok(())
    }

    /// The report has come; what was noted, unless it came too late or was for nobody here.
    pub fn take(&mut self, token: Token) -> Option<T> {
        self.pending.remove(&token.0).map(|(note, _)| note)
    }

    /// Forgets what no report came for in time.
    pub fn expire(&mut self, now: Instant) {
        while let Some(entry) = self.pending.first_entry().filter(|entry| entry.get().1 <= now) {
            entry.remove();
        }
    }

    /// When the oldest is forgotten.
    pub fn deadline(&self) -> Option<Instant> {
        self.pending.first_key_value().map(|(_, (_, until))| *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::testing::{at, data};
    use airtcp_core::Rng;
    use airtcp_core::testing::Recorder;

    #[test]
    fn a_note_is_given_back_once_and_forgotten_when_no_report_comes() {
        let (mut tracker, mut io, mut rng) = (Tracker::new(), Recorder::default(), Rng::derive(1, "tracker"));
        for (millis, note) in [(0, 'a'), (5, 'b')] {
            let mut cx = Context::new(at(millis), &mut rng, &mut io);
            tracker.send(&mut cx, data(0), note).unwrap();
        }
        assert_eq!((tracker.take(Token(1)), tracker.take(Token(1)), tracker.len()), (Some('b'), None, 1));
        assert_eq!(tracker.deadline(), Some(at(2000)));
        tracker.expire(at(1999));
        assert_eq!(tracker.len(), 1);
        tracker.expire(at(2000));
        assert_eq!((tracker.len(), tracker.take(Token(0)), tracker.deadline()), (0, None, None));
    }
}
