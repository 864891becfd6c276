//! The connection as hooks see it: Linux's names and units.

use super::sample::{CaState, RxOpt};
use airtcp_core::{Duration, Instant, Rng};
use airtcp_tcp::congestion::{Pacing, TCP_INFINITE_SSTHRESH, TcpSock};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::ops::RangeInclusive;

/// A connection as a controller sees it. Counts are in segments, times in microseconds.
///
/// A controller may write what Linux lets controllers in BPF write: `snd_cwnd`, `snd_cwnd_cnt`, `snd_ssthresh`,
/// `sk_pacing_rate`, `sk_pacing_status` and `app_limited`.
#[pyclass(module = "airtcp")]
pub(crate) struct Sock(TcpSock);

impl Sock {
    pub(super) fn of(sock: TcpSock) -> Self {
        Sock(sock)
    }

    pub(super) fn put(&mut self, sk: &TcpSock) {
        self.0.clone_from(sk);
    }

    pub(super) fn get(&self, sk: &mut TcpSock) {
        sk.clone_from(&self.0);
    }
}

/// A whole number from `least` to `most`; `what` it is, an error says.
pub(super) fn whole(value: &Bound<'_, PyAny>, what: impl Fn() -> String, least: u64, most: u64) -> PyResult<u64> {
    match value.extract::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(PyTypeError::new_err(format!(
            "{} is a whole number, and {} is of type {}; write int(...), or // in place of /",
            what(),
            value.repr()?,
            value.get_type().name()?
        ))),
        _ => Err(PyValueError::new_err(format!("{} cannot be {value}; write {least} to {most}", what()))),
    }
}

