//! What a connection is called between two forwarders.

/// One connection. Both ends number those that they open; so the same number means two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineKey {
    /// This end opened it.
    pub is_ours: bool,
    /// Below 2^23.
    pub number: u32,
}

const OPENED_BY_SENDER: u32 = 1 << 23;

impl LineKey {
    /// Numbers that there are.
    pub const NUMBERS: u32 = OPENED_BY_SENDER;

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
        for number in [0, 1, LineKey::NUMBERS - 1] {
            for is_ours in [true, false] {
                let there = LineKey::from_wire(LineKey { is_ours, number }.to_wire());
                assert_eq!(there, LineKey { is_ours: !is_ours, number });
            }
        }
    }
}
