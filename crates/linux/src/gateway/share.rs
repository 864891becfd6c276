//! The rate of a hub's link where all peers share it, divided by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! Each hop learns what the link to its peer carries by the wait of its packets there. On a Wi-Fi network that is enough: each
//! station has a rate of its own, and access point and MAC share the air among stations. Where one queue leads to all peers,
//! hops that learn would only push each other aside. So packets of all of them leave at the rate of the link and in turns, before
//! they come to that queue: what a peer's packets wait for is then its own excess over its fair share, and that is what its
//! hop learns. What a peer does not use is the others'.

use airtcp_core::{Duration, Instant, Rate};

/// Bytes that a peer may send in its turn.
const QUANTUM: u64 = 1_500;
/// A worker that wakes late makes up for so much.
const CATCH_UP: Duration = Duration::from_millis(2);
/// How long the packets of one peer may wait at the shared rate, if all of it were the peer's.
const WAIT_MAX: Duration = Duration::from_millis(200);
/// Fewest bytes that may wait: some packets on the slowest link.
const LIMIT_MIN: u64 = 16 * QUANTUM;

/// Whose turn it is, and when.
pub struct Share {
    rate: Rate,
    carry: u64,
    /// When the link has sent what it was given.
    free_at: Instant,
    turn: usize,
    /// What each peer may still send in this turn, in bytes.
    deficits: Vec<u64>,
}

impl Share {
    /// Of `rate`, among so many peers.
    pub fn new(rate: Rate, peers: usize) -> Share {
        Share { rate, carry: 0, free_at: Instant::ZERO, turn: 0, deficits: vec![0; peers] }
    }

    /// How many bytes of one peer may wait, which has so much memory for it.
    pub fn limit(rate: Rate, memory: u64) -> u64 {
        rate.bytes_in(WAIT_MAX).min(memory).max(LIMIT_MIN)
    }

    /// Whose packet leaves now, if one does. `head` tells the bytes of the first packet that waits for a peer.
    pub fn next(&mut self, now: Instant, head: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let peers = self.deficits.len();
        if now < self.free_at || !(0..peers).any(|peer| head(peer).is_some()) {
            return None;
        }
        loop {
            let peer = self.turn;
            match head(peer) {
                Some(bytes) if self.deficits[peer] >= u64::from(bytes) => {
                    self.deficits[peer] -= u64::from(bytes);
                    let earliest = Instant::ZERO + now.saturating_since(Instant::ZERO).saturating_sub(CATCH_UP);
                    let begin = self.free_at.max(earliest);
                    self.free_at = begin + self.rate.serialisation(bytes, &mut self.carry);
                    return Some(peer);
                }
                // Who has nothing to send saves nothing up.
                None => self.deficits[peer] = 0,
                Some(_) => {}
            }
            self.turn = (peer + 1) % peers;
            self.deficits[self.turn] += QUANTUM;
        }
    }

    /// When the next packet may leave.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_bps(12_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    /// Bytes that each peer sends in a second, of packets of its own size; 0 for one without packets. It is looked at so often.
    fn sent(sizes: &[u32], every: Duration) -> Vec<u64> {
        let mut share = Share::new(RATE, sizes.len());
        let mut sent = vec![0; sizes.len()];
        let start = Instant::ZERO + SECOND;
        let mut now = start;
        while now < start + SECOND {
            while let Some(peer) = share.next(now, |peer| Some(sizes[peer]).filter(|size| *size > 0)) {
                sent[peer] += u64::from(sizes[peer]);
            }
            now += every;
        }
        sent
    }

    #[test]
    fn peers_with_long_and_short_packets_have_the_same_share_and_all_of_the_link() {
        let sent = sent(&[1_500, 60, 700, 1_499], Duration::from_micros(100));
        assert!(sent.iter().all(|bytes| bytes.abs_diff(375_000) < 4_000), "{sent:?}");
    }

    #[test]
    fn what_one_does_not_use_is_the_others() {
        let sent = sent(&[1_500, 0, 0, 500], Duration::from_micros(100));
        assert!(sent[0].abs_diff(750_000) < 4_000 && sent[3].abs_diff(750_000) < 4_000, "{sent:?}");
    }

    #[test]
    fn who_was_idle_has_saved_nothing_up() {
        let mut share = Share::new(RATE, 2);
        let mut now = Instant::ZERO + SECOND;
        let send = |share: &mut Share, now: &mut Instant, peers: &[usize]| loop {
            *now = share.free_at().max(*now);
            if let Some(peer) = share.next(*now, |peer| peers.contains(&peer).then_some(1_000)) {
                return peer;
            }
        };
        (0..1_000).for_each(|_| assert_eq!(send(&mut share, &mut now, &[0]), 0));
        let of_second = (0..100).filter(|_| send(&mut share, &mut now, &[0, 1]) == 1).count();
        assert!((48..=52).contains(&of_second), "{of_second} of 100");
    }

    #[test]
    fn the_rate_is_kept_by_a_worker_that_wakes_late_and_not_exceeded_after_a_pause() {
        let total = |every| sent(&[1_500, 1_500], every).iter().sum::<u64>();
        assert!(total(Duration::from_millis(1)).abs_diff(1_500_000) < 5_000);
        // It makes up for two milliseconds and not for ten.
        let late = total(Duration::from_millis(10));
        assert!(late < 500_000, "{late}");
    }

    #[test]
    fn nothing_leaves_where_nothing_waits() {
        assert_eq!(Share::new(RATE, 3).next(Instant::ZERO + SECOND, |_| None), None);
        assert_eq!((Share::limit(RATE, 1 << 20), Share::limit(Rate::from_bps(64_000), 1 << 20)), (300_000, 24_000));
        assert_eq!(Share::limit(Rate::from_bps(10_000_000_000), 1 << 20), 1 << 20);
    }
}
