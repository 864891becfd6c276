//! What a link loses however little it is given. Whatever it loses beyond that it had no room for: a full queue drops, as long waits of
//! other packets tell, and a short queue, or a policer, drops long before packets wait in it.

use super::departures::Sample;
use super::{bits_per_second, millionths, part};
use crate::egress::LOSSY_FOR;
use airtcp_core::{Instant, Rate};

/// Losses are counted over so much time of the other end's clock, in ns, and no fewer bytes.
const EPOCH: u64 = 500_000_000;
const LEAST_BYTES: u64 = 50 * 1500;
/// The least of so many epochs is usual.
const EPOCHS: usize = 8;
/// In millionths.
pub(crate) const ONE: u64 = 1_000_000;
/// A share that senders notice.
pub(super) const HIGH: u64 = 10_000;
/// No link loses more.
const MOST: u64 = 600_000;
/// What comes is steady if it differs by less than one part in so many from one epoch to the next: it doubles while senders start.
const STEADY: u64 = 8;

/// What left and came while no packet waited long.
#[derive(Debug, Default)]
struct WithoutQueue {
    /// The last packet if it did not: what had left and what had come, with it.
    last: Option<(u64, u64)>,
    sent: u64,
    received: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct UsualLoss {
    /// Where the present epoch began: the clock, what had left and what had come.
    mark: Option<(u64, u64, u64)>,
    /// What was seen in it without a queue.
    without_queue: WithoutQueue,
    /// Shares of the latest epochs, in millionths.
    shares: [u64; EPOCHS],
    /// The same without what a full queue is to blame for.
    usual: [u64; EPOCHS],
    /// When the packets left that ended them.
    ended: [Instant; EPOCHS],
    count: usize,
    /// What is usual, if somebody else found it out; in millionths.
    told: Option<u64>,
    /// What came in the last two epochs, the later first; in bit/s.
    came: [u64; 2],
}

impl UsualLoss {
    /// A packet was seen at both ends, which waited for long in a queue of the link if it `waited`.
    pub fn add(&mut self, sample: &Sample, waited: bool) {
        let (came, sent, received) = *self.mark.get_or_insert((sample.came, sample.packets, sample.received));
        let time = sample.came.checked_sub(came);
        let bytes = sample.packets.checked_sub(sent).zip(sample.received.checked_sub(received));
        // Another clock, or another end.
        let Some((time, (sent, received))) = time.zip(bytes) else {
            (self.mark, self.without_queue) = (None, WithoutQueue::default());
            return;
        };
        self.without_queue.add(sample, waited);
        if time >= EPOCH && sent >= LEAST_BYTES {
            let share = millionths(sent.saturating_sub(received), sent).min(MOST);
            self.shares[self.count % EPOCHS] = share;
            self.usual[self.count % EPOCHS] = self.without_queue.less_than(share, sample.bytes).unwrap_or(share);
            (self.without_queue.sent, self.without_queue.received) = (0, 0);
            self.ended[self.count % EPOCHS] = sample.left;
            self.count += 1;
            self.came = [bits_per_second(received, time), self.came[0]];
            self.mark = Some((sample.came, sample.packets, sample.received));
        }
    }

    /// True if more was lost of late than a few packets by chance.
    pub fn is_high(&self) -> bool {
        self.latest() >= HIGH
    }

    /// What was lost in the latest epoch, in millionths.
    pub fn latest(&self) -> u64 {
        self.count.checked_sub(1).map_or(0, |latest| self.shares[latest % EPOCHS])
    }

    /// So many millionths are usual, whatever was lost of late, where that is known.
    pub fn learn(&mut self, usual: Option<u64>) {
        self.told = usual.map(|usual| usual.min(MOST));
    }

    /// What comes, if it is as much as before.
    pub fn steady_rate(&self) -> Option<Rate> {
        let [latest, before] = self.came;
        (latest.abs_diff(before) < latest / STEADY).then(|| Rate::from_bps(latest))
    }

