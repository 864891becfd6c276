//! Connections that ended here and that the peer has to hear of.

use super::line_key::LineKey;
use airtcp_core::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// A message that is not confirmed is sent again after this, and after twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// So often in all, which takes a minute: a peer that hears nothing for so long is taken for gone long before.
const TRIES: u32 = 12;
/// Goodbyes that may be open; beyond that the oldest one is left to the peer's next question.
const OPEN_MAX: usize = 65_536;

#[derive(Clone, Copy, Debug)]
struct Goodbye {
    errno: u16,
    at: Instant,
    tries: u32,
}

/// All that wait to be confirmed.
#[derive(Clone, Debug, Default)]
pub struct Goodbyes {
    open: BTreeMap<LineKey, Goodbye>,
    timers: BTreeSet<(Instant, LineKey)>,
}

impl Goodbyes {
    /// The connection ended by `errno`.
    pub fn say(&mut self, now: Instant, key: LineKey, errno: u16) {
        if self.open.len() >= OPEN_MAX
            && let Some((_, oldest)) = self.timers.first().copied()
        {
            self.heard(oldest);
        }
        self.heard(key);
        self.open.insert(key, Goodbye { errno, at: now, tries: 0 });
        self.timers.insert((now, key));
    }

    /// The peer confirmed it.
    pub fn heard(&mut self, key: LineKey) {
        if let Some(goodbye) = self.open.remove(&key) {
            self.timers.remove(&(goodbye.at, key));
        }
    }

    /// Whether the number of the connection is still in use for it.
    pub fn has(&self, key: LineKey) -> bool {
        self.open.contains_key(&key)
    }

    /// By what it ended, if it waits here.
    pub fn errno_of(&self, key: LineKey) -> Option<u16> {
        self.open.get(&key).map(|goodbye| goodbye.errno)
    }

    /// The next one to say now.
    pub fn poll(&mut self, now: Instant) -> Option<(LineKey, u16)> {
        loop {
            let (at, key) = self.timers.first().copied().filter(|(at, _)| *at <= now)?;
            self.timers.remove(&(at, key));
            let Some(goodbye) = self.open.get_mut(&key) else { continue };
            if goodbye.tries == TRIES {
                self.open.remove(&key);
                continue;
            }
            goodbye.at = now + (FIRST_WAIT * (1 << goodbye.tries.min(8))).min(LONGEST_WAIT);
            goodbye.tries += 1;
            self.timers.insert((goodbye.at, key));
            return Some((key, goodbye.errno));
        }
    }

    /// When the next one is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goodbye_is_said_until_it_is_heard_and_for_a_minute_at_most() {
        let (mut goodbyes, key) = (Goodbyes::default(), LineKey { is_ours: true, number: 1 });
        let start = Instant::from_nanos(1_000_000_000);
        goodbyes.say(start, key, 104);
        let (mut now, mut said) = (start, 0);
        while let Some(at) = goodbyes.poll_timeout() {
            now = at;
            said += u32::from(goodbyes.poll(now) == Some((key, 104)));
        }
        assert_eq!(said, TRIES);
        let took = now.saturating_since(start).as_millis();
        assert!((50_000..70_000).contains(&took), "{took}");
        goodbyes.say(now, key, 104);
        goodbyes.heard(key);
        assert_eq!((goodbyes.poll(now), goodbyes.poll_timeout(), goodbyes.len()), (None, None, 0));
    }
}
