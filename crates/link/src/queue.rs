//! The queue before the transmitter.
//!
//! As in a router, the limit holds for what *waits*: the packet in transmission has left the queue. A packet that
//! finds the transmitter idle is accepted whatever the limit.

use crate::table::{self, kinds};
use airtcp_core::parameters::Value;
use airtcp_core::{Backlog, ByteSize, parameters};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// How much may wait: `"75kB"` or `"50packets"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// IP bytes.
    Bytes(u64),
    /// Packets, whatever their length.
    Packets(u64),
}

impl QueueLimit {
    /// Whether a packet of `bytes` may wait behind `waiting`.
    pub fn admits(self, waiting: Backlog, bytes: u32) -> bool {
        match self {
            QueueLimit::Bytes(limit) => waiting.bytes + u64::from(bytes) <= limit,
            QueueLimit::Packets(limit) => (waiting.packets as u64) < limit,
        }
    }

    /// How many packets of at most `mtu` bytes are sure to be admitted behind `waiting`.
    pub fn room(self, waiting: Backlog, mtu: u32) -> usize {
        let room = match self {
            QueueLimit::Bytes(limit) => limit.saturating_sub(waiting.bytes) / u64::from(mtu.max(1)),
            QueueLimit::Packets(limit) => limit.saturating_sub(waiting.packets as u64),
        };
        usize::try_from(room).unwrap_or(usize::MAX)
    }
}

const EXAMPLE: &str = "\"75kB\" or \"50packets\"";

impl FromStr for QueueLimit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(number) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            let number = number.trim_end();
            return number
                .parse()
                .map(QueueLimit::Packets)
                .map_err(|_| format!("'{number}' is no number of packets; write for example {EXAMPLE}"));
        }
        let bytes: ByteSize = text.parse().map_err(|_| format!("'{text}' is no limit; write for example {EXAMPLE}"))?;
        Ok(QueueLimit::Bytes(bytes.0))
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Bytes(bytes) => ByteSize(*bytes).fmt(f),
            QueueLimit::Packets(1) => f.write_str("1packet"),
            QueueLimit::Packets(packets) => write!(f, "{packets}packets"),
        }
    }
}

impl Value for QueueLimit {
    const KIND: &'static str = "size or packets, \"75kB\" or \"50packets\"";
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }
    fn write(&self) -> String {
        self.to_string()
    }
}

parameters! {
    /// A queue that drops what does not fit.
    pub struct DropTail {
        /// How much may wait, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(1000), "Linux, default txqueuelen";
    }
}

impl DropTail {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

parameters! {
    /// A device ring that refuses what does not fit, for senders with a queue of their own.
    pub struct Ring {
        /// How much may wait, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(2), "ours: the next packet is there when the transmitter is free";
    }
}

impl Ring {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

kinds! {
    /// What happens to a packet that finds the transmitter busy.
    pub enum Queue {
        /// First in, first out; what does not fit is dropped.
        DropTail(DropTail) = "droptail";
        /// A small ring that refuses what does not fit, so that the sender keeps it in a queue of its own.
        Ring(Ring) = "ring";
    }
}

impl Queue {
    /// How much may wait.
    pub fn limit(&self) -> QueueLimit {
        match self {
            Queue::DropTail(queue) => queue.limit,
            Queue::Ring(ring) => ring.limit,
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail(DropTail::default())
    }
}

/// A limit alone means drop-tail.
impl Value for Queue {
    const KIND: &'static str = "limit or table, \"75kB\" or { kind = \"droptail\", limit = \"75kB\" }";
    fn read(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return table::read(text);
        }
        text.parse().map(|limit| Queue::DropTail(DropTail { limit }))
    }
    fn write(&self) -> String {
        table::write(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_written() {
        for text in ["75kB", "50packets", "1packet", "0packets"] {
            assert_eq!(text.parse::<QueueLimit>().unwrap().to_string(), text);
        }
        assert_eq!("50 packets".parse(), Ok(QueueLimit::Packets(50)));
        for text in ["", "packets", "50", "50bits", "-1packets"] {
            assert!(text.parse::<QueueLimit>().unwrap_err().contains("for example"), "{text}");
        }
    }

    #[test]
    fn a_limit_admits_up_to_itself_and_not_a_byte_more() {
        let waiting = Backlog { packets: 2, bytes: 3000 };
        assert!(QueueLimit::Bytes(4500).admits(waiting, 1500));
        assert!(!QueueLimit::Bytes(4499).admits(waiting, 1500));
        assert!(QueueLimit::Packets(3).admits(waiting, 1500));
        assert!(!QueueLimit::Packets(2).admits(waiting, 1500));
    }

    #[test]
    fn a_queue_is_written_as_a_table_and_read_from_a_limit_too() {
        let queue = Queue::read("75kB").unwrap();
        assert_eq!(queue.write(), "{ kind = \"droptail\", limit = \"75kB\" }");
        assert_eq!(Queue::read(&queue.write()), Ok(queue));
        assert!(Queue::read("{ kind = \"dropttail\" }").unwrap_err().contains("did you mean 'droptail'?"));
        assert!(Queue::read("{ limt = \"1kB\" }").unwrap_err().contains("did you mean 'limit'?"));
    }
}