    /// The middle of the latest epochs, in millionths, where they are known: what a link loses that nobody else fills. The least
    /// of them is too little.
    pub fn middle(&self) -> Option<u64> {
        let mut shares = self.usual;
        shares.sort_unstable();
        (self.count >= EPOCHS).then(|| shares[EPOCHS / 2])
    }

    /// What was lost on average while a loss makes a link a lossy one, in millionths, if enough has left in that time to tell.
    pub fn mean(&self, now: Instant) -> Option<u64> {
        let known = self.shares.iter().zip(self.ended).take(self.count);
        let late = known.filter(|(_, ended)| now.saturating_since(*ended) < LOSSY_FOR);
        let (sum, count) = late.fold((0, 0), |(sum, count), (share, _)| (sum + share, count + 1));
        (count > 0).then(|| sum / count)
    }

    /// What was learned, or the least of the latest epochs, in millionths; zero before they are known.
    pub fn usual(&self) -> u64 {
        if let Some(told) = self.told {
            return told;
        }
        if self.count < EPOCHS { 0 } else { self.usual.into_iter().min().unwrap_or_default() }
    }

    /// What was carried so that `received` bytes came, of `sent` at most.
    pub fn carried(&self, sent: u64, received: u64) -> u64 {
        (received.saturating_mul(ONE) / (ONE - self.usual())).min(sent)
    }
}

impl WithoutQueue {
    fn add(&mut self, sample: &Sample, waited: bool) {
        let now = (!waited).then_some((sample.packets, sample.received));
        if let Some(((sent, received), (sent_before, received_before))) = now.zip(self.last) {
            self.sent += sent.saturating_sub(sent_before);
            self.received += received.saturating_sub(received_before);
        }
        self.last = now;
    }

