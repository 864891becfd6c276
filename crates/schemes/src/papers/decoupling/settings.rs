//! Parameters of a circuit, the same at both of its ends.

use airtcp_core::parameters::ParameterError;
use airtcp_core::{ByteSize, CONTROL_DSCP, Duration, Rate, parameters};
use airtcp_tcp::congestion::{ControllerChoice, find};
use airtcp_tcp::{ByteCounting, Config, RecoveryKind, RtoRule};
use alloc::format;

parameters! {
    /// Parameters of TCP Decoupling.
    pub struct CircuitSettings {
        /// Virtual segment size: bytes of data for each header packet, 64 to 65495. May be more or less than the MTU.
        pub vmss: u32 = 1500, "DEC-6; DEC-U16";
        /// Control TCPs that share the circuit, 1 to 32: each takes a TCP's share of the bottleneck.
        pub controls: u8 = 1, "DEC-14";
        /// Congestion control of the control TCPs.
        pub controller: ControllerChoice = reno(), "DEC-3: Reno";
        /// Loss detection and recovery of the control TCPs.
        pub recovery: RecoveryKind = RecoveryKind::Reno, "DEC-3: Reno";
        /// What makes the control TCPs' windows grow.
        pub byte_counting: ByteCounting = ByteCounting::Off, "RFC 2581; BSD; DEC-X9";
        /// Shrink the window of a control TCP towards one virtual segment when it was not used for an RTO.
        pub slow_start_after_idle: bool = true, "RFC 2581 4.1; BSD";
        /// Tick of the control TCPs' timer: an RTO is rounded up to whole ticks, at least two; auto is no tick.
        pub rto_tick: Option<Duration> = Some(Duration::from_millis(500)), "DEC-37; DEC-U20: BSD";
        /// Lowest RTO of the control TCPs, besides two ticks.
        pub min_rto: Duration = Duration::from_millis(200), "Linux TCP_RTO_MIN";
        /// Header packets after which the far end acknowledges at once: b of the model.
        pub delayed_ack: u32 = 2, "DEC-18; DEC-X9";
        /// Longest delay of an acknowledgment by the far end.
        pub delayed_ack_timeout: Duration = Duration::from_millis(200), "DEC-U16: BSD";
        /// Control TCPs carry timestamps: header packets take 52 bytes and not 40 (IPv4).
        pub timestamps: bool = true, "DEC-5, DEC-X1";
        /// Guaranteed bandwidth in IP bits/s, which is sent without header packets and regardless of the control TCPs; auto is none.
        pub gmb: Option<Rate> = None, "DEC-15, DEC-16";
        /// Most packets that may wait in the tunnel queue.
        pub tunnel: u32 = 50, "DEC-U5: BSD's interface queue";
        /// DSCP of header packets, 0 to 63: the CONTROL bit.
        pub dscp: u8 = CONTROL_DSCP, "DEC-12, DEC-U10: local use, RFC 2474 6";
        /// Pace the data at 1.2 windows in a round trip (2 in slow start) instead of sending it in bursts; a controller that paces always does.
        pub shaper: bool = false, "DEC-44; Linux tcp_update_pacing_rate()";
        /// TCP port of the far end; the control TCPs' own ports follow it. Several circuits between the same two addresses need different ports.
        pub port: u16 = 47_920, "ours";
    }
}

fn reno() -> ControllerChoice {
    find("reno", &[]).map_or_else(|_| ControllerChoice::default(), Into::into)
}

/// Most control TCPs of a circuit.
pub(super) const MAX_CONTROLS: u8 = 32;
/// The control receiver's window, which costs no memory: what is virtual is not kept (DEC-U2).
const RECEIVE_WINDOW: ByteSize = ByteSize(64 << 20);

/// Lowest port of the far end of a flow's circuit.
const FIRST_CIRCUIT_PORT: u32 = 1024;
/// How many there are: a circuit's own ports follow the far end's.
const CIRCUIT_PORTS: u32 = 64_000;

impl CircuitSettings {
    /// What single values cannot refuse.
    ///
    /// # Errors
    /// A sentence that says what to write.
    pub fn check(&self) -> Result<(), ParameterError> {
        let refuse = |key, reason| Err(ParameterError::BadValue { key, reason });
        if !(64..=65_495).contains(&self.vmss) {
            let reason = format!("{} bytes do not fit TCP's MSS option; write 64 to 65495", self.vmss);
            return refuse("vmss", reason);
        }
        if !(1..=MAX_CONTROLS).contains(&self.controls) {
            return refuse("controls", format!("{} control TCPs; write 1 to {MAX_CONTROLS}", self.controls));
        }
        if self.dscp > 63 {
            return refuse("dscp", format!("{} is no DSCP; write 0 to 63", self.dscp));
        }
        if self.tunnel == 0 {
            return refuse("tunnel", "a packet waits before it leaves; write 1 or more".into());
        }
        if self.delayed_ack == 0 {
            return refuse("delayed_ack", "write 1 for an acknowledgment of each header packet, or more".into());
        }
        if self.port.checked_add(u16::from(MAX_CONTROLS)).is_none() || self.port == 0 {
            let most = u16::MAX - u16::from(MAX_CONTROLS);
            return refuse("port", format!("the control TCPs' ports follow it; write 1 to {most}"));
        }
        Ok(())
    }

    /// For the flow of this number: circuits between the same two hosts need different ports. The port that the settings
    /// name is left to a trunk.
    pub(super) fn for_flow(&self, flow: u32) -> CircuitSettings {
        let wanted = u32::from(self.port) + 1 + flow % CIRCUIT_PORTS;
        let place = (wanted + CIRCUIT_PORTS - FIRST_CIRCUIT_PORT) % CIRCUIT_PORTS;
        CircuitSettings { port: (FIRST_CIRCUIT_PORT + place) as u16, ..self.clone() }
    }

    /// TCP of one end whose SYN announces `mss`.
    pub(super) fn config(&self, mss: u32, is_ipv4: bool, random_seed: u64) -> Config {
        Config {
            controller: self.controller.clone(),
            recovery: self.recovery,
            byte_counting: self.byte_counting,
            slow_start_after_idle: self.slow_start_after_idle,
            rto_tick: self.rto_tick,
            rto_rule: RtoRule::Rfc6298,
            min_rto: self.min_rto,
            // DEC-8
            initial_window: 1,
            initial_ssthresh: None,
            delayed_ack_segments: self.delayed_ack,
            delayed_ack_timeout: self.delayed_ack_timeout,
            quick_acks: 0,
            timestamps: self.timestamps,
            mtu: mss + if is_ipv4 { 40 } else { 60 },
            receive_buffer: RECEIVE_WINDOW,
            auto_read: true,
            random_seed,
            // A control TCP is part of a circuit, not of a host.
            ..Config::without_habits()
        }
    }

    /// The MSS of the sender's SYN: of it, timestamps take 12 bytes, and the rest is VMSS.
    pub(super) fn mss(&self) -> u32 {
        self.vmss + if self.timestamps { 12 } else { 0 }
    }
}
