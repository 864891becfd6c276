//! One linear equation over GF(256): the sum of unknown symbols, each times its coefficient, is a known symbol.

use crate::position::Position;
use alloc::vec::Vec;
use reed_solomon_erasure::galois_8::{div, mul_slice, mul_slice_xor};

/// An equation. Symbols count as padded with zeros without end, so sums of different lengths can be added.
#[derive(Clone, Debug)]
pub(super) struct Equation {
    /// Position of the first unknown: the pivot.
    first: Position,
    /// Of the positions from `first` on; neither the first nor the last is zero.
    coefficients: Vec<u8>,
    sum: Vec<u8>,
}

impl Equation {
    /// The equation with these coefficients from `first` on; `sum` has at least one byte.
    pub fn new(first: Position, coefficients: Vec<u8>, sum: Vec<u8>) -> Self {
        let mut equation = Equation { first, coefficients, sum };
        equation.trim();
        equation
    }

    /// The first unknown; without meaning if there is none.
    pub fn pivot(&self) -> Position {
        self.first
    }

    /// The last unknown; without meaning if there is none.
    pub fn last(&self) -> Position {
        self.first + (self.coefficients.len() as u64).saturating_sub(1)
    }

    /// True without unknowns.
    pub fn is_empty(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// True for a sum of zeros.
    pub fn is_zero(&self) -> bool {
        self.sum.iter().all(|byte| *byte == 0)
    }

    /// The coefficient of the symbol at a position.
    pub fn at(&self, position: Position) -> u8 {
        let index = position.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.coefficients.get(index)).copied().unwrap_or(0)
    }

    /// Puts in a symbol that is known now. False if the symbol is longer than what it was summed up to.
    #[must_use]
    pub fn put_in(&mut self, position: Position, symbol: &[u8]) -> bool {
        let coefficient = self.at(position);
        if coefficient == 0 {
            return true;
        }
        let Some(sum) = self.sum.get_mut(..symbol.len()) else { return false };
        mul_slice_xor(coefficient, symbol, sum);
        self.coefficients[(position - self.first) as usize] = 0;
        self.trim();
        true
    }

    /// Removes the other's pivot from this equation, which may have no unknown before it that it would lose: this
    /// equation's pivot is not behind the other's.
    pub fn eliminate(&mut self, other: &Equation) {
        let coefficient = self.at(other.first);
        if coefficient == 0 {
            return;
        }
        let factor = div(coefficient, other.coefficients[0]);
        let start = (other.first - self.first) as usize;
        add(factor, &other.coefficients, &mut self.coefficients, start);
        add(factor, &other.sum, &mut self.sum, 0);
        self.trim();
    }

    /// The symbol of the only unknown, with its position; `None` if there are more or none.
    pub fn solution(&self) -> Option<(Position, Vec<u8>)> {
        let [coefficient] = self.coefficients[..] else { return None };
        let mut symbol = alloc::vec![0; self.sum.len()];
        mul_slice(div(1, coefficient), &self.sum, &mut symbol);
        Some((self.first, symbol))
    }

    /// Removes zeros from both ends of the coefficients.
    fn trim(&mut self) {
        let end = self.coefficients.iter().rposition(|coefficient| *coefficient != 0).map_or(0, |last| last + 1);
        self.coefficients.truncate(end);
        let zeros = self.coefficients.iter().take_while(|coefficient| **coefficient == 0).count();
        self.coefficients.drain(..zeros);
        self.first += zeros as u64;
    }

    /// Bytes held.
    pub fn memory(&self) -> u64 {
        (size_of::<Self>() + self.coefficients.capacity() + self.sum.capacity()) as u64
    }

    /// What must hold of every equation that is kept.
    pub fn check(&self) -> Result<(), &'static str> {
        match self.coefficients[..] {
            [] | [_] => Err("an equation is solved and still kept"),
            [0, ..] | [.., 0] => Err("an equation begins or ends with a zero"),
            _ => Ok(()),
        }
    }
}

/// Adds `factor` times `from` to what begins at `start`, which grows as needed.
fn add(factor: u8, from: &[u8], to: &mut Vec<u8>, start: usize) {
    let end = start + from.len();
    if to.len() < end {
        to.reserve_exact(end - to.len());
        to.resize(end, 0);
    }
    mul_slice_xor(factor, from, &mut to[start..end]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use reed_solomon_erasure::galois_8::mul;
    use std::vec;

    #[test]
    fn two_equations_with_two_unknowns_are_solved() {
        let (a, b) = ([7, 8, 9], [1, 2]);
        let sum = |x: u8, y: u8| vec![mul(x, a[0]) ^ mul(y, b[0]), mul(x, a[1]) ^ mul(y, b[1]), mul(x, a[2])];
        let mut one = Equation::new(10, vec![3, 0, 5], sum(3, 5));
        let mut two = Equation::new(10, vec![4, 0, 6], sum(4, 6));
        two.eliminate(&one);
        assert_eq!((two.pivot(), two.last(), two.at(10), two.solution()), (12, 12, 0, Some((12, vec![1, 2, 0]))));
        assert_eq!(one.solution(), None);
        one.eliminate(&two);
        assert_eq!(one.solution(), Some((10, vec![7, 8, 9])));
    }

    #[test]
    fn a_known_symbol_goes_into_the_sum() {
        let mut one = Equation::new(10, vec![3, 5], vec![mul(3, 7) ^ mul(5, 1), mul(3, 8)]);
        assert!(one.put_in(9, &[1; 50]) && one.put_in(12, &[1; 50]), "not in it");
        assert!(!one.put_in(10, &[7, 8, 0]), "longer than the sum");
        assert!(one.put_in(10, &[7, 8]));
        assert_eq!(one.solution(), Some((11, vec![1, 0])));
        assert!(one.put_in(11, &[1]));
        assert!(one.is_empty() && one.is_zero());
    }

    #[test]
    fn an_equation_without_unknowns_says_so() {
        let empty = Equation::new(4, vec![0, 0], vec![1]);
        assert!(empty.is_empty() && !empty.is_zero());
        assert_eq!((empty.at(4), empty.at(0), empty.at(u64::MAX), empty.solution()), (0, 0, 0, None));
    }
}