fn microseconds(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

/// A getter for each field, and what else a connection has: pyo3 wants all methods in one place.
macro_rules! sock {
    ({ $($(#[doc = $about:literal])+ $name:ident: $type:ty = |$sk:ident| $read:expr;)+ } $($methods:tt)*) => {
        #[pymethods]
        impl Sock {
            $($(#[doc = $about])+ #[getter] fn $name(&self) -> $type { let $sk = &self.0; $read })+
            $($methods)*
        }
    };
}

sock! {
    {
        /// Congestion window.
        snd_cwnd: u32 = |sk| sk.snd_cwnd;
        /// Segments acknowledged towards the next increase.
        snd_cwnd_cnt: u32 = |sk| sk.snd_cwnd_cnt;
        /// Upper bound of the window.
        snd_cwnd_clamp: u32 = |sk| sk.snd_cwnd_clamp;
        /// Slow start threshold.
        snd_ssthresh: u32 = |sk| sk.snd_ssthresh;
        /// Window when the last reduction began.
        prior_cwnd: u32 = |sk| sk.prior_cwnd;
        /// Threshold before the last reduction; 0 if it must not be undone.
        prior_ssthresh: u32 = |sk| sk.prior_ssthresh;
        /// Segments sent and not cumulatively acknowledged.
        packets_out: u32 = |sk| sk.packets_out;
        /// Of those, selectively acknowledged.
        sacked_out: u32 = |sk| sk.sacked_out;
        /// Of those, presumed lost.
        lost_out: u32 = |sk| sk.lost_out;
        /// Of those, retransmitted with the retransmission still in flight.
        retrans_out: u32 = |sk| sk.retrans_out;
        /// Most segments in flight in the last window.
        max_packets_out: u32 = |sk| sk.max_packets_out;
        /// The window limited sending in the last window.
        is_cwnd_limited: bool = |sk| sk.is_cwnd_limited;
        /// Smoothed round-trip time, microseconds << 3; 0 if unknown.
        srtt_us: u32 = |sk| sk.srtt_us;
        /// Mean deviation, microseconds << 2.
        mdev_us: u32 = |sk| sk.mdev_us;
        /// Lowest round-trip time seen lately in microseconds; 2**32 - 1 if unknown.
        rtt_min_us: u32 = |sk| sk.rtt_min_us;
        /// Payload of a full segment in bytes.
        mss_cache: u32 = |sk| sk.mss_cache;
        /// Oldest sequence number not acknowledged; it wraps, so compare by `airtcp.after`.
        snd_una: u32 = |sk| sk.snd_una.0;
        /// Next sequence number to send; it wraps, too.
        snd_nxt: u32 = |sk| sk.snd_nxt.0;
        /// Timestamps of the acknowledgment being handled.
        rx_opt: RxOpt = |sk| RxOpt(sk.rx_opt);
        /// Segments delivered so far, wrapping.
        delivered: u32 = |sk| sk.delivered;
        /// Of those, acknowledged with ECE, wrapping.
        delivered_ce: u32 = |sk| sk.delivered_ce;
        /// Segments marked lost so far, wrapping.
        lost: u32 = |sk| sk.lost;
        /// `delivered` up to which samples are limited by the application; 0 if they are not.
        app_limited: u32 = |sk| sk.app_limited;
        /// Time of the event being handled, microseconds since the run began.
        tcp_mstamp: u64 = |sk| microseconds(sk.tcp_mstamp);
        /// When the segment most recently delivered was sent, with RACK or `cong_control`; else when the first one in flight was.
        first_tx_mstamp: u64 = |sk| microseconds(sk.first_tx_mstamp);
        /// When `delivered` last grew.
        delivered_mstamp: u64 = |sk| microseconds(sk.delivered_mstamp);
        /// When data was last sent, in jiffies.
        lsndtime: u32 = |sk| sk.jiffies_at(sk.lsndtime);
        /// Segments a hole may be overtaken by before it counts as loss.
        reordering: u32 = |sk| sk.reordering;
        /// The peer acknowledges selectively.
        sack_ok: bool = |sk| sk.sack_ok;
        /// Where recovery stands.
        icsk_ca_state: CaState = |sk| CaState::of(sk.icsk_ca_state);
        /// Pacing rate in bytes per second; 2**64 - 1 is unlimited.
        sk_pacing_rate: u64 = |sk| sk.sk_pacing_rate;
        /// Upper bound of the pacing rate in bytes per second.
        sk_max_pacing_rate: u64 = |sk| sk.sk_max_pacing_rate;
        /// True if the pacing rate is obeyed.
        sk_pacing_status: bool = |sk| sk.sk_pacing_status == Pacing::Needed;
        /// Jiffies in a second.
        hz: u32 = |sk| sk.hz();
    }

    /// A connection to try hooks on, which nothing sends over; its window limits it.
    #[new]
    #[pyo3(signature = (*, snd_cwnd = 10, snd_ssthresh = TCP_INFINITE_SSTHRESH, prior_cwnd = 0, is_cwnd_limited = true,
        srtt_us = 0, rtt_min_us = u32::MAX, mss_cache = 1448, seed = 1))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        snd_cwnd: u32,
        snd_ssthresh: u32,
        prior_cwnd: u32,
        is_cwnd_limited: bool,
        srtt_us: u32,
        rtt_min_us: u32,
        mss_cache: u32,
        seed: u64,
    ) -> Self {
        let sock = TcpSock::new(Rng::derive(seed, "airtcp.Sock"));
        Sock(TcpSock { snd_cwnd, snd_ssthresh, prior_cwnd, is_cwnd_limited, srtt_us, rtt_min_us, mss_cache, ..sock })
    }

    #[setter]
    fn set_snd_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.snd_cwnd = assigned("snd_cwnd", value, 1..=self.0.snd_cwnd_clamp)?;
        Ok(())
    }

    #[setter]
    fn set_snd_cwnd_cnt(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.snd_cwnd_cnt = assigned("snd_cwnd_cnt", value, 0..=u32::MAX)?;
        Ok(())
    }

    #[setter]
    fn set_snd_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.snd_ssthresh = assigned("snd_ssthresh", value, 1..=u32::MAX)?;
        Ok(())
    }

    #[setter]
    fn set_app_limited(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.app_limited = assigned("app_limited", value, 0..=u32::MAX)?;
        Ok(())
    }

    #[setter]
    fn set_sk_pacing_rate(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.sk_pacing_rate = whole(value, || "sk.sk_pacing_rate".into(), 1, u64::MAX)?;
        Ok(())
    }

    #[setter]
    fn set_sk_pacing_status(&mut self, sk_pacing_status: bool) {
        self.0.sk_pacing_status = if sk_pacing_status { Pacing::Needed } else { Pacing::None };
    }

    /// Segments in the network as far as the sender can tell.
    fn tcp_packets_in_flight(&self) -> u32 {
        self.0.tcp_packets_in_flight()
    }

    /// True below the slow start threshold.
    fn tcp_in_slow_start(&self) -> bool {
        self.0.tcp_in_slow_start()
    }

    /// True while the window is being reduced.
    fn tcp_in_cwnd_reduction(&self) -> bool {
        self.0.tcp_in_cwnd_reduction()
    }

    /// The threshold a reduction starts from.
    fn tcp_current_ssthresh(&self) -> u32 {
        self.0.tcp_current_ssthresh()
    }

    /// True if the window, not the application, limits sending.
    fn tcp_is_cwnd_limited(&self) -> bool {
        self.0.tcp_is_cwnd_limited()
    }

    /// Slow start; returns what of `acked` is left for congestion avoidance.
    fn tcp_slow_start(&mut self, acked: u32) -> u32 {
        self.0.tcp_slow_start(acked)
    }

    /// One segment more for every `w` acknowledged.
    fn tcp_cong_avoid_ai(&mut self, w: u32, acked: u32) {
        self.0.tcp_cong_avoid_ai(w, acked);
    }

    /// Reno's growth, the base of many controllers.
    fn tcp_reno_cong_avoid(&mut self, acked: u32) {
        self.0.tcp_reno_cong_avoid(acked);
    }

    /// Time of the event in jiffies, wrapping; a jiffy is a millisecond unless the host's clock ticks otherwise.
    fn tcp_jiffies32(&self) -> u32 {
        self.0.tcp_jiffies32()
    }

    /// The least number of jiffies that are no shorter than so many microseconds.
    fn usecs_to_jiffies(&self, microseconds: u64) -> u32 {
        self.0.jiffies_in(Duration::from_micros(microseconds))
    }

    /// A random number from 0 to `ceil` - 1, from the connection's own stream: the same in each run of a seed.
    fn get_random_u32_below(&mut self, ceil: u32) -> u32 {
        self.0.rng.below(ceil.into()) as u32
    }

    fn __repr__(&self) -> String {
        let TcpSock { snd_cwnd, snd_ssthresh, icsk_ca_state, .. } = self.0;
        format!("<airtcp.Sock snd_cwnd={snd_cwnd} snd_ssthresh={snd_ssthresh} icsk_ca_state={icsk_ca_state:?}>")
    }
}

/// A count of segments that Python assigned to `sk.<name>`.
fn assigned(name: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<u32>) -> PyResult<u32> {
    let (least, most) = range.into_inner();
    whole(value, || format!("sk.{name}"), least.into(), most.into()).map(|number| number as u32)
}
