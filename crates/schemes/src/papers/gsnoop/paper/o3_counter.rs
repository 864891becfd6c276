//! The O3_counter of one hole at B (GSN-10): out-of-order arrivals before the repair, which is how many
//! duplicate ACKs the receiver sends for it.
//!
//! The paper "initializes" it when the NACK is sent and gives no value, but its example (4 is lost; 5, 6,
//! 7 lead to the NACK; 8, 9, 10 arrive; then 4: O3_counter = 6) needs 3 at that time: the arrivals that
//! led to the NACK count (GSN-U9). Starting at 0 lets three of the six duplicate ACKs through, which is
//! the fast retransmit that it should prevent (GSN-X5).
//!
//! Of several holes only the lowest counts an arrival, since the receiver's duplicate ACKs name the lowest
//! missing byte (GSN-U10). So a counter holds the arrivals since its hole became the lowest: 3 at the
//! NACK if it always was, 0 to 3 if a lower one was repaired meanwhile.

/// Out-of-order arrivals while a hole is the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct O3Counter(u32);

impl O3Counter {
    /// An out-of-order arrival that the receiver answers with a duplicate ACK for this hole.
    pub fn on_arrival(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    /// The hole is another one now, or nothing shall be suppressed for it (GSN-12).
    pub fn reset(&mut self) {
        self.0 = 0;
    }

    /// Duplicate ACKs to suppress.
    pub fn get(self) -> u32 {
        self.0
    }
}
