//! TCP NewZag (Lien, Reeve & Lee, Improving TCP Performance Over Wireless Networks; SPEC section 5): Reno that keeps four
//! fifths of its window after a loss that it takes for random, at the sender only (NZG-1).
//!
//! A loss is random if the latest round trip is short, compared with the moving averages of round trips and of their
//! deviation, the more so the fewer segments were lost ([`lda`]). Everything else is Reno in Linux's stack (NZG-9):
//! who is lost is the stack's loss detection, and its count on entry to recovery is n (NZG-7). The paper's own
//! stack is Linux 2.4's, with a clock of 10 ms that it made 1 ms (NZG-10).
//!
//! The kernel's twin is `crates/linux/src/bpf/c/newzag.bpf.c`; docs/newzag.md says what the paper leaves open.

mod lda;

pub use lda::{DeviationFrom, Lda, NewzagRtt, Settings, Weight};
use lda::{newzag_is_random, newzag_queue_is_short, newzag_rtt_on_clock, newzag_sample, newzag_window};

use super::{AckSample, CaEvent, CaState, Controller, TcpSock};
use core::fmt::Debug;

/// The decision of `ssthresh`, until `set_state` says which event it was for.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    /// Segments lost; 0 without loss.
    n: u32,
    is_random: bool,
    is_below_mean: bool,
}

/// Decisions so far. The names are those that [`Controller::get_info`] gives, in the order of the kernel twin's map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Recoveries that began, one decision each (NZG-U8).
    pub loss_events: u64,
    /// Of these, with n = 1, 2, 3 and more.
    pub by_n: [u64; 4],
    /// Of these, taken for random.
    pub random: u64,
    /// Of these, with a round trip below the mean.
    pub below_mean: u64,
    /// Retransmission timeouts (NZG-8).
    pub timeouts: u64,
    /// Reductions without loss: a full transmit queue, ECN, a probe that repaired a tail (NZG-U7).
    pub other: u64,
}

impl Counters {
    fn see(&self, see: &mut dyn FnMut(&'static str, u64)) {
        see("loss_events", self.loss_events);
        for (name, count) in ["n_1", "n_2", "n_3", "n_more"].into_iter().zip(self.by_n) {
            see(name, count);
        }
        see("random", self.random);
        see("below_mean", self.below_mean);
        see("timeouts", self.timeouts);
        see("other_reductions", self.other);
    }
}

/// The time that the rules compare: what NewZag and ZigZag differ in.
pub trait Trip: Debug + Default + Send {
    /// The connection is established.
    fn init(&mut self, _sk: &TcpSock) {}

    /// A sample in microseconds, if this acknowledgment gives one.
    fn sample(&mut self, settings: &Settings, sk: &TcpSock, ack: &AckSample) -> Option<u64>;
}

/// Reno that distinguishes random losses from congestion, and counts its verdicts.
#[derive(Clone, Debug, Default)]
pub struct LossDiscriminator<T> {
    settings: Settings,
    trip: T,
    rtt: NewzagRtt,
    pending: Option<Verdict>,
    counters: Counters,
}

/// See the module.
pub type Newzag = LossDiscriminator<RoundTrip>;

impl<T: Trip> LossDiscriminator<T> {
    /// One with `settings`.
    pub fn new(settings: Settings) -> Self {
        LossDiscriminator { settings, ..LossDiscriminator::default() }
    }
}

impl<T: Trip> Controller for LossDiscriminator<T> {
    fn init(&mut self, sk: &mut TcpSock) {
        self.trip.init(sk);
    }

    fn pkts_acked(&mut self, sk: &mut TcpSock, sample: &AckSample) {
        if let Some(trip_us) = self.trip.sample(&self.settings, sk, sample) {
            newzag_sample(&mut self.rtt, &self.settings, trip_us);
        }
    }

    /// NZG-6, NZG-7: judges the segments that the stack holds for lost. None are when the transmit queue was full
    /// (NZG-U7): that is congestion.
    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        let n = sk.lost_out;
        let is_random = n > 0
            && newzag_is_random(&self.rtt, self.settings.lda, n)
            && newzag_queue_is_short(&self.rtt, sk.snd_cwnd, self.settings.max_backlog);
        self.pending = Some(Verdict { n, is_random, is_below_mean: self.rtt.known && self.rtt.last < self.rtt.mean });
        newzag_window(sk.snd_cwnd, is_random)
    }

    /// NZG-8: the stack asked for a threshold because of a timeout, which is congestion (NZG-U6).
    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        if event == CaEvent::Loss && !self.settings.judges_timeouts {
            sk.snd_ssthresh = newzag_window(sk.prior_cwnd, false);
        }
    }

    /// Counts what was decided, by the situation it was decided in (NZG-7), and follows the paper's text after a timeout.
    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        // The stack's window is one segment beside what it counts in flight, which may be retransmissions that were not
        // needed: a window of two in all could be full of them for good.
        if new == CaState::Loss && self.settings.timeout_leaves_two && sk.snd_cwnd < sk.snd_cwnd_clamp {
            sk.snd_cwnd += 1;
        }
        let Some(verdict) = self.pending.take() else { return };
        let counters = &mut self.counters;
        match new {
            CaState::Recovery if verdict.n > 0 => {
                counters.loss_events += 1;
                counters.by_n[verdict.n.min(4) as usize - 1] += 1;
                counters.random += u64::from(verdict.is_random);
                counters.below_mean += u64::from(verdict.is_below_mean);
            }
            CaState::Loss => counters.timeouts += 1,
            _ => counters.other += 1,
        }
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        sk.tcp_reno_cong_avoid(acked);
    }

    fn get_info(&self, see: &mut dyn FnMut(&'static str, u64)) {
        self.counters.see(see);
    }
}

/// NZG-5, NZG-U1, NZG-10: the round trip by the sender's own clock, as the clock of the settings reads it; the stack gives
/// none that is ambiguous (NZG-U4).
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip;

impl Trip for RoundTrip {
    fn sample(&mut self, settings: &Settings, sk: &TcpSock, ack: &AckSample) -> Option<u64> {
        let rtt_us = u32::try_from(ack.rtt_us.min(i64::from(u32::MAX))).ok().filter(|rtt_us| *rtt_us > 0)?;
        Some(newzag_rtt_on_clock(sk.tcp_mstamp.as_nanos() / 1_000, rtt_us, settings.tick_us()))
    }
}

#[cfg(test)]
mod tests;
