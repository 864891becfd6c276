//! Random sequences of the hooks that a sender calls on its congestion controller, in the order the sender calls them.
//!
//! A small model of the sender stands in for `tcp::sender`: windows, states and counters move as there, but round trips,
//! acknowledgments, losses and pauses are anything. After every step the window is at least one segment and at most its
//! clamp, the threshold makes sense, a pacing rate in use is not zero; an undone reduction gives the window back.

use crate::draw::{Draw, Trace};
use crate::parameters;
use airtcp_core::{Duration, Instant, Rng};
use airtcp_tcp::congestion::{
    AckEvent, AckSample, CaEvent, CaState, Controller, ControllerEntry, LostSegment, Pacing, RateSample,
    TCP_INFINITE_SSTHRESH, TcpSock,
};

const STEPS: u64 = 2000;

/// Drives the controller with the steps of a seed.
///
/// # Errors
/// A sentence: what was demanded of it and the number of the step that broke it.
pub fn drive(seed: u64, entry: &ControllerEntry) -> Result<Trace, String> {
    let mut sender = Sender::new(seed, entry);
    for number in 0..STEPS {
        sender.step().and_then(|()| sender.check()).map_err(|what| format!("step {number}: {what}"))?;
    }
    sender.controller.release(&mut sender.sk);
    Ok(sender.trace)
}

/// Drives the controller twice.
///
/// # Errors
/// What was broken, or that the two runs differ.
pub fn drive_twice(seed: u64, entry: &ControllerEntry) -> Result<Trace, String> {
    let (first, second) = (drive(seed, entry)?, drive(seed, entry)?);
    if first == second { Ok(first) } else { Err("two runs of the same steps differ".to_owned()) }
}

struct Sender {
    controller: Box<dyn Controller>,
    sk: TcpSock,
    draw: Draw,
    trace: Trace,
    /// Round trips are drawn from here on upwards.
    base_rtt: Duration,
    /// The present reduction can be taken back.
    may_undo: bool,
}

impl Sender {
    fn new(seed: u64, entry: &ControllerEntry) -> Self {
        let mut draw = Draw::new(seed, "swarm/controllers");
        let mut sk = TcpSock::new(Rng::derive(seed, "swarm/controllers/own"));
        let limits = [u32::MAX, draw.magnitude(1, u64::from(u32::MAX)) as u32];
        sk.snd_cwnd_clamp = draw.pick(&limits);
        sk.snd_cwnd = (draw.magnitude(1, 1000) as u32).min(sk.snd_cwnd_clamp);
        if draw.percent(30) {
            sk.snd_ssthresh = draw.magnitude(2, 10_000) as u32;
        }
        sk.mss_cache = draw.pick(&[64, 536, 1448, 8948]);
        // Milliseconds and microseconds wrap during some runs.
        let starts = [0, 1, draw.word() >> 2, (u64::from(u32::MAX) - 500) * 1_000_000, u64::from(u32::MAX) * 1000];
        sk.tcp_mstamp = Instant::from_nanos(draw.pick(&starts));
        (sk.delivered_mstamp, sk.first_tx_mstamp, sk.lsndtime) = (sk.tcp_mstamp, sk.tcp_mstamp, sk.tcp_mstamp);
        let base_rtt = draw.span(Duration::from_micros(1), Duration::from_secs(3));
        let mut controller = parameters::draw_controller(&mut draw, entry).build();
        controller.init(&mut sk);
        Sender { controller, sk, draw, trace: Trace::default(), base_rtt, may_undo: false }
    }

    fn step(&mut self) -> Result<(), String> {
        let pause = match self.draw.below(50) {
            0 => self.draw.span(Duration::from_millis(1), Duration::from_secs(100_000)),
            _ => self.draw.span(Duration::ZERO, self.base_rtt),
        };
        self.sk.tcp_mstamp = self.sk.tcp_mstamp.saturating_add(pause);
        match self.draw.below(100) {
            0..35 => self.send(),
            35..85 => self.acknowledge(),
            85..92 => self.lose(),
            92..95 => self.time_out(),
            95..97 => return self.undo(),
            97..99 => self.mark(),
            _ => self.pause(),
        }
        Ok(())
    }

