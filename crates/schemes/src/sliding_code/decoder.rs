//! The receiving side: known symbols, and equations between those that are lost.

use super::code::{Code, MOST_COUNT};
use super::coefficients::coefficients;
use super::equation::Equation;
use super::symbol::{HEAD, LONGEST, bytes_of, with_head};
use crate::position::Position;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use reed_solomon_erasure::galois_8::mul_slice_xor;

/// Positions before the newest source symbol whose symbols are kept for codes to come, and after it which a code may name.
/// Two windows: a code may be late by one.
const SPAN: u64 = 2048;
/// The last position that is taken, so that sums of positions do not overflow.
const LAST: Position = Position::MAX - 4 * SPAN;
/// Most equations.
const MOST_EQUATIONS: usize = MOST_COUNT;
/// Bytes of memory of a known symbol besides its own: its place in a tree whose nodes are half full.
const ENTRY: u64 = 2 * size_of::<(Position, Vec<u8>)>() as u64;

/// What is known and what can be computed; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    /// Symbols with their heads, from `base` on.
    known: BTreeMap<Position, Vec<u8>>,
    known_memory: u64,
    /// Sorted by pivot. No unknown is known, no pivot is in another equation, each has at least two unknowns.
    equations: Vec<Equation>,
    /// Nothing before it is kept: a code that begins before it cannot be used.
    base: Position,
    /// Nothing before it is to be given out.
    needed: Position,
    /// The latest begin of a code: later codes need nothing before it.
    named: Position,
    /// The newest known symbol.
    newest: Option<Position>,
    most_memory: u64,
}

impl Decoder {
    /// One that keeps within `most_memory` bytes.
    pub fn new(most_memory: u64) -> Self {
        Decoder {
            known: BTreeMap::new(),
            known_memory: 0,
            equations: Vec::new(),
            base: 0,
            needed: 0,
            named: 0,
            newest: None,
            most_memory,
        }
    }

    /// A source symbol has come. Returns the symbols that can be computed now, by position, without this one.
    pub fn add_source(&mut self, sequence: Position, symbol: Vec<u8>) -> Vec<(Position, Vec<u8>)> {
        if sequence > LAST || sequence < self.base || self.known.contains_key(&sequence) {
            return Vec::new();
        }
        let Some(symbol) = with_head(sequence, &symbol) else { return Vec::new() };
        let at = self.equations.binary_search_by_key(&sequence, Equation::pivot);
        // Without its pivot an equation gets another one, which the others then lose.
        let mut freed = at.ok().map(|at| self.equations.remove(at));
        let mut fits = true;
        for equation in self.equations.iter_mut().chain(&mut freed) {
            fits &= equation.put_in(sequence, &symbol);
        }
        match freed {
            _ if !fits => self.equations.clear(),
            Some(equation) => self.keep_equation(equation),
            None => {}
        }
        self.keep_symbol(sequence, symbol);
        self.solve()
    }

    /// A code has come. Returns the symbols that can be computed now, by position.
    pub fn add_code(&mut self, code: Code) -> Vec<(Position, Vec<u8>)> {
        let Some(mut equation) = self.equation_of(code) else { return Vec::new() };
        let mut mixed = false;
        for other in &self.equations {
            mixed |= equation.at(other.pivot()) != 0;
            equation.eliminate(other);
        }
        if equation.is_empty() {
            if mixed && !equation.is_zero() {
                // They contradict each other: one is of a damaged code.
                self.equations.clear();
            }
            return Vec::new();
        }
        let is_wrong = |(position, symbol): (_, Vec<u8>)| bytes_of(position, &symbol).is_none();
        if !mixed && equation.solution().is_some_and(is_wrong) {
            // Alone it has spoilt nothing.
            return Vec::new();
        }
        self.keep_equation(equation);
        self.solve()
    }

    /// What a code says about symbols that are unknown; `None` if that is nothing, or if it cannot be used.
    fn equation_of(&mut self, code: Code) -> Option<Equation> {
        let Code { first, count, seed, symbol: mut sum, .. } = code;
        let last = first.checked_add(u64::from(count).checked_sub(1)?)?;
        let is_near = self.newest.is_none_or(|newest| last < newest + SPAN);
        if first < self.base || last > LAST || !is_near || !(HEAD..=LONGEST).contains(&sum.len()) {
            return None;
        }
        if self.newest.is_some() {
            self.named = self.named.max(first);
            self.release();
        } else {
            self.keep_near(first, last);
        }
        if self.known.range(first..=last).count() == usize::from(count) {
            return None;
        }
        let mut unknown: Vec<u8> = coefficients(first, seed).take(usize::from(count)).collect();
        for (position, symbol) in self.known.range(first..=last) {
            let coefficient = core::mem::take(&mut unknown[(position - first) as usize]);
            mul_slice_xor(coefficient, symbol, sum.get_mut(..symbol.len())?);
        }
        Some(Equation::new(first, unknown, sum))
    }

    /// As long as there are only codes, they must lie near each other; those that do not are of another time.
    fn keep_near(&mut self, first: Position, last: Position) {
        let is_near = |equation: &Equation| equation.last().max(last) - equation.pivot().min(first) < SPAN;
        if !self.equations.iter().all(is_near) {
            self.equations.clear();
        }
    }

