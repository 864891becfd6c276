//! A way that lets messages pass and no frames, as a firewall that knows no protocol 254. A link that stands still lets
//! neither pass, and what it loses on the way is told apart: frames go on to leave, as packets or as probes, while messages
//! that left among them arrive.

use airtcp_core::{Duration, Instant};

/// If so many frames have no answer, although messages arrived for so long, frames do not arrive.
const FRAMES: u32 = 8;
const TIME: Duration = Duration::from_secs(1);
/// Messages that arrive further apart than this left before and after an outage.
const MOST_APART: Duration = Duration::from_millis(500);
/// Then packets leave as they are for so long.
const BLOCKED_FOR: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Frames that left since something was acknowledged, or since messages arrive again.
    unanswered: u32,
    /// When the latest message left that arrived, and the first of those that arrived one soon after the other while
    /// nothing was acknowledged.
    latest: Instant,
    first: Option<Instant>,
    until: Instant,
}

impl Block {
    /// True if packets leave as they are.
    pub fn is_on(&self, now: Instant) -> bool {
        now < self.until
    }

    /// A frame left.
    pub fn on_frame(&mut self) {
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// A frame was acknowledged, or there are none.
    pub fn on_answer(&mut self) {
        (self.unanswered, self.first) = (0, None);
    }

    /// The latest message that the other end has heard left at `echoed`. True if no frame arrives.
    pub fn on_echo(&mut self, now: Instant, echoed: Instant) -> bool {
        if echoed <= self.latest || self.unanswered == 0 {
            self.latest = self.latest.max(echoed);
            return false;
        }
        let is_again = echoed.saturating_since(self.latest) > MOST_APART;
        self.latest = echoed;
        if is_again || self.first.is_none() {
            (self.first, self.unanswered) = (Some(echoed), 1);
            return false;
        }
        let is_blocked = self.unanswered > FRAMES && self.first.is_some_and(|first| echoed >= first + TIME);
        if is_blocked {
            self.until = now + BLOCKED_FOR;
            self.on_answer();
        }
        is_blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// From then until then, frames each 10 ms and messages each 100 ms; `passes` says for a time whether they pass. When no
    /// frames are sent any more.
    fn run(
        block: &mut Block,
        from: u64,
        until: u64,
        frames: impl Fn(u64) -> bool,
        messages: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        for ms in (from..until).step_by(10) {
            block.on_frame();
            if frames(ms) {
                block.on_answer();
            }
            if ms % 100 == 0 && messages(ms) && block.on_echo(at(ms + 5), at(ms)) {
                return Some(ms);
            }
        }
        None
    }

    #[test]
    fn messages_without_frames_show_a_block_that_ends() {
        let mut block = Block::default();
        assert_eq!(run(&mut block, 0, 5000, |_| true, |_| true), None);
        let found = run(&mut block, 5000, 9000, |_| false, |_| true).unwrap();
        assert!((6000..6300).contains(&found), "{found}");
        assert!(block.is_on(at(found + 29_000)) && !block.is_on(at(found + 30_100)));
        assert!(run(&mut block, 40_000, 45_000, |_| false, |ms| ms % 400 == 0).is_some(), "some messages are lost");
    }

    #[test]
    fn a_link_that_stands_still_is_no_block() {
        for outage in [100, 900, 5000] {
            let mut block = Block::default();
            let is_up = |ms: u64| ms < 2000 || ms >= 2000 + outage;
            // Frames are acknowledged a while later than messages arrive.
            let frames = |ms: u64| ms < 2000 || ms >= 2300 + outage;
            assert_eq!(run(&mut block, 0, 20_000, frames, is_up), None, "{outage} ms");
        }
    }

    #[test]
    fn few_frames_show_nothing() {
        let mut block = Block::default();
        (0..FRAMES - 1).for_each(|_| block.on_frame());
        assert!((1..1000).all(|n| !block.on_echo(at(n * 100), at(n * 100 - 5))));
    }
}
