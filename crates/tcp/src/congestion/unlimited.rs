//! No congestion control: the window is never a reason to wait (DEC-31).
//!
//! For a connection that something else limits: its caller asks for as many segments as may leave. An example is the
//! data TCP of a decoupling socket, whose circuit does the congestion control. On a plain path it sends whatever the
//! peer's window takes, and drops most of it in the first queue.
//!
//! After a timeout the window is one segment only while the state changes (DEC-32). The recovery `one-segment` is
//! responsible for retransmitting one segment only.

use super::{CaState, Controller, RateSample, TCP_INFINITE_SSTHRESH, TcpSock};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Unlimited {
    /// As much as a threshold can hold, which may be set to a share of it.
    fn open(sk: &mut TcpSock) {
        sk.snd_cwnd = sk.snd_cwnd_clamp.min(TCP_INFINITE_SSTHRESH);
    }
}

impl Controller for Unlimited {
    fn init(&mut self, sk: &mut TcpSock) {
        Self::open(sk);
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        sk.snd_ssthresh
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, _acked: u32) {
        Self::open(sk);
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, sk: &mut TcpSock, _sample: &RateSample) {
        Self::open(sk);
    }

    fn set_state(&mut self, sk: &mut TcpSock, _new: CaState) {
        Self::open(sk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    #[test]
    fn nothing_takes_from_the_window_for_longer_than_a_change_of_state() {
        let mut sk = TcpSock::new(Rng::derive(1, "unlimited"));
        Unlimited.init(&mut sk);
        let threshold = sk.snd_ssthresh;
        assert_eq!((sk.snd_cwnd, Unlimited.ssthresh(&mut sk)), (TCP_INFINITE_SSTHRESH, threshold));
        sk.snd_cwnd = 1;
        Unlimited.set_state(&mut sk, CaState::Loss);
        assert_eq!(sk.snd_cwnd, TCP_INFINITE_SSTHRESH);
        (sk.snd_cwnd, sk.snd_cwnd_clamp) = (1, 40);
        Unlimited.cong_control(&mut sk, &RateSample::default());
        assert_eq!(sk.snd_cwnd, 40);
    }
}
