//! A link that drops what it does not carry before anything waits in it: a policer, or a queue of a few packets. No delay tells of
//! it. What tells is that less is lost while less is sent.

use super::departures::Sample;
use super::usual_loss::{HIGH, ONE, excess};
use super::{millionths, part};
use airtcp_core::{Duration, Instant, Rate};

/// Less is lost if it is less than one part in so many of what would be as a rule, and that is no chance: less by more than so
/// many times the root of it, which one case in fifty is.
const LESS: u64 = 2;
const SURE: u64 = 2;
/// So often, one time after the other: with much lost between them, which bursts of losses are seldom in step with.
const ROUNDS: u32 = 2;
/// If too few packets left to tell, less is sent once more, up to so often in a row.
const ATTEMPTS: u32 = 4;
/// The time between two of them: two epochs in which losses are counted.
pub(super) const BETWEEN: Duration = Duration::from_secs(1);
/// Once it is found what was seen counts for this part of it the next time.
const KEPT: (u64, u64) = (3, 4);
/// After too much was lost no more is tried for so long, and for twice as long as it takes to show: twice the time in which losses
/// are counted, so that what is usual stays known.
const HOLD: Duration = Duration::from_secs(1);

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing.
    Nothing,
    /// It has to be tried again.
    Perhaps,
    /// It carries this, and loses so many millionths of whatever it is given.
    Found(Rate, u64),
    /// It loses so many, as was seen once more.
    Usual(u64),
}

/// What follows from losses of such a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// No more than it carries.
    Enough,
    /// More.
    TooMuch,
    /// As much is lost while less is sent: it is no such link, and carries what it was said to carry before.
    Otherwise(Rate),
}

/// No more is tried.
#[derive(Clone, Copy, Debug)]
struct Hold {
    since: Instant,
    until: Instant,
    /// What it was said to carry, and what was lost of that beyond the usual, in millionths.
    before: Rate,
    lost: u64,
}

/// Less is sent.
#[derive(Clone, Copy, Debug)]
struct Round {
    from: Instant,
    until: Instant,
    /// What came before.
    comes: Rate,
    /// What was lost before, in millionths.
    lost: u64,
    /// What had left and what had come, in bytes, with the first packet that left meanwhile, and with the last.
    seen: Option<[(u64, u64); 2]>,
}

