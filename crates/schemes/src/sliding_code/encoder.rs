//! The sending side: the window of the latest source symbols, and their sums.

use super::code::{Code, MOST_COUNT};
use super::coefficients::coefficients;
use super::symbol::with_head;
use crate::position::Position;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use reed_solomon_erasure::galois_8::mul_slice_xor;

/// Bytes of memory of a source symbol besides its own.
const ENTRY: u64 = size_of::<Source>() as u64;

#[derive(Clone, Debug)]
struct Source {
    symbol: Vec<u8>,
    wire_len: u32,
    /// Codes that were promised before it came.
    promised_before: u32,
}

/// The latest source symbols; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    /// Of consecutive positions from `first` on.
    window: VecDeque<Source>,
    first: Position,
    most_packets: usize,
    most_memory: u64,
    memory: u64,
    /// Codes promised in all, modulo 2^32.
    promised: u32,
}

impl Encoder {
    /// A window of at most `most_packets` symbols, 255 if that is more, and of `most_memory` bytes.
    pub fn new(most_packets: usize, most_memory: u64) -> Self {
        let most_packets = most_packets.min(MOST_COUNT);
        Encoder { window: VecDeque::new(), first: 0, most_packets, most_memory, memory: 0, promised: 0 }
    }

    /// Puts the next source symbol into the window. Any position but the next one is a jump: what was in the window
    /// goes. A symbol of more than 65535 bytes cannot be coded and is left out, which makes the next one a jump.
    pub fn add(&mut self, sequence: Position, symbol: Vec<u8>, wire_len: u32) {
        let Some(symbol) = with_head(sequence, &symbol) else { return };
        if self.first.checked_add(self.window.len() as u64) != Some(sequence) {
            self.window.clear();
            self.memory = 0;
            self.first = sequence;
        }
        self.memory += memory_of(&symbol);
        self.window.push_back(Source { symbol, wire_len, promised_before: self.promised });
        while self.window.len() > self.most_packets || self.memory > self.most_memory {
            self.drop_first();
        }
    }

    /// Nothing before this position is to be repaired any more.
    pub fn forget(&mut self, before: Position) {
        while !self.window.is_empty() && self.first < before {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(source) = self.window.pop_front() {
            self.memory -= memory_of(&source.symbol);
            self.first = self.first.saturating_add(1);
        }
    }

    /// A sum of all symbols in the window; `None` without any. Codes of the same window need different seeds.
    pub fn code(&mut self, seed: u16) -> Option<Code> {
        let longest = self.window.iter().map(|source| source.symbol.len()).max()?;
        let mut sum = alloc::vec![0; longest];
        for (source, coefficient) in self.window.iter().zip(coefficients(self.first, seed)) {
            mul_slice_xor(coefficient, &source.symbol, &mut sum[..source.symbol.len()]);
        }
        Some(Code {
            first: self.first,
            count: self.window.len() as u8,
            seed,
            symbol: sum,
            longest: self.window.iter().map(|source| source.wire_len).max()?,
        })
    }

    /// Symbols in the window.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// True if no symbol is in the window.
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Notes that so many codes of the window will leave.
    pub fn promise(&mut self, codes: u32) {
        self.promised = self.promised.wrapping_add(codes);
    }

    /// Codes promised since the first symbol of the window came.
    pub fn promised(&self) -> u32 {
        self.window.front().map_or(0, |first| self.promised.wrapping_sub(first.promised_before))
    }

    /// Bytes held.
    pub fn memory(&self) -> u64 {
        self.memory
    }
}

fn memory_of(symbol: &[u8]) -> u64 {
    symbol.len() as u64 + ENTRY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(encoder: &mut Encoder) -> Option<(u64, u8)> {
        encoder.code(0).map(|code| (code.first, code.count))
    }

    #[test]
    fn the_window_holds_the_latest_packets() {
        let mut encoder = Encoder::new(4, 1 << 20);
        assert_eq!(span(&mut encoder), None);
        for sequence in 10..20 {
            encoder.add(sequence, std::vec![1; 30], 50);
        }
        assert_eq!(span(&mut encoder), Some((16, 4)));
        encoder.forget(18);
        assert_eq!(span(&mut encoder), Some((18, 2)));
        encoder.forget(1000);
        assert_eq!((span(&mut encoder), encoder.memory()), (None, 0));
        encoder.add(20, std::vec![], 20);
        assert_eq!(span(&mut encoder), Some((20, 1)));
    }

    #[test]
    fn a_jump_and_a_symbol_that_is_too_long_begin_a_new_window() {
        let mut encoder = Encoder::new(1000, 1 << 20);
        for sequence in [5, 6, 9, 10] {
            encoder.add(sequence, std::vec![1; 30], 50);
        }
        assert_eq!(span(&mut encoder), Some((9, 2)));
        encoder.add(11, std::vec![1; 65_536], 70_000);
        assert_eq!(span(&mut encoder), Some((9, 2)));
        encoder.add(12, std::vec![1], 50);
        assert_eq!(span(&mut encoder), Some((12, 1)));
        encoder.add(u64::MAX, std::vec![1], 50);
        encoder.add(0, std::vec![1], 50);
        assert_eq!(span(&mut encoder), Some((0, 1)));
    }

    #[test]
    fn the_window_is_bounded_by_count_and_memory() {
        let mut encoder = Encoder::new(1000, 1 << 20);
        let mut small = Encoder::new(1000, 5000);
        for sequence in 0..600 {
            encoder.add(sequence, std::vec![1; 30], 50);
            small.add(sequence, std::vec![1; 1 + sequence as usize * 10], 50);
            assert!(small.memory() <= 5000);
        }
        assert_eq!(span(&mut encoder), Some((345, 255)));
        assert_eq!((span(&mut small), small.memory()), (None, 0), "a symbol longer than the memory");
    }

    #[test]
    fn a_code_is_as_long_as_the_longest_symbol_and_tells_the_longest_packet() {
        let mut encoder = Encoder::new(8, 1 << 20);
        for (sequence, len) in [(0, 10), (1, 700), (2, 0)] {
            encoder.add(sequence, std::vec![3; len], len as u32 + 40);
        }
        let code = encoder.code(7).unwrap();
        assert_eq!((code.symbol.len(), code.longest, code.seed), (706, 740, 7));
    }
}
