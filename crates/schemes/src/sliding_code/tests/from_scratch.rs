//! The decoder against one that solves everything from the beginning after each step.

use super::super::coefficients::coefficients;
use super::*;
use reed_solomon_erasure::galois_8::{div, mul};
use std::collections::BTreeSet;

/// Which unknowns the codes determine, by the textbook: a dense matrix in reduced row echelon form.
fn determined(codes: &[Code], known: &BTreeSet<u64>) -> BTreeSet<u64> {
    let positions = codes.iter().flat_map(|code| code.first..code.first + u64::from(code.count));
    let unknown: Vec<u64> = positions.filter(|at| !known.contains(at)).collect::<BTreeSet<u64>>().into_iter().collect();
    let row = |code: &Code| {
        let of: BTreeMap<u64, u8> =
            (code.first..).zip(coefficients(code.first, code.seed).take(code.count.into())).collect();
        unknown.iter().map(|at| of.get(at).copied().unwrap_or(0)).collect::<Vec<u8>>()
    };
    let mut rows: Vec<Vec<u8>> = codes.iter().map(row).collect();
    let mut rank = 0;
    for column in 0..unknown.len() {
        let Some(found) = (rank..rows.len()).find(|at| rows[*at][column] != 0) else { continue };
        rows.swap(rank, found);
        let pivot = rows[rank].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != rank) {
            let factor = div(row[column], pivot[column]);
            row.iter_mut().zip(&pivot).for_each(|(value, other)| *value ^= mul(factor, *other));
        }
        rank += 1;
    }
    let only = |row: &Vec<u8>| {
        let mut set = (0..unknown.len()).filter(|column| row[*column] != 0);
        set.next().filter(|_| set.next().is_none()).map(|column| unknown[column])
    };
    rows.iter().filter_map(only).collect()
}

/// A short stream with losses, packets out of order, and windows of changing lengths; how many were recovered.
fn compare(run: u64) -> usize {
    let mut rng = Rng::derive(run, "compare");
    let first = rng.next_u64() >> (4 + rng.below(60));
    let loss = rng.below(30);
    let mut decoder = Decoder::new(ROOM);
    let (mut known, mut codes, mut late, mut recovered) = (BTreeSet::new(), Vec::new(), Vec::new(), 0);
    for sequence in first..first + 150 {
        match rng.below(100) {
            draw if draw < loss => {}
            draw if draw < loss + 10 => late.push(sequence),
            _ => late.insert(0, sequence),
        }
        let mut events: Vec<Option<u64>> = Vec::new();
        if late.len() > rng.below(8) as usize {
            events.extend(late.drain(..1).map(Some));
        }
        if rng.below(100) < loss * 3 / 2 {
            events.push(None);
        }
        for event in events {
            let solved = match event {
                Some(sequence) => {
                    known.insert(sequence);
                    decoder.add_source(sequence, symbol(run, sequence))
                }
                None => {
                    let begin = sequence - rng.below(60).min(sequence - first);
                    let code = encoder(run, begin..sequence + 1).code(rng.next_u64() as u16).unwrap();
                    codes.push(code.clone());
                    decoder.add_code(code)
                }
            };
            decoder.check().unwrap();
            let solved: BTreeSet<u64> = solved.into_iter().map(|(sequence, _)| sequence).collect();
            assert_eq!(solved, determined(&codes, &known), "run {run}, at {sequence}");
            recovered += solved.len();
            known.extend(solved);
        }
    }
    recovered
}

#[test]
fn the_decoder_solves_exactly_what_one_from_scratch_would_and_as_soon() {
    let recovered: usize = (0..100).map(compare).sum();
    std::println!("{recovered} recovered");
    assert!(recovered > 1500, "{recovered}");
}