    /// What was lost without a queue, in millionths, where that is less than `share` of all in packets of `length` bytes, and no chance.
    fn less_than(&self, share: u64, length: u32) -> Option<u64> {
        let lost = self.sent.saturating_sub(self.received);
        let mean = part(self.sent, share);
        (lost + chance(mean, u64::from(length)) < mean).then(|| millionths(lost, self.sent))
    }
}

/// What is lost by chance differs from its mean by more than three times the root of that in one case of a hundred, of few packets of
/// `length` bytes.
fn chance(mean: u64, length: u64) -> u64 {
    mean.saturating_mul(length * 9).isqrt()
}

/// Of `sent` bytes `received` came: so many packets of `length` more were lost than `usual` millionths, if that is no
/// chance.
pub(super) fn excess(usual: u64, sent: u64, received: u64, length: u64) -> u64 {
    let lost = sent.saturating_sub(received);
    let mean = part(sent, usual);
    let beyond = lost.saturating_sub(mean);
    if beyond <= chance(mean, length) { 0 } else { (beyond + length / 2) / length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;

    /// So many packets of 1000 bytes in a second, of which so many per cent come, for `seconds`.
    fn run(loss: &mut UsualLoss, at: &mut Sample, packets: u64, per_cent: u64, seconds: u64) {
        for _ in 0..seconds * 100 {
            at.came += 10_000_000;
            at.left += Duration::from_millis(10);
            at.packets += packets * 10;
            at.received += packets * 10 * (100 - per_cent) / 100;
            loss.add(at, true);
        }
    }

    fn start() -> Sample {
        let left = Instant::ZERO;
        Sample { left, came: 7, sent: 0, packets: 0, received: 0, bytes: 1000, pause: Duration::ZERO }
    }

    #[test]
    fn what_is_always_lost_was_carried_and_what_is_lost_of_too_much_was_not() {
        let (mut loss, mut at) = (UsualLoss::default(), start());
        assert_eq!((loss.carried(1000, 900), loss.is_high()), (900, false), "nothing is known");
        run(&mut loss, &mut at, 1000, 10, 6);
        assert!(loss.is_high());
        assert_eq!(loss.carried(1000, 900), 1000);
        assert_eq!(loss.carried(2000, 900), 1000, "twice as much was sent, and no more came");
        run(&mut loss, &mut at, 1000, 50, 3);
        assert_eq!(loss.carried(2000, 900), 1000, "for seconds");
        run(&mut loss, &mut at, 1000, 50, 3);
        assert_eq!(loss.carried(2000, 900), 1800, "until it is usual");
    }

    #[test]
    fn no_more_was_carried_than_was_sent_and_little_tells_nothing() {
        let (mut loss, mut at) = (UsualLoss::default(), start());
        run(&mut loss, &mut at, 10, 90, 60);
        assert!(loss.count < 60);
        run(&mut loss, &mut at, 1000, 100, 20);
        assert_eq!(loss.carried(1000, 1000), 1000);
        assert_eq!(loss.carried(1000, 100), 250, "at most 60 % are usual");
    }

    #[test]
    fn few_more_than_usual_are_chance_and_many_are_not() {
        let (mut loss, mut at) = (UsualLoss::default(), start());
        assert_eq!(loss.middle(), None);
        run(&mut loss, &mut at, 1000, 2, 6);
        assert_eq!(loss.middle(), Some(20_000));
        let lost = |packets: u64| excess(20_000, 100_000, 100_000 - packets * 1000, 1000);
        assert_eq!([0, 2, 6, 7, 20].map(lost), [0, 0, 0, 5, 18]);
        assert_eq!(excess(0, 100_000, 99_000, 1000), 1, "where nothing is lost usually, one is enough");
    }

    #[test]
    fn of_late_is_what_was_counted_within_ten_seconds() {
        let (mut loss, mut at) = (UsualLoss::default(), start());
        assert_eq!(loss.mean(at.left), None);
        run(&mut loss, &mut at, 1000, 0, 6);
        run(&mut loss, &mut at, 1000, 8, 2);
        let mean = loss.mean(at.left).unwrap();
        assert!((29_000..=41_000).contains(&mean), "three or four of eight: {mean}");
        assert!(loss.middle() < Some(2000), "nearly nothing: {:?}", loss.middle());
        at.left += LOSSY_FOR - Duration::from_secs(1);
        assert_eq!(loss.mean(at.left), Some(80_000), "the latest");
        assert_eq!(loss.mean(at.left + Duration::from_secs(2)), None);
    }

    /// Per second 500 packets that wait hardly, of which so many per cent are lost, and as many behind a full queue, which drops half.
    fn swing(loss: &mut UsualLoss, at: &mut Sample, per_cent: u64) {
        for turn in 0..600 {
            let waits = turn % 10 >= 5;
            at.came += 10_000_000;
            at.packets += 10_000;
            at.received += 100 * if waits { 50 } else { 100 - per_cent };
            loss.add(at, waits);
        }
    }

    #[test]
    fn what_a_full_queue_drops_is_not_usual() {
        for per_cent in [0, 4] {
            let (mut loss, mut at) = (UsualLoss::default(), start());
            swing(&mut loss, &mut at, per_cent);
            let usual = [loss.usual(), loss.middle().unwrap()];
            assert_eq!(usual, [per_cent * 10_000; 2]);
            assert!(loss.latest() > 200_000, "that it was lost stays known: {}", loss.latest());
        }
    }

    #[test]
    fn few_packets_without_a_queue_tell_nothing() {
        let (mut loss, mut at) = (UsualLoss::default(), start());
        for turn in 0..600 {
            at.came += 10_000_000;
            at.packets += 10_000;
            // Two reports of an epoch's fifty are without a queue. The ten packets between them all come, which they do six times of ten at 5 %.
            at.received += if turn % 50 == 1 { 10_000 } else { 9_500 };
            loss.add(&at, turn % 50 > 1);
        }
        assert!((48_000..=50_000).contains(&loss.usual()), "{}", loss.usual());
    }

    #[test]
    fn another_end_counts_anew() {
        let (mut loss, mut at) = (UsualLoss::default(), start());
        run(&mut loss, &mut at, 1000, 0, 6);
        let mut at = start();
        run(&mut loss, &mut at, 1000, 20, 6);
        assert_eq!(loss.carried(1000, 800), 1000);
    }
}
