//! Parameters of the split connection.

use airtcp_core::{ByteSize, Duration, choices, parameters};
use airtcp_tcp::RecoveryKind;
use airtcp_tcp::congestion::{ControllerEntry, RENO};

choices! {
    /// When the client is told that its connection is open.
    pub enum Accept {
        /// After the server has accepted: a refused connection is refused.
        After = "after",
        /// At once, as I-TCP does: this saves a round trip over the link, and a refusal arrives as a reset.
        AtOnce = "at-once",
    }
}

parameters! {
    /// Parameters of the split connection.
    pub struct ProxySettings {
        /// When the end that opens a connection hears that it is open: after the other end accepted, or at once.
        pub accept: Accept = Accept::After, "ours; I-TCP accepts at once";
        /// Congestion control of the half that crosses the link.
        pub controller: ControllerEntry = RENO, "ours: on a short half Reno grows faster than CUBIC";
        /// Loss detection and recovery of the half that crosses the link.
        pub recovery: RecoveryKind = RecoveryKind::Rack, "Linux, RFC 8985";
        /// Lowest retransmission timeout of the half that crosses the link.
        pub min_rto: Duration = Duration::from_millis(20), "ours: the half is short, RFC 6298 2.4 is about the Internet";
        /// Bytes kept on each side in each direction: four times this for a flow. The link's rate x 200 ms, 64 KiB to 1 MiB, if auto.
        pub buffer: Option<ByteSize> = None, "ours: bandwidth x delay of the wired part";
        /// Largest IP packet of both halves; the link's own MTU if that is less, and never more than the MSS of the other host allows.
        pub mtu: u32 = 1500, "RFC 894 (Ethernet)";
        /// Silence after which a flow is reset and forgotten.
        pub idle: Duration = Duration::from_secs(7440), "RFC 5382 REQ-5: 2 h 4 min";
    }
}