/// What is lost while less is sent, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    lost: u64,
    /// What would have been as a rule.
    expected: u64,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conclusion {
    Less,
    AsMuch,
    TooFewPackets,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Policed {
    round: Option<Round>,
    /// Since something was concluded: what was seen, and in how many rounds.
    evidence: Evidence,
    attempts: u32,
    /// So often less was lost, one time after the other.
    rounds: u32,
    /// Bytes that left in rounds, and how many of them were lost.
    sent: u64,
    lost: u64,
    is_found: bool,
    hold: Option<Hold>,
}

impl Policed {
    /// Less is sent from now on for so long, while `comes` came before and so many millionths were lost.
    pub fn begin_round(&mut self, now: Instant, time: Duration, comes: Rate, lost: u64) {
        self.round = Some(Round { from: now, until: now + time, comes, lost, seen: None });
    }

    /// A packet was seen at both ends.
    pub fn judge(&mut self, sample: &Sample) -> Finding {
        let Some(round) = &mut self.round else { return Finding::Nothing };
        if sample.left <= round.until {
            if sample.left >= round.from {
                let at = (sample.packets, sample.received);
                round.seen = Some([round.seen.map_or(at, |[first, _]| first), at]);
            }
            return Finding::Nothing;
        }
        let round = *round;
        self.round = None;
        let Some((sent, lost)) = round.seen() else { return Finding::Nothing };
        let (kept, of) = if self.is_found { KEPT } else { (1, 1) };
        (self.sent, self.lost) = (self.sent * kept / of + sent, self.lost * kept / of + lost);
        let usual = millionths(self.lost, self.sent).min(ONE / 2);
        if self.is_found {
            return Finding::Usual(usual);
        }
        self.evidence.lost += lost;
        self.evidence.expected += part(sent, round.lost);
        self.attempts += 1;
        match self.evidence.conclude(u64::from(sample.bytes)) {
            Conclusion::AsMuch => {
                *self = Policed::default();
                return Finding::Nothing;
            }
            Conclusion::TooFewPackets if self.attempts.is_multiple_of(ATTEMPTS) => return Finding::Nothing,
            Conclusion::TooFewPackets => return Finding::Perhaps,
            Conclusion::Less => (self.evidence, self.attempts) = (Evidence::default(), 0),
        }
        self.rounds += 1;
        if self.rounds < ROUNDS {
            return Finding::Perhaps;
        }
        self.is_found = true;
        Finding::Found(Rate::from_bps(millionths(round.comes.bps(), ONE - usual)), usual)
    }

    /// It is such a link.
    pub fn is_found(&self) -> bool {
        self.is_found
    }

    /// True while no more is tried than the link was seen to carry.
    pub fn holds(&self, now: Instant) -> bool {
        self.hold.is_some_and(|hold| now < hold.until)
    }

    /// Of `sent` bytes in packets of `length` so many came, where `usual` millionths are lost as a rule and `rate` is what the link is
    /// said to carry. What is done about it shows after `settled`.
    pub fn watch(
        &mut self,
        now: Instant,
        (sent, received, length): (u64, u64, u64),
        usual: u64,
        rate: Rate,
        settled: Duration,
    ) -> Given {
        if !self.is_found {
            return Given::Enough;
        }
        let lost = millionths(excess(usual, sent, received, length).saturating_mul(length), sent);
        if lost < HIGH {
            return Given::Enough;
        }
        let until = now + HOLD.max(settled * 2);
        let Some(hold) = self.hold.filter(|_| self.holds(now)) else {
            self.hold = Some(Hold { since: now, until, before: rate, lost });
            return Given::TooMuch;
        };
        if now.saturating_since(hold.since) < settled {
            return Given::Enough;
        }
        if lost * LESS >= hold.lost {
            return Given::Otherwise(hold.before);
        }
        self.hold = Some(Hold { since: now, until, ..hold });
        Given::TooMuch
    }
}

impl Round {
    /// Bytes that left meanwhile, and how many of them were lost.
    fn seen(&self) -> Option<(u64, u64)> {
        let [(left, came), (left_last, came_last)] = self.seen?;
        let (sent, received) = (left_last.checked_sub(left)?, came_last.checked_sub(came)?);
        Some((sent, sent.saturating_sub(received)))
    }
}

impl Evidence {
    /// In packets of `length`.
    fn conclude(&self, length: u64) -> Conclusion {
        let chance = self.expected.saturating_mul(length * SURE * SURE).isqrt();
        if chance >= self.expected {
            Conclusion::TooFewPackets
        } else if self.lost * LESS < self.expected && self.lost + chance < self.expected {
            Conclusion::Less
        } else {
            Conclusion::AsMuch
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    const START: Instant = Instant::from_nanos(1_000_000_000);
    const TIME: Duration = Duration::from_millis(50);
    const COMES: Rate = Rate::from_bps(10_000_000);

    /// Less is sent, and of 20 packets in this time so many are lost, while `lost` per cent were before.
    fn round(policed: &mut Policed, lost: u64, packets: u64) -> Finding {
        let ms = Duration::from_millis;
        let at = |left: Instant, sent: u64, received: u64| Sample {
            left,
            came: left.as_nanos(),
            sent: sent * 1500,
            packets: sent * 1500,
            received: received * 1500,
            bytes: 1500,
            pause: Duration::ZERO,
        };
        policed.begin_round(START, TIME, COMES, lost * 10_000);
        let early = policed.judge(&at(START - ms(1), 10, 0));
        let seen = [policed.judge(&at(START + ms(1), 100, 50)), policed.judge(&at(START + ms(49), 120, 70 - packets))];
        assert_eq!((early, seen), (Finding::Nothing, [Finding::Nothing; 2]));
        policed.judge(&at(START + ms(60), 200, 100))
    }

    #[test]
    fn less_lost_twice_is_found_and_once_or_by_chance_is_not() {
        let mut policed = Policed::default();
        assert_eq!(round(&mut policed, 50, 0), Finding::Perhaps);
        assert_eq!(round(&mut policed, 50, 10), Finding::Nothing, "as much as before");
        assert_eq!(round(&mut policed, 50, 1), Finding::Perhaps);
        let found = Rate::from_bps(COMES.bps() * 20 / 19);
        assert_eq!(round(&mut policed, 50, 1), Finding::Found(found, 50_000));
        let usual = (2.0 * 0.75 + 8.0) / (40.0 * 0.75 + 20.0);
        let Finding::Usual(found) = round(&mut policed, 50, 8) else { panic!("known by now") };
        assert!(found.abs_diff((usual * 1e6) as u64) < 20, "{found}, {usual}");
    }

    #[test]
    fn what_one_round_is_too_short_for_several_tell() {
        let mut policed = Policed::default();
        let mut rounds = |packets: u64, count: u64| -> Vec<Finding> {
            (0..count).map(|_| round(&mut policed, 10, packets)).collect()
        };
        let (perhaps, nothing) = (Finding::Perhaps, Finding::Nothing);
        assert_eq!(rounds(0, 5), [perhaps; 5], "two of twenty may be none by chance, and six of sixty are not: twice");
        assert_eq!(rounds(0, 1), [Finding::Found(COMES, 0)]);
        policed = Policed::default();
        let mut rounds =
            |lost: u64, count: u64| -> Vec<Finding> { (0..count).map(|_| round(&mut policed, lost, 0)).collect() };
        assert_eq!(rounds(4, 6), [perhaps, perhaps, perhaps, nothing, perhaps, perhaps], "no more than four in a row");
        policed = Policed::default();
        let lost: Vec<Finding> = [0, 0, 3].map(|lost| round(&mut policed, 10, lost)).to_vec();
        assert_eq!((lost, policed.attempts), (vec![perhaps, perhaps, nothing], 0), "as much: all begins anew");
    }

    #[test]
    fn too_much_is_told_once_and_if_less_changes_nothing_the_link_is_another() {
        let (ms, rates) = (Duration::from_millis, [7, 5].map(|mbit| Rate::from_bps(mbit * 1_000_000)));
        let mut policed = Policed { is_found: true, ..Policed::default() };
        let mut watch = |at: u64, lost: u64, rate: usize| {
            policed.watch(START + ms(at), (150_000, 150_000 - lost * 1500, 1500), 0, rates[rate], ms(400))
        };
        assert_eq!([watch(0, 0, 0), watch(1, 9, 0), watch(400, 9, 1)], [Given::Enough, Given::TooMuch, Given::Enough]);
        assert_eq!([watch(1000, 0, 1), watch(1001, 9, 1)], [Given::Enough, Given::TooMuch], "after the hold");
        assert_eq!(watch(1401, 9, 1), Given::Otherwise(rates[1]));
        assert_eq!(Policed::default().watch(START, (150_000, 0, 1500), 0, rates[0], ms(0)), Given::Enough);
    }
}
