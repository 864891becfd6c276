//! What a connection, or a stream of datagrams, is called between two forwarders.

/// One of them. Both ends number those that they open; so the same number means two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineKey {
    /// This end opened it.
    pub is_ours: bool,
    /// Below 2^23.
    pub number: u32,
}

const OPENED_BY_SENDER: u32 = 1 << 23;

impl LineKey {
    /// Most streams that one end opens. They have the last numbers.
    pub const STREAMS: u32 = 256;
    /// Numbers of connections.
    pub const NUMBERS: u32 = OPENED_BY_SENDER - LineKey::STREAMS;

    /// The stream with this place in the file of the end that opens it.
    pub fn stream(place: usize) -> LineKey {
        LineKey { is_ours: true, number: LineKey::NUMBERS + place as u32 % LineKey::STREAMS }
    }

    /// The place in the file of the end that opened it; none if it is a connection.
    pub fn stream_place(self) -> Option<usize> {
        self.number.checked_sub(LineKey::NUMBERS).map(|place| place as usize)
    }

    /// As its sender writes it.
    pub fn to_wire(self) -> [u8; 3] {
        let flag = if self.is_ours { OPENED_BY_SENDER } else { 0 };
        let whole = (self.number % OPENED_BY_SENDER) | flag;
        let [_, high, middle, low] = whole.to_be_bytes();
        [high, middle, low]
    }

    /// As its receiver calls it.
    pub fn from_wire([high, middle, low]: [u8; 3]) -> LineKey {
        let whole = u32::from_be_bytes([0, high, middle, low]);
        LineKey { is_ours: whole & OPENED_BY_SENDER == 0, number: whole % OPENED_BY_SENDER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_calls_its_own_is_the_peers_at_the_other() {
        for number in [0, 1, LineKey::NUMBERS - 1, LineKey::stream(255).number] {
            for is_ours in [true, false] {
                let there = LineKey::from_wire(LineKey { is_ours, number }.to_wire());
                assert_eq!(there, LineKey { is_ours: !is_ours, number });
            }
        }
    }

    #[test]
    fn a_stream_is_no_connection() {
        assert_eq!((LineKey::stream(7).stream_place(), LineKey::stream(255).stream_place()), (Some(7), Some(255)));
        assert_eq!(LineKey { is_ours: true, number: LineKey::NUMBERS - 1 }.stream_place(), None);
    }
}