    fn send(&mut self) {
        if self.sk.packets_out == 0 {
            self.controller.cwnd_event(&mut self.sk, CaEvent::TxStart);
        }
        let room = self.sk.snd_cwnd.saturating_sub(self.sk.tcp_packets_in_flight()).min(1 << 20);
        let count = if self.draw.percent(70) { room } else { self.draw.below(u64::from(room) + 1) as u32 };
        self.sk.packets_out += count;
        self.sk.is_cwnd_limited = self.sk.tcp_packets_in_flight() >= self.sk.snd_cwnd;
        self.sk.max_packets_out = self.sk.max_packets_out.max(self.sk.packets_out);
        if !self.sk.is_cwnd_limited {
            self.sk.app_limited = (self.sk.delivered.wrapping_add(self.sk.tcp_packets_in_flight())).max(1);
        }
        self.sk.lsndtime = self.sk.tcp_mstamp;
        self.sk.snd_nxt += count.wrapping_mul(self.sk.mss_cache);
        let _ = self.controller.min_tso_segs(&mut self.sk);
    }

    /// As `sender::ack`: round trip, `in_ack_event`, `pkts_acked`, recovery, then the window.
    fn acknowledge(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        let prior_in_flight = self.sk.tcp_packets_in_flight();
        let acked = self.draw.magnitude(1, u64::from(self.sk.packets_out)) as u32;
        let rtt_us = self.take_round_trip();
        self.sk.packets_out -= acked;
        self.sk.lost_out = self.sk.lost_out.saturating_sub(acked);
        self.sk.retrans_out = self.sk.retrans_out.min(self.sk.packets_out);
        self.sk.lost_out = self.sk.lost_out.min(self.sk.packets_out);
        self.sk.delivered = self.sk.delivered.wrapping_add(acked);
        self.sk.snd_una += acked.wrapping_mul(self.sk.mss_cache);
        let is_ece = self.draw.percent(3);
        let event = AckEvent { slow_path: self.draw.percent(10), window_update: self.draw.percent(20), ece: is_ece };
        self.controller.in_ack_event(&mut self.sk, event);
        let sample = AckSample { pkts_acked: acked, rtt_us, in_flight: prior_in_flight };
        self.controller.pkts_acked(&mut self.sk, &sample);
        if self.sk.icsk_ca_state > CaState::Disorder && self.draw.percent(20) {
            self.open();
        }
        let sample = self.rate_sample(acked, rtt_us, prior_in_flight, is_ece);
        self.sk.delivered_mstamp = self.sk.tcp_mstamp;
        self.control_window(acked, &sample);
    }

    fn take_round_trip(&mut self) -> i64 {
        if self.draw.percent(5) {
            return -1;
        }
        let rtt = self.draw.span(self.base_rtt, self.base_rtt.saturating_mul(20));
        let micros = u32::try_from(rtt.as_micros().max(1)).unwrap_or(u32::MAX >> 3);
        let sk = &mut self.sk;
        sk.rtt_min_us = sk.rtt_min_us.min(micros);
        sk.srtt_us = if sk.srtt_us == 0 { micros << 3 } else { sk.srtt_us - (sk.srtt_us >> 3) + micros };
        sk.mdev_us = sk.srtt_us >> 2;
        i64::from(micros)
    }

    fn rate_sample(&mut self, acked: u32, rtt_us: i64, prior_in_flight: u32, is_ece: bool) -> RateSample {
        let interval_us = if self.draw.percent(10) { -1 } else { self.draw.magnitude(1, 10_000_000) as i64 };
        let delivered = if interval_us < 0 { -1 } else { self.draw.magnitude(1, 100_000) as i32 };
        // Only who wants to be told of losses looks at what is lost of what was in flight.
        let wants = self.controller.wants_losses();
        let mut of = |most: u64| if wants { self.draw.below(most) as u32 } else { 0 };
        let (tx_in_flight, lost) = (of(1000), of(30));
        RateSample {
            prior_mstamp_us: (self.sk.tcp_mstamp.as_nanos() / 1000).saturating_sub(interval_us.max(0) as u64).max(1),
            prior_delivered: self.sk.delivered.wrapping_sub(delivered.max(0) as u32),
            delivered,
            interval_us,
            snd_interval_us: interval_us.max(0) as u32,
            rcv_interval_us: interval_us.max(0) as u32,
            rtt_us,
            losses: self.draw.below(3) as u32,
            acked_sacked: acked,
            prior_in_flight,
            tx_in_flight,
            lost,
            is_app_limited: self.draw.percent(20),
            is_retrans: self.draw.percent(10),
            is_ack_delayed: self.draw.percent(10),
            is_ece,
        }
    }

