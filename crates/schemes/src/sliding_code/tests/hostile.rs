//! Whatever comes in, nothing comes out that was not put in, and the bounds hold.

use super::*;

const MOST: u64 = 20_000;

/// A code of a window near the packet `at`; one of eight reaches beyond it.
fn code(rng: &mut Rng, run: u64, at: u64) -> Code {
    let first = at.saturating_sub(rng.below(60));
    let beyond = rng.below(8) / 7 * rng.below(20);
    encoder(run, first..at + 1 + beyond).code(rng.next_u64() as u16).unwrap()
}

/// Such a code with some of its fields and bits changed.
fn damaged(rng: &mut Rng, run: u64, at: u64) -> Code {
    let mut code = code(rng, run, at);
    match rng.below(8) {
        0 => code.first = rng.next_u64() >> rng.below(64),
        1 => code.first = code.first.wrapping_add(rng.below(5)).wrapping_sub(2),
        2 => code.count = rng.next_u64() as u8,
        3 => code.seed ^= 1,
        4 => code.symbol = std::vec![rng.next_u64() as u8; rng.below(80) as usize],
        5 => code.symbol.truncate(rng.below(code.symbol.len() as u64) as usize),
        6 => code.symbol.resize(rng.below(70_000) as usize, 0),
        7 => {
            let bit = rng.below(code.symbol.len() as u64 * 8) as usize;
            code.symbol[bit / 8] ^= 1 << (bit % 8);
        }
        _ => {}
    }
    code
}

/// Random operations on one decoder; how many symbols came out.
fn operations(run: u64, damage: bool) -> u64 {
    let mut rng = Rng::derive(run, "operations");
    let mut decoder = Decoder::new(MOST);
    let (mut at, mut solved) = (rng.below(1000), 0);
    for step in 0..400 {
        let out = match rng.below(400) {
            0 if damage => decoder.add_source(rng.next_u64() >> rng.below(64), symbol(run, 0)),
            1..3 if damage => decoder.add_source(at, std::vec![0; rng.below(70_000) as usize]),
            3..6 if damage => decoder.add_source(at + rng.below(20), symbol(run + 1, at)),
            6..8 if damage => {
                decoder.clear();
                Vec::new()
            }
            8..20 if damage => decoder.add_code(damaged(&mut rng, run, at)),
            20..30 => {
                decoder.forget(at.saturating_sub(rng.below(100)));
                Vec::new()
            }
            30..120 => decoder.add_code(code(&mut rng, run, at)),
            _ => {
                at += 1 + rng.below(20) / 19;
                let sequence = at.saturating_sub(rng.below(12) / 11 * rng.below(30));
                decoder.add_source(sequence, symbol(run, sequence))
            }
        };
        if let Err(error) = decoder.check() {
            panic!("run {run}, step {step}: {error}");
        }
        assert!(decoder.memory() <= MOST);
        assert!(out.is_sorted_by(|one, next| one.0 < next.0));
        for (sequence, bytes) in out {
            assert_eq!(bytes, symbol(run, sequence), "run {run}, step {step}: position {sequence}");
            solved += 1;
        }
    }
    solved
}

#[test]
fn random_operations_keep_the_invariants_and_give_out_what_was_put_in() {
    let solved: u64 = (0..300).map(|run| operations(run, false)).sum();
    std::println!("{solved} symbols solved");
    assert!(solved > 10_000, "{solved}");
}

#[test]
fn damaged_codes_and_symbols_never_give_out_what_was_not_put_in() {
    let solved: u64 = (0..600).map(|run| operations(run, true)).sum();
    std::println!("{solved} symbols solved");
    assert!(solved > 5_000, "{solved}");
}

/// A decoder that has the packets of this range but for those lost.
fn decoder(most_memory: u64, range: core::ops::Range<u64>, lost: &[u64]) -> Decoder {
    let mut decoder = Decoder::new(most_memory);
    for sequence in range.filter(|sequence| !lost.contains(sequence)) {
        assert_eq!(decoder.add_source(sequence, symbol(1, sequence)), []);
    }
    decoder
}

