//! Parameters of the reliable decoupling socket: its own, and those of its circuit.

use crate::papers::decoupling;
use airtcp_core::parameters::{Field, ParameterError, Parameters, nearest};
use airtcp_core::{Duration, Value, choices, parameters};
use airtcp_tcp::{Config, Holes, RecoveryKind, RtoRule, congestion};
use alloc::vec::Vec;

choices! {
    /// After how many more duplicate acknowledgments the data TCP repeats a retransmission: X of DEC-34.
    pub enum Repeat {
        /// As many packets as the control window holds.
        Window = "window",
        /// As many as the control window and the tunnel queue hold, which is what is really ahead of the repair.
        Path = "path",
        /// Never: one fast retransmit for each loss.
        Never = "never",
    }
}

choices! {
    /// The data TCP's retransmission timer.
    pub enum Timer {
        /// Ticks of 50 ms, two at least, no backoff.
        Fine = "fine",
        /// 50 ms whatever the round trip takes, no backoff.
        Constant = "constant",
        /// Ticks of 500 ms, two at least, doubled by each timeout, as the control TCP's.
        Coarse = "coarse",
    }
}

choices! {
    /// What happens to the data TCP when the tunnel queue is full.
    pub enum WhenFull {
        /// It waits.
        Block = "block",
        /// It loses a segment, and waits until half of the queue is free.
        Drop = "drop",
    }
}

parameters! {
    /// Parameters of the data TCP.
    pub struct DataSettings {
        /// F1: the receiver reports what it holds by SACK.
        pub data_sack: bool = true, "DEC-33";
        /// F2: the number of further duplicates after which a retransmission is repeated.
        pub repeat: Repeat = Repeat::Window, "DEC-34, DEC-U7; path is ours, DEC-U22";
        /// A constant for this number, at least one; auto is what `repeat` says.
        pub repeat_after: Option<u32> = None, "DEC-C20";
        /// Which holes F2 repairs: the first, as the paper says, or all that SACK shows.
        pub holes: Holes = Holes::First, "DEC-34, DEC-U9; all is ours";
        /// F3: the retransmission timer.
        pub timer: Timer = Timer::Fine, "DEC-35, DEC-X8";
        /// Do not queue a second copy of a segment that still waits in the tunnel queue.
        pub one_copy: bool = false, "true is ours, DEC-U22: copies ahead of the repair repair nothing";
        /// What happens when the tunnel queue is full.
        pub when_full: WhenFull = WhenFull::Block, "DEC-U6";
    }
}

/// Everything a file can set of a reliable decoupling socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReliableSettings {
    /// The data TCP.
    pub data: DataSettings,
    /// The circuit.
    pub circuit: decoupling::CircuitSettings,
}

impl Parameters for ReliableSettings {
    fn fields(&self) -> Vec<Field> {
        [self.data.fields(), self.circuit.fields()].concat()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        if self.data.fields().iter().any(|field| field.name == key) {
            return self.data.set(key, value);
        }
        let set = self.circuit.set(key, value);
        set.map_err(|error| with_nearest(error, &self.fields()))
    }
}

impl ReliableSettings {
    /// What a data TCP is made of: `tcp` without congestion control, and F1 to F3.
    pub fn data_config(&self, tcp: &Config) -> Config {
        let DataSettings { data_sack, repeat, holes, timer, .. } = self.data;
        let (rule, tick, least) = match timer {
            Timer::Fine => (RtoRule::Rfc6298, Some(FINE_TICK), FINE_TICK),
            Timer::Constant => (RtoRule::Constant, None, FINE_TICK),
            Timer::Coarse => (RtoRule::Rfc6298, Some(COARSE_TICK), COARSE_TICK),
        };
        Config {
            controller: congestion::find("unlimited", &[]).expect("it is in the table").into(),
            max_cwnd: None,
            recovery: RecoveryKind::OneSegment,
            repair_holes: holes,
            repair_again: repeat != Repeat::Never,
            sack: data_sack,
            rto_rule: rule,
            rto_tick: tick,
            min_rto: least,
            rto_backoff: timer == Timer::Coarse,
            // It also bounds the time after which the connection is given up, and a control TCP may be silent for as long:
            // a segment waits in the tunnel queue meanwhile, or is lost behind it.
            max_rto: tcp.max_rto.max(LONGEST_RTO),
            // A SYN is as patient as with backoff, where each retry waits twice as long.
            syn_retries: if timer == Timer::Coarse { tcp.syn_retries } else { 1 << tcp.syn_retries.min(10) },
            slow_start_after_idle: false,
            ..tcp.clone()
        }
    }
}

/// DEC-35.
const FINE_TICK: Duration = Duration::from_millis(50);
/// DEC-37.
const COARSE_TICK: Duration = Duration::from_millis(500);

/// The control TCPs': RFC 6298 2.5 asks for a minute at least; Linux's.
const LONGEST_RTO: Duration = Duration::from_secs(120);

/// An unknown name may be nearest to one of another part.
pub(in crate::papers::decoupling) fn with_nearest(error: ParameterError, fields: &[Field]) -> ParameterError {
    match error {
        ParameterError::Unknown { key, .. } => {
            let names: Vec<&'static str> = fields.iter().map(|field| field.name).collect();
            ParameterError::Unknown { nearest: nearest(&key, &names), key }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::decoupling::CircuitSettings;

    #[test]
    fn a_data_tcp_waits_longer_than_a_control_tcp_may_be_silent() {
        let silence = CircuitSettings::default().config(1500, true, 1).max_rto;
        let hurried = Config { max_rto: Duration::from_secs(4), ..Config::default() };
        for timer in [Timer::Fine, Timer::Constant, Timer::Coarse] {
            let settings = ReliableSettings {
                data: DataSettings { timer, ..DataSettings::default() },
                ..ReliableSettings::default()
            };
            let config = settings.data_config(&hurried);
            // It gives up after several of its longest timeouts (`max_retries`).
            assert!(config.max_rto >= silence && config.max_retries > 1, "{timer:?}: {}", config.max_rto);
        }
    }
}
