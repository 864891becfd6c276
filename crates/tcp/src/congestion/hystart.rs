//! HyStart (Ha and Rhee 2011) with Linux's parameters: leave slow start before it overflows the
//! queue, when a round's acknowledgments arrive as a train half a round trip long, or when the
//! round's lowest delay has risen by an eighth (4 to 16 ms).

use super::{Pacing, TcpSock};
use airtcp_core::SeqNum;

/// Below this window slow start is left alone, segments.
const LOW_WINDOW: u32 = 16;
/// Delay samples before a round is judged.
const MIN_SAMPLES: u32 = 8;
/// Delay thresholds in microseconds.
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// Acknowledgments closer than this belong to one train, microseconds.
const ACK_DELTA_US: u32 = 2_000;
/// Linux's largest aggregate, bytes: what may leave in one burst at the pacing rate.
const GSO_MAX_SIZE: u64 = 65_536;

/// State of one slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStart {
    found: bool,
    round_start: u32,
    end_seq: SeqNum,
    last_ack: u32,
    curr_rtt: u32,
    sample_cnt: u32,
}

impl HyStart {
    /// Starts a round.
    pub(super) fn reset(&mut self, sk: &TcpSock) {
        self.round_start = sk.tcp_clock_us();
        self.last_ack = self.round_start;
        self.end_seq = sk.snd_nxt;
        self.curr_rtt = u32::MAX;
        self.sample_cnt = 0;
    }

    /// Forgets that an exit was found.
    pub(super) fn forget(&mut self) {
        self.found = false;
    }

    /// One delay sample; sets the threshold to the window when slow start should end.
    pub(super) fn on_sample(&mut self, sk: &mut TcpSock, delay_us: u32, delay_min_us: u32) {
        if self.found || !sk.tcp_in_slow_start() {
            return;
        }
        if sk.snd_una.after(self.end_seq) {
            self.reset(sk);
        }
        if sk.snd_cwnd < LOW_WINDOW {
            return;
        }
        let now = sk.tcp_clock_us();
        if now.wrapping_sub(self.last_ack) as i32 <= ACK_DELTA_US as i32 {
            self.last_ack = now;
            let mut threshold = delay_min_us.saturating_add(ack_delay_us(sk));
            // Pacing may have spread the segments themselves over half a round trip.
            if sk.sk_pacing_status == Pacing::None {
                threshold >>= 1;
            }
            if now.wrapping_sub(self.round_start) as i32 > threshold as i32 {
                self.leave_slow_start(sk);
            }
        }
        self.curr_rtt = self.curr_rtt.min(delay_us);
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
        } else if self.curr_rtt > delay_min_us + (delay_min_us >> 3).clamp(DELAY_MIN_US, DELAY_MAX_US) {
            self.leave_slow_start(sk);
        }
    }

    fn leave_slow_start(&mut self, sk: &mut TcpSock) {
        self.found = true;
        sk.snd_ssthresh = sk.snd_cwnd;
    }
}

/// How long the sender's own aggregates may hold back a train, at most a millisecond.
fn ack_delay_us(sk: &TcpSock) -> u32 {
    if sk.sk_pacing_rate == 0 {
        return 0;
    }
    (GSO_MAX_SIZE * 4 * 1_000_000 / sk.sk_pacing_rate).min(1_000) as u32
}
