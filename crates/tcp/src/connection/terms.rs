//! What of its configuration a connection asks for after it was made: a quarter of it, and of thousands of connections each has
//! its own.

use crate::config::Config;
use airtcp_core::Duration;

/// See the module; each is what [`Config`] has under this name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) min_rto: Duration,
    pub(super) max_rto: Duration,
    pub(super) initial_rto: Duration,
    pub(super) time_wait: Duration,
    pub(super) keepalive_time: Duration,
    pub(super) keepalive_interval: Duration,
    pub(super) keepalive_probes: u32,
    pub(super) max_retries: u32,
    pub(super) syn_retries: u32,
    pub(super) syn_linear_timeouts: u32,
    /// [`Config::announced_mss`] of our family.
    pub(super) announced_mss: u16,
    pub(super) keepalive: bool,
    pub(super) window_scaling: bool,
    pub(super) timestamps: bool,
    pub(super) offers_sack: bool,
    pub(super) ecn: bool,
    pub(super) ecn_answer: bool,
}

impl Terms {
    /// Those of an end with an IPv4 address, or an IPv6 address.
    pub(super) fn of(config: &Config, is_ipv4: bool) -> Terms {
        Terms {
            min_rto: config.min_rto,
            max_rto: config.max_rto,
            initial_rto: config.initial_rto,
            time_wait: config.time_wait,
            keepalive_time: config.keepalive_time,
            keepalive_interval: config.keepalive_interval,
            keepalive_probes: config.keepalive_probes,
            max_retries: config.max_retries,
            syn_retries: config.syn_retries,
            syn_linear_timeouts: config.syn_linear_timeouts,
            announced_mss: config.announced_mss(is_ipv4),
            keepalive: config.keepalive,
            window_scaling: config.window_scaling,
            timestamps: config.timestamps,
            offers_sack: config.offers_sack(),
            ecn: config.ecn,
            ecn_answer: config.ecn_answer,
        }
    }
}