    /// Keeps an equation with at least one unknown and without pivots of others; they lose its pivot.
    fn keep_equation(&mut self, equation: Equation) {
        if equation.is_empty() {
            return;
        }
        for other in &mut self.equations {
            other.eliminate(&equation);
        }
        let at = self.equations.partition_point(|other| other.pivot() < equation.pivot());
        self.equations.insert(at, equation);
    }

    /// Takes out the equations with one unknown, whose symbols then are known.
    fn solve(&mut self) -> Vec<(Position, Vec<u8>)> {
        let mut solved = Vec::new();
        let mut is_spoilt = false;
        self.equations.retain(|equation| {
            let Some((position, symbol)) = equation.solution() else { return true };
            match bytes_of(position, &symbol) {
                Some(bytes) => solved.push((position, bytes.to_vec())),
                None => is_spoilt = true,
            }
            false
        });
        if is_spoilt {
            self.equations.clear();
        }
        for (position, bytes) in &solved {
            if let Some(symbol) = with_head(*position, bytes) {
                self.keep_symbol(*position, symbol);
            }
        }
        self.keep_bounds();
        solved.retain(|(position, _)| *position >= self.needed);
        solved
    }

    /// Keeps a known symbol that is in no equation any more.
    fn keep_symbol(&mut self, position: Position, symbol: Vec<u8>) {
        self.known_memory += memory_of(&symbol);
        self.known.insert(position, symbol);
        let newest = self.newest.map_or(position, |newest| newest.max(position));
        if self.newest.replace(newest).is_none() {
            self.equations.retain(|equation| equation.last() < newest + SPAN);
        }
        self.raise_base((newest + 1).saturating_sub(SPAN));
    }

    /// Nothing before this position is needed any more, and nothing before it is given out. The sender learns this later:
    /// what is known there, and the equations with unknowns there, stay until a code begins after them, since without
    /// them the codes that are on their way could not be used.
    pub fn forget(&mut self, before: Position) {
        self.needed = self.needed.max(before);
        self.release();
    }

    /// Drops the symbols that neither side needs.
    fn release(&mut self) {
        self.raise_base(self.needed.min(self.named));
    }

    /// Drops what is before this position. An equation that begins after it has no unknown before it.
    fn raise_base(&mut self, base: Position) {
        if base <= self.base {
            return;
        }
        self.base = base;
        while let Some(entry) = self.known.first_entry().filter(|entry| *entry.key() < base) {
            self.known_memory -= memory_of(&entry.remove());
        }
        self.equations.retain(|equation| equation.pivot() >= base);
    }

    /// Drops the oldest beyond the bounds.
    fn keep_bounds(&mut self) {
        let excess = self.equations.len().saturating_sub(MOST_EQUATIONS);
        self.equations.drain(..excess);
        while self.memory() > self.most_memory {
            let known = self.known.first_key_value().map(|(position, _)| *position);
            let unknown = self.equations.first().map(Equation::pivot);
            let Some(oldest) = known.into_iter().chain(unknown).min() else { return };
            self.raise_base(oldest + 1);
        }
    }

    /// Forgets everything: a new stream begins.
    pub fn clear(&mut self) {
        *self = Decoder::new(self.most_memory);
    }

    /// Symbols that could be computed if all others were known: each equation is worth one.
    pub fn rank(&self) -> usize {
        self.equations.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> u64 {
        self.known_memory + self.equations.iter().map(Equation::memory).sum::<u64>()
    }

    /// What must hold between two calls.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.known.values().map(memory_of).sum::<u64>() != self.known_memory {
            return Err("the memory of known symbols is counted wrong");
        }
        if self.memory() > self.most_memory || self.equations.len() > MOST_EQUATIONS {
            return Err("the decoder is beyond its bounds");
        }
        if self.known.first_key_value().is_some_and(|(first, _)| *first < self.base)
            || self.known.last_key_value().is_some_and(|(last, _)| Some(*last) > self.newest)
            || self.newest.is_some_and(|newest| newest >= self.base + SPAN)
        {
            return Err("a known symbol is out of range");
        }
        if !self.equations.is_sorted_by(|one, next| one.pivot() < next.pivot()) {
            return Err("equations are not sorted by pivot");
        }
        self.equations.iter().try_for_each(|equation| self.check_equation(equation))
    }

    fn check_equation(&self, equation: &Equation) -> Result<(), &'static str> {
        equation.check()?;
        let (first, last) = (equation.pivot(), equation.last());
        if first < self.base || self.newest.is_some_and(|newest| last >= newest + SPAN) {
            return Err("an unknown is out of range");
        }
        if last - first >= 2 * SPAN {
            return Err("an equation is too long");
        }
        if self.known.range(first..=last).any(|(position, _)| equation.at(*position) != 0) {
            return Err("a known symbol is unknown in an equation");
        }
        let pivots = self.equations.iter().map(Equation::pivot);
        if pivots.filter(|pivot| *pivot != first).any(|pivot| equation.at(pivot) != 0) {
            return Err("an equation has the pivot of another one");
        }
        Ok(())
    }
}

fn memory_of(symbol: &Vec<u8>) -> u64 {
    symbol.capacity() as u64 + ENTRY
}