#[test]
fn a_damaged_code_spoils_what_waits_and_nothing_later() {
    let mut decoder = decoder(ROOM, 0..60, &[10, 20, 40]);
    let mut spoilt = encoder(1, 0..30).code(1).unwrap();
    spoilt.symbol[8] ^= 1;
    assert_eq!(decoder.add_code(spoilt), []);
    assert_eq!(decoder.add_code(encoder(1, 0..30).code(2).unwrap()), [], "two codes, two losses, and a hash is wrong");
    assert_eq!(decoder.add_code(encoder(1, 15..30).code(3).unwrap()), [(20, symbol(1, 20))]);
    assert_eq!(decoder.add_code(encoder(1, 30..60).code(4).unwrap()), [(40, symbol(1, 40))]);
    assert_eq!(decoder.add_code(encoder(1, 0..60).code(5).unwrap()), [(10, symbol(1, 10))]);
}

#[test]
fn what_a_damaged_code_was_added_to_is_dropped_with_it() {
    let mut decoder = decoder(ROOM, 0..45, &[10, 20, 31, 40]);
    let mut spoilt = encoder(1, 30..45).code(1).unwrap();
    spoilt.symbol[8] ^= 1;
    assert_eq!(decoder.add_code(spoilt), []);
    assert_eq!(decoder.add_code(encoder(1, 0..45).code(2).unwrap()), []);
    assert_eq!(decoder.add_source(40, symbol(1, 40)), [], "31 has a wrong hash");
    assert_eq!(decoder.add_code(encoder(1, 0..25).code(3).unwrap()), []);
    assert_eq!(decoder.add_code(encoder(1, 0..25).code(4).unwrap()), [10, 20].map(|at| (at, symbol(1, at))));
}

#[test]
fn a_code_that_is_wrong_alone_leaves_what_waits() {
    let mut decoder = decoder(ROOM, 0..40, &[10, 20, 30]);
    assert_eq!(decoder.add_code(encoder(1, 0..25).code(1).unwrap()), []);
    for len in [0, 5, 6, 100, 65_542] {
        let wrong = Code { first: 30, count: 1, seed: 0, symbol: std::vec![7; len], longest: 0 };
        assert_eq!(decoder.add_code(wrong), []);
    }
    assert_eq!(decoder.add_source(10, symbol(1, 10)), [(20, symbol(1, 20))]);
}

#[test]
fn codes_that_contradict_each_other_are_both_dropped() {
    let mut decoder = decoder(ROOM, 0..30, &[10, 20]);
    let code = encoder(1, 0..30).code(1).unwrap();
    let mut other = code.clone();
    other.symbol[8] ^= 1;
    assert_eq!(decoder.add_code(other), []);
    assert_eq!(decoder.add_code(code), []);
    assert_eq!(decoder.add_code(encoder(1, 0..30).code(2).unwrap()), [], "no equation is left");
    assert_eq!(decoder.add_code(encoder(1, 0..30).code(3).unwrap()), [10, 20].map(|at| (at, symbol(1, at))));
}

#[test]
fn a_symbol_longer_than_its_code_is_a_contradiction() {
    let mut decoder = decoder(ROOM, 0..30, &[10, 20]);
    assert_eq!(decoder.add_code(encoder(1, 0..30).code(1).unwrap()), []);
    assert_eq!(decoder.add_source(10, std::vec![0; 1000]), []);
    decoder.check().unwrap();
    assert_eq!(decoder.add_code(encoder(1, 0..30).code(2).unwrap()), []);
    assert_eq!(decoder.add_code(encoder(1, 11..30).code(3).unwrap()), [(20, symbol(1, 20))]);
}

#[test]
fn codes_of_far_positions_change_nothing() {
    for first in [10_000, 1 << 40, u64::MAX - 254, u64::MAX - 10] {
        for known in [0..0, 0..60] {
            let mut decoder = decoder(ROOM, known, &[10]);
            let far = |seed| Code { first, count: 255, seed, symbol: std::vec![1; 100], longest: 0 };
            for seed in 0..300 {
                assert_eq!(decoder.add_code(far(seed)), []);
                decoder.check().unwrap();
            }
            for sequence in (0..60).filter(|sequence| *sequence != 10) {
                assert_eq!(decoder.add_source(sequence, symbol(1, sequence)), []);
            }
            decoder.forget(5);
            decoder.check().unwrap();
            assert_eq!(decoder.add_code(encoder(1, 0..60).code(5).unwrap()), [(10, symbol(1, 10))], "{first}");
        }
    }
}