    fn control_window(&mut self, acked: u32, sample: &RateSample) {
        if self.controller.has_cong_control() {
            self.controller.cong_control(&mut self.sk, sample);
        } else if self.sk.tcp_in_cwnd_reduction() {
            // Proportional reduction leaves what is in flight and at least one more.
            self.sk.snd_cwnd = self.sk.tcp_packets_in_flight().saturating_add(1).min(self.sk.snd_cwnd_clamp);
        } else {
            self.controller.cong_avoid(&mut self.sk, acked);
        }
    }

    fn set_state(&mut self, new: CaState) {
        self.controller.set_state(&mut self.sk, new);
        self.sk.icsk_ca_state = new;
    }

    /// As `sender::begin_reduction`.
    fn begin_reduction(&mut self, state: CaState) {
        self.begin_reduction_to(state, |controller, sk| controller.ssthresh(sk));
    }

    fn begin_reduction_to(&mut self, state: CaState, threshold: fn(&mut dyn Controller, &mut TcpSock) -> u32) {
        self.sk.prior_ssthresh = self.sk.tcp_current_ssthresh();
        self.sk.snd_cwnd_cnt = 0;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_ssthresh = threshold(&mut *self.controller, &mut self.sk);
        self.may_undo = true;
        self.set_state(state);
    }

    fn lose(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        let lost = self.draw.magnitude(1, u64::from(self.sk.packets_out)) as u32;
        self.sk.lost_out = (self.sk.lost_out + lost).min(self.sk.packets_out);
        self.sk.lost = self.sk.lost.wrapping_add(lost);
        if self.sk.icsk_ca_state <= CaState::Disorder {
            self.begin_reduction(CaState::Recovery);
        }
        self.tell_losses(lost.min(20));
    }

    /// As `sender::tell_losses`.
    fn tell_losses(&mut self, count: u32) {
        if !self.controller.wants_losses() {
            return;
        }
        for lost in 1..=count {
            let start = self.draw.below(1 << 40);
            let lost = LostSegment {
                start,
                end: start + u64::from(self.sk.mss_cache),
                tx_in_flight: self.draw.magnitude(1, 1000) as u32,
                lost,
                is_app_limited: self.draw.percent(20),
            };
            self.controller.segment_lost(&mut self.sk, &lost);
        }
    }

    /// As `sender::enter_loss`.
    fn time_out(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        self.sk.lost_out = self.sk.packets_out;
        self.sk.retrans_out = 0;
        if self.sk.icsk_ca_state <= CaState::Disorder || self.draw.percent(30) {
            self.sk.prior_ssthresh = self.sk.tcp_current_ssthresh();
            self.sk.prior_cwnd = self.sk.snd_cwnd;
            self.sk.snd_ssthresh = self.controller.ssthresh(&mut self.sk);
            self.controller.cwnd_event(&mut self.sk, CaEvent::Loss);
            self.may_undo = true;
        }
        self.sk.snd_cwnd = (self.sk.tcp_packets_in_flight() + 1).min(self.sk.snd_cwnd_clamp);
        self.sk.snd_cwnd_cnt = 0;
        self.set_state(CaState::Loss);
    }

