//! Parameters of Fast-TCP.

use super::thresholds::Thresholds;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{ByteSize, Duration, Rate, choices, parameters};
use airtcp_link::Queue;

choices! {
    /// Which rules the router follows.
    pub enum Mode {
        /// Delays only acknowledgments that can wait without harm, by what they acknowledge, while the link is the bottleneck.
        Modern = "modern",
        /// The paper's own rule: every pure acknowledgment alike.
        Paper = "paper",
    }
}

choices! {
    /// Which queue is watched.
    pub enum Watch {
        /// An own queue before the link, emptied at the link's rate.
        Own = "own",
        /// The link's own queue; only the simulator can see it, a live gateway cannot.
        Link = "link",
    }
}

parameters! {
    /// Parameters of Fast-TCP.
    pub struct FastTcpSettings {
        /// "modern" delays only what can wait without harm, by what it acknowledges; "paper" follows the paper, for receivers that acknowledge every segment.
        pub mode: Mode = Mode::Modern, "SPEC 7.3, FTC-X3";
        /// Forward queue to watch: "own" queues packets here and empties the queue at `rate`; "link" is the link's own queue, which only the simulator shows.
        pub watch: Watch = Watch::Own, "FTC-2; the paper's 5.1";
        /// Rate of the link in IP bits; the link's own rate if auto. Without any, and without `spacing`, nothing is delayed.
        pub rate: Option<Rate> = None, "DESIGN; FTC-U5";
        /// Own queue, a limit or a discipline, as the queue of a link; the link's own queue limit if auto, else rate x 100 ms.
        pub queue: Option<Queue> = None, "ours: 1 BDP";
        /// Lengths of the forward queue from which acknowledgments are delayed, ascending, separated by commas. When k of them are reached, acknowledgments leave (k + 1) x d apart. A fifth of the queue's limit if auto.
        pub threshold: Option<Thresholds> = None, "FTC-3, FTC-8; the paper's 400,000 of 2,000,000 bits";
        /// d, the least time between two data packets on the link; that of the longest data packet seen, at the link's rate, if auto.
        pub spacing: Option<Duration> = None, "FTC-4, FTC-U5";
        /// Bytes of acknowledgments that may wait. When full, paper mode drops the new one; in modern mode those of its flow leave at once.
        pub ack_buffer: ByteSize = ByteSize(250_000), "FTC-U10: 2 Mbit";
        /// Modern mode: longest time that an acknowledgment waits; a flow whose acknowledgments waited that long is not delayed any more. The time that the full queue takes on the link, at most 100ms, if auto.
        pub max_delay: Option<Duration> = None, "ours: beyond it the wait costs more than the queue it spares; 100ms is half of what Linux adds to a round trip before it times out";
        /// Modern mode: an acknowledgment of more segments than this is sent as a series, where that is safe; never if 0.
        pub split: u16 = 4, "FTC-9";
        /// Modern mode: time that the forward queue has to be below the threshold before delaying stops.
        pub linger: Duration = Duration::from_secs(1), "ours: longer than a round trip";
        /// Paper mode: an ACK buffer for each flow instead of one for all. Modern mode always has one for each.
        pub per_flow: bool = false, "FTC-U8";
        /// Silence after which a flow is forgotten.
        pub idle: Duration = Duration::from_secs(60), "GSN-U15";
    }
}

impl FastTcpSettings {
    /// What a single field cannot refuse.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let bad = |key, reason: &str| Err(ParameterError::bad(key, reason));
        if self.rate.is_some_and(|rate| rate.bps() == 0) {
            return bad("rate", "at a rate of zero nothing would ever leave; write the link's rate, or auto");
        }
        if self.spacing.is_some_and(Duration::is_zero) {
            return bad(
                "spacing",
                "acknowledgments without distance are not delayed; write a packet's time on the link",
            );
        }
        if self.ack_buffer.0 == 0 {
            return bad("ack_buffer", "0 would let none wait; write a size, 250kB if in doubt");
        }
        if self.max_delay.is_some_and(Duration::is_zero) {
            return bad("max_delay", "0 would let none wait; write a time, or auto");
        }
        Ok(())
    }
}