#[test]
fn codes_and_symbols_that_say_nothing_are_dropped() {
    let mut decoder = decoder(ROOM, 0..30, &[10]);
    let before = decoder.memory();
    let code = encoder(1, 0..30).code(1).unwrap();
    let symbol = |len| std::vec![7; len];
    let mut padded = code.symbol.clone();
    padded.resize(65_542, 0);
    for code in [
        Code { count: 0, ..code.clone() },
        Code { symbol: symbol(0), ..code.clone() },
        Code { symbol: symbol(5), ..code.clone() },
        Code { symbol: symbol(6), ..code.clone() },
        Code { symbol: padded, ..code.clone() },
        Code { first: u64::MAX, ..code.clone() },
        encoder(1, 11..30).code(1).unwrap(),
    ] {
        assert_eq!(decoder.add_code(code), []);
    }
    for (sequence, len) in [(u64::MAX, 1), (u64::MAX - 1, 1), (30, 65_536), (5, 100)] {
        assert_eq!(decoder.add_source(sequence, symbol(len)), []);
    }
    assert_eq!(decoder.memory(), before);
    assert_eq!(decoder.add_code(code), [(10, super::symbol(1, 10))]);
}

#[test]
fn the_oldest_go_first_when_memory_is_short() {
    let mut decoder = decoder(8_000, 0..200, &[150, 180, 190]);
    assert!((6_000..=8_000).contains(&decoder.memory()), "{}", decoder.memory());
    assert_eq!(decoder.add_code(encoder(1, 100..200).code(1).unwrap()), [], "too far back");
    assert_eq!(decoder.add_code(encoder(1, 170..200).code(1).unwrap()), []);
    assert_eq!(decoder.add_code(encoder(1, 160..200).code(2).unwrap()), [180, 190].map(|at| (at, symbol(1, at))));
}

#[test]
fn memory_and_equations_are_bounded_whatever_comes() {
    for most in [0, 1, 1_000, 100_000, 4 << 20] {
        let mut rng = Rng::derive(most, "flood");
        let mut decoder = Decoder::new(most);
        for step in 0..1500 {
            let first = 5_000 + rng.below(600);
            let (count, seed) = (rng.next_u64() as u8, rng.next_u64() as u16);
            let symbol = std::vec![step as u8; 6 + rng.below(300) as usize];
            decoder.add_code(Code { first, count, seed, symbol, longest: 0 });
            if step % 5 == 4 {
                decoder.add_source(5_000 + step / 2, std::vec![1; rng.below(300) as usize]);
            }
            decoder.check().unwrap_or_else(|error| panic!("{most} bytes, step {step}: {error}"));
        }
    }
}

#[test]
fn codes_alone_make_no_more_equations_than_the_bound_and_none_too_long() {
    let mut rng = Rng::derive(1, "flood");
    for apart in [1, 200] {
        let mut decoder = Decoder::new(4 << 20);
        let (mut least, mut most) = (u64::MAX, 0);
        for step in 0..400 {
            let first = if apart == 1 { 5_000 + rng.below(256) } else { 5_000 + step * apart };
            let symbol: Vec<u8> = (0..300).map(|_| rng.next_u64() as u8).collect();
            assert_eq!(decoder.add_code(Code { first, count: 255, seed: step as u16, symbol, longest: 0 }), []);
            decoder.check().unwrap_or_else(|error| panic!("{apart} apart, step {step}: {error}"));
            (least, most) = (least.min(decoder.memory()), most.max(decoder.memory()));
        }
        assert!(apart > 1 || most > 255 * 300, "{most}: the bound is reached");
        assert!(least > 0 && most < 255 * 1_000, "{most}");
    }
}
