//! How much may wait, in bytes or in packets.

use airtcp_core::{Backlog, ByteSize, Value, ValueError, ValueType};
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

    /// Whether `waiting` is within the limit.
    pub fn holds(self, waiting: Backlog) -> bool {
        match self {
            QueueLimit::Bytes(limit) => waiting.bytes <= limit,
            QueueLimit::Packets(limit) => waiting.packets as u64 <= limit,
        }
    }

    /// The limit in bytes, if no packet is longer than `mtu`.
    pub fn bytes(self, mtu: u32) -> u64 {
        match self {
            QueueLimit::Bytes(limit) => limit,
            QueueLimit::Packets(limit) => limit.saturating_mul(u64::from(mtu)),
        }
    }

    /// The limit in packets, if it counts packets.
    pub fn packets(self) -> Option<u64> {
        match self {
            QueueLimit::Bytes(_) => None,
            QueueLimit::Packets(limit) => Some(limit),
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

impl ValueType for QueueLimit {
    const KIND: &'static str = "size or packets, \"75kB\" or \"50packets\"";
    fn read(value: &Value) -> Result<Self, ValueError> {
        Ok(value.scalar()?.parse::<QueueLimit>()?)
    }
    fn write(&self) -> String {
        self.to_string()
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
    fn a_limit_of_packets_is_one_of_bytes_where_their_length_is_known() {
        let of = |limit: QueueLimit| (limit.bytes(1500), limit.packets());
        assert_eq!([of(QueueLimit::Packets(3)), of(QueueLimit::Bytes(75))], [(4500, Some(3)), (75, None)]);
    }

    #[test]
    fn a_limit_holds_what_it_admitted() {
        let waiting = Backlog { packets: 3, bytes: 4500 };
        assert!(QueueLimit::Bytes(4500).holds(waiting) && !QueueLimit::Bytes(4499).holds(waiting));
        assert!(QueueLimit::Packets(3).holds(waiting) && !QueueLimit::Packets(2).holds(waiting));
    }
}
