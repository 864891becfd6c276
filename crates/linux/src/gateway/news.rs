//! What a gateway says to the log about a peer and the link to it: each change, and not more often than an operator can read.

use super::control::PeerState;
use crate::notice::{Notice, What};
use airtcp_core::{Duration, Instant};

/// What is said of the link when there is nothing to advise.
const NO_ADVICE: &str = "the settings fit the link";

/// Between two lines. What changes more often is told when it has lasted, or not at all.
const LEAST_DISTANCE: Duration = Duration::from_secs(5);
/// A peer may be out of reach for so long at the start.
const START: Duration = Duration::from_secs(2);

/// What was told last.
pub struct News {
    peer: Topic,
    link: Topic,
}

/// One of the things that are told about.
struct Topic {
    told: Option<String>,
    next: Instant,
}

impl News {
    /// Nothing was told yet.
    pub fn new(now: Instant) -> News {
        let topic = |told: Option<&str>| Topic { told: told.map(str::to_owned), next: now + START };
        News { peer: topic(None), link: topic(Some(NO_ADVICE)) }
    }

    /// A line, if there is something new to tell of the peer.
    pub fn of_peer(&mut self, now: Instant, peer: &str, state: &PeerState) -> Option<Notice> {
        let notice = match &state.introduction {
            Some(who) if state.up => {
                Notice::info(What::PeerUp, format!("the peer {peer} answers (airtcp {})", who.program))
            }
            None if state.up => Notice::info(What::PeerUp, format!("the peer {peer} answers")),
            _ => Notice::warning(What::PeerDown, format!("the peer {peer} is not in reach: {}", state.why)),
        };
        let is_first_answer = self.peer.told.is_none() && state.up;
        self.peer.is_to_tell(now, &notice.text, is_first_answer).then_some(notice)
    }

    /// A line, if there is something new to tell of the link, `to` one of several peers.
    pub fn of_link(&mut self, now: Instant, to: Option<&str>, advice: Option<&str>) -> Option<Notice> {
        let line = advice.unwrap_or(NO_ADVICE);
        if !self.link.is_to_tell(now, line, false) {
            return None;
        }
        let text = to.map_or_else(|| line.to_owned(), |peer| format!("{peer}: {line}"));
        Some(match advice {
            Some(_) => Notice::warning(What::LinkMisfit, text),
            None => Notice::info(What::LinkFits, text),
        })
    }
}

impl Topic {
    fn is_to_tell(&mut self, now: Instant, line: &str, at_once: bool) -> bool {
        if self.told.as_deref() == Some(line) || (now < self.next && !at_once) {
            return false;
        }
        self.next = now + LEAST_DISTANCE;
        self.told = Some(line.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Introduction;
    use super::*;

    const START_AT: Instant = Instant::from_nanos(1_000_000_000);

    fn state(up: bool) -> PeerState {
        let why = if up { "" } else { "nothing is heard from it" };
        PeerState { up, why: why.into(), secured: true, introduction: up.then(Introduction::default) }
    }

    #[test]
    fn a_change_is_told_once_and_a_peer_that_comes_at_once_is_never_called_absent() {
        let mut news = News::new(START_AT);
        let mut lines = Vec::new();
        for tick in 0..300 {
            let now = START_AT + Duration::from_millis(100) * tick;
            let is_up = (3..150).contains(&tick);
            lines.extend(news.of_peer(now, "10.9.0.2:4791", &state(is_up)).map(|line| (tick, line)));
        }
        let ticks: Vec<u64> = lines.iter().map(|(tick, _)| *tick).collect();
        assert_eq!(ticks, [3, 150], "{lines:?}");
        assert!(lines[1].1.text.ends_with("not in reach: nothing is heard from it"));
    }

    #[test]
    fn advice_is_told_when_it_comes_and_when_it_no_longer_holds() {
        let mut news = News::new(START_AT);
        let said = [None, Some("send less"), Some("send less"), None, None].map(|advice| {
            news.link.next = START_AT;
            news.of_link(START_AT, None, advice)
        });
        let said = said.map(|notice| notice.map_or(String::new(), |notice| notice.text));
        assert_eq!(said, ["", "send less", "", NO_ADVICE, ""]);
        news.link.next = START_AT;
        let of_east = news.of_link(START_AT, Some("east"), Some("send less"));
        assert_eq!(of_east, Some(Notice::warning(What::LinkMisfit, "east: send less")));
    }

    #[test]
    fn a_state_that_flaps_fills_no_log() {
        let mut news = News::new(START_AT);
        let flaps = (0..6_000).filter(|tick| {
            let now = START_AT + Duration::from_millis(10) * *tick;
            news.of_peer(now, "10.9.0.2:4791", &state(tick % 2 == 0)).is_some()
        });
        assert!(flaps.count() <= 13);
    }
}
