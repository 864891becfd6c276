//! A path made of two numbers, for tests of controllers that look at delivery rates: what is in flight beyond its volume
//! waits.

use super::{CaState, Controller, LostSegment, RateSample, TcpSock};
use airtcp_core::{Duration, Instant, Rng};
use alloc::collections::VecDeque;

pub const RTT_US: u64 = 50_000;
/// Segments a second.
pub const RATE: u64 = 1000;
/// Segments that the path holds: 1000/s x 50 ms.
pub const BDP: u32 = 50;

/// A segment on its way, with the counts when it was sent.
#[derive(Clone, Copy)]
struct Flight {
    delivered: u32,
    delivered_at: Instant,
    sent: Instant,
    in_flight: u32,
    lost: u32,
}

/// A path that delivers a segment every millisecond, and a sender that always has data.
pub struct Path<C> {
    pub sk: TcpSock,
    pub controller: C,
    pub now: Instant,
    flying: VecDeque<Flight>,
}

impl<C: Controller> Path<C> {
    pub fn new(controller: C) -> Self {
        let mut sk = TcpSock::new(Rng::derive(1, "bbr"));
        sk.mss_cache = 1000;
        sk.sack_ok = true;
        let now = Instant::ZERO + Duration::from_secs(1);
        (sk.tcp_mstamp, sk.delivered_mstamp, sk.tcp_wstamp) = (now, now, now);
        let mut path = Path { sk, controller, now, flying: VecDeque::new() };
        path.controller.init(&mut path.sk);
        path
    }

    /// Sends what pacing and window allow by now.
    fn send(&mut self) {
        while self.sk.packets_out < self.sk.snd_cwnd && self.sk.tcp_wstamp <= self.now {
            self.sk.packets_out += 1;
            self.flying.push_back(Flight {
                delivered: self.sk.delivered,
                delivered_at: self.sk.delivered_mstamp,
                sent: self.now,
                in_flight: self.sk.packets_out,
                lost: self.sk.lost,
            });
            let gap = 1_000_000_000 * u64::from(self.sk.mss_cache) / self.sk.sk_pacing_rate.max(1);
            self.sk.tcp_wstamp =
                self.sk.tcp_wstamp.max(self.now - Duration::from_millis(1)) + Duration::from_nanos(gap);
            self.sk.is_cwnd_limited = self.sk.packets_out >= self.sk.snd_cwnd;
        }
    }

    /// A millisecond: at most one segment is delivered, none before its round trip. It shows that `losses` were lost in
    /// its round trip beside it.
    pub fn step(&mut self, losses: u32) {
        self.now += Duration::from_millis(1);
        self.sk.tcp_mstamp = self.now;
        self.send();
        let Some(&flight) = self.flying.front() else { return };
        if self.now.saturating_since(flight.sent).as_micros() < RTT_US {
            return;
        }
        self.flying.pop_front();
        let prior_in_flight = self.sk.packets_out;
        self.sk.packets_out -= 1;
        self.sk.delivered += 1;
        for _ in 0..losses {
            self.sk.lost += 1;
            let start = u64::from(self.sk.lost) * 2000;
            let lost = LostSegment {
                start,
                end: start + 1000,
                tx_in_flight: flight.in_flight,
                lost: self.sk.lost - flight.lost,
                is_app_limited: false,
            };
            self.controller.segment_lost(&mut self.sk, &lost);
        }
        let rtt_us = self.now.saturating_since(flight.sent).as_micros();
        (self.sk.srtt_us, self.sk.rtt_min_us) = ((rtt_us << 3) as u32, RTT_US as u32);
        let interval = self.now.saturating_since(flight.delivered_at).as_micros();
        self.sk.delivered_mstamp = self.now;
        let sample = RateSample {
            prior_mstamp_us: 1,
            prior_delivered: flight.delivered,
            delivered: (self.sk.delivered - flight.delivered) as i32,
            interval_us: interval as i64,
            rtt_us: rtt_us as i64,
            losses,
            acked_sacked: 1,
            prior_in_flight,
            tx_in_flight: flight.in_flight,
            lost: self.sk.lost - flight.lost,
            ..RateSample::default()
        };
        self.controller.cong_control(&mut self.sk, &sample);
    }

    /// So many milliseconds without loss.
    pub fn run(&mut self, millis: u64) {
        (0..millis).for_each(|_| self.step(0));
    }

    /// Milliseconds without loss until `done`, or a panic after a minute.
    pub fn run_until(&mut self, mut done: impl FnMut(&C) -> bool) -> u64 {
        let begun = self.now;
        while !done(&self.controller) {
            assert!(self.now.saturating_since(begun) < Duration::from_secs(60), "not done");
            self.step(0);
        }
        self.now.saturating_since(begun).as_nanos() / 1_000_000
    }

    /// As a sender that enters another state of recovery.
    pub fn set_state(&mut self, new: CaState) {
        if new >= CaState::Recovery {
            self.controller.ssthresh(&mut self.sk);
        }
        self.controller.set_state(&mut self.sk, new);
        self.sk.icsk_ca_state = new;
    }
}