    /// As `sender::undo_reduction`.
    fn undo(&mut self) -> Result<(), String> {
        if !std::mem::take(&mut self.may_undo) {
            return Ok(());
        }
        self.sk.lost_out = 0;
        let (now, before) = (self.sk.snd_cwnd, self.sk.prior_cwnd);
        let undone = self.controller.undo_cwnd(&mut self.sk);
        // A controller that sets the window alone may keep its own window, but never a smaller one.
        let least = if self.controller.has_cong_control() { now } else { now.max(before) };
        if undone < least {
            return Err(format!("an undone reduction leaves {undone} segments of {before}, {now} now"));
        }
        self.sk.snd_cwnd = undone.min(self.sk.snd_cwnd_clamp);
        self.sk.snd_ssthresh = self.sk.snd_ssthresh.max(self.sk.prior_ssthresh);
        self.set_state(CaState::Open);
        Ok(())
    }

    fn mark(&mut self) {
        let event = if self.draw.percent(50) { CaEvent::EcnIsCe } else { CaEvent::EcnNoCe };
        self.controller.cwnd_event(&mut self.sk, event);
        if self.sk.icsk_ca_state <= CaState::Disorder {
            self.begin_reduction_to(CaState::Cwr, |controller, sk| controller.ssthresh_after_mark(sk));
            self.may_undo = false;
        }
    }

    /// As `sender::end_reduction`: the reduction is over.
    fn open(&mut self) {
        if !self.controller.has_cong_control() {
            if self.sk.tcp_in_cwnd_reduction() && self.sk.snd_ssthresh < TCP_INFINITE_SSTHRESH {
                self.sk.snd_cwnd = self.sk.snd_ssthresh.min(self.sk.snd_cwnd_clamp);
            }
            self.controller.cwnd_event(&mut self.sk, CaEvent::CompleteCwr);
        }
        self.may_undo = false;
        self.set_state(CaState::Open);
    }

    /// Everything is acknowledged, and the application says nothing for a while.
    fn pause(&mut self) {
        self.sk.packets_out = 0;
        (self.sk.lost_out, self.sk.retrans_out, self.sk.sacked_out) = (0, 0, 0);
        self.sk.max_packets_out = 0;
        if self.draw.percent(30) {
            self.sk.snd_cwnd = self.sk.snd_cwnd.min(10);
            self.controller.cwnd_event(&mut self.sk, CaEvent::CwndRestart);
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let sk = &self.sk;
        self.trace.add(u64::from(sk.snd_cwnd) << 32 | u64::from(sk.snd_ssthresh));
        self.trace.add(sk.sk_pacing_rate);
        if sk.snd_cwnd == 0 || sk.snd_cwnd > sk.snd_cwnd_clamp {
            return Err(format!("a window of {} segments, with a clamp of {}", sk.snd_cwnd, sk.snd_cwnd_clamp));
        }
        if !(1..=TCP_INFINITE_SSTHRESH).contains(&sk.snd_ssthresh) {
            return Err(format!("a threshold of {} segments", sk.snd_ssthresh));
        }
        if sk.sk_pacing_status == Pacing::Needed && sk.sk_pacing_rate == 0 {
            return Err("a pacing rate of zero stops the connection".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::parameters::NoParameters;
    use airtcp_tcp::congestion::{ControllerSettings, settings_for};

    #[derive(Debug)]
    struct Wrong(fn(&mut TcpSock) -> u32, fn(&mut TcpSock, u32));

    impl Controller for Wrong {
        fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
            (self.0)(sk)
        }
        fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
            (self.1)(sk, acked);
        }
    }

    fn failure(settings: &'static (dyn Fn() -> Box<dyn ControllerSettings> + Sync)) -> String {
        let entry = ControllerEntry { slug: "wrong", about: "", source: "", in_kernel: false, settings };
        (0..20).find_map(|seed| drive(seed, &entry).err()).expect("the wrong answer is noticed")
    }

    #[test]
    fn a_threshold_of_zero_is_noticed() {
        assert!(failure(&|| settings_for(|_: NoParameters| Wrong(|_| 0, |_, _| {}))).contains("threshold of 0"));
    }

    #[test]
    fn a_window_beyond_its_clamp_is_noticed() {
        let broken = failure(&|| {
            settings_for(|_: NoParameters| Wrong(|sk| sk.snd_cwnd.max(4) / 2, |sk, _| sk.snd_cwnd = u32::MAX - 1))
        });
        assert!(broken.contains("with a clamp of"), "{broken}");
    }
}
