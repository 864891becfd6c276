//! Encoder and decoder together.

use super::*;
use airtcp_core::Rng;
use std::collections::BTreeMap;
use std::vec::Vec;

mod channel;
mod from_scratch;
mod hostile;

const ROOM: u64 = 1 << 20;

/// The symbol at a position: 0 to 60 bytes that nothing but the position and the run tells.
fn symbol(run: u64, sequence: u64) -> Vec<u8> {
    let mut rng = Rng::derive(run.wrapping_mul(1 << 40) ^ sequence, "symbol");
    let len = rng.below(61);
    (0..len).map(|_| rng.below(256) as u8).collect()
}

/// An encoder whose window is this range.
fn encoder(run: u64, range: core::ops::Range<u64>) -> Encoder {
    let mut encoder = Encoder::new(255, ROOM);
    for sequence in range {
        encoder.add(sequence, symbol(run, sequence), 100);
    }
    encoder
}

/// Loses `lost` random symbols of a window of `window`, then gives the decoder `codes` codes. True if all came back, each
/// as it was.
fn recovers(run: u64, window: u64, lost: usize, codes: u16) -> bool {
    let mut rng = Rng::derive(run, "losses");
    let first = rng.next_u64() >> 8;
    let mut missing = BTreeMap::new();
    while missing.len() < lost {
        let sequence = first + rng.below(window);
        missing.insert(sequence, symbol(run, sequence));
    }
    let mut encoder = encoder(run, first..first + window);
    let mut decoder = Decoder::new(ROOM);
    for sequence in (first..first + window).filter(|sequence| !missing.contains_key(sequence)) {
        assert_eq!(decoder.add_source(sequence, symbol(run, sequence)), []);
    }
    let seed = rng.next_u64() as u16;
    for index in 0..codes {
        let solved = decoder.add_code(encoder.code(seed.wrapping_add(index)).unwrap());
        decoder.check().unwrap();
        assert!(solved.is_sorted_by_key(|(sequence, _)| *sequence));
        for (sequence, bytes) in solved {
            assert_eq!(missing.remove(&sequence), Some(bytes), "run {run}, position {sequence}");
        }
    }
    missing.is_empty()
}

#[test]
fn as_many_codes_as_losses_recover_them_but_for_one_case_in_a_hundred() {
    for lost in [1, 2, 3, 5, 10, 20, 40] {
        const RUNS: u64 = 2000;
        let failed = (0..RUNS).filter(|run| !recovers(*run, 64, lost, lost as u16)).count();
        let failed_with_one_more = (0..RUNS / 4).filter(|run| !recovers(*run, 64, lost, lost as u16 + 1)).count();
        std::println!(
            "{lost} of 64 lost: {failed} of {RUNS} failed, with one more code {failed_with_one_more} of {}",
            RUNS / 4
        );
        assert!(failed <= RUNS as usize / 100 && failed_with_one_more <= 1, "{lost} lost: {failed}");
        assert!(lost > 1 || failed == 0, "one code always recovers one loss");
    }
}

#[test]
fn fewer_codes_than_losses_recover_nothing_of_the_same_window() {
    assert!((0..200).all(|run| !recovers(run, 64, 5, 4)));
}

#[test]
fn a_whole_window_of_255_is_recovered_from_codes_alone() {
    let failed = (0..4).filter(|run| !recovers(*run, 255, 255, 257)).count();
    assert_eq!(failed, 0);
}

#[test]
fn a_late_packet_solves_the_other_one() {
    let mut encoder = encoder(1, 10..20);
    let mut decoder = Decoder::new(ROOM);
    for sequence in (10..20).filter(|sequence| ![12, 17, 18].contains(sequence)) {
        decoder.add_source(sequence, symbol(1, sequence));
    }
    assert_eq!(decoder.add_code(encoder.code(1).unwrap()), []);
    assert_eq!(decoder.add_code(encoder.code(2).unwrap()), []);
    decoder.check().unwrap();
    // The pivot of the first equation, so that it needs another one.
    assert_eq!(decoder.add_source(12, symbol(1, 12)), [(17, symbol(1, 17)), (18, symbol(1, 18))]);
    decoder.check().unwrap();
    assert_eq!(decoder.add_source(17, symbol(1, 17)), []);
}

#[test]
fn codes_of_windows_that_overlap_are_solved_together() {
    let mut decoder = Decoder::new(ROOM);
    for sequence in (0..30).filter(|sequence| ![5, 15, 25].contains(sequence)) {
        decoder.add_source(sequence, symbol(1, sequence));
    }
    assert_eq!(decoder.add_code(encoder(1, 0..20).code(1).unwrap()), []);
    assert_eq!(decoder.add_code(encoder(1, 10..30).code(1).unwrap()), []);
    let solved = decoder.add_code(encoder(1, 0..30).code(1).unwrap());
    assert_eq!(solved, [5, 15, 25].map(|sequence| (sequence, symbol(1, sequence))));
}

#[test]
fn a_code_before_its_packets_waits_for_them() {
    let mut decoder = Decoder::new(ROOM);
    assert_eq!(decoder.add_code(encoder(1, 1000..1003).code(1).unwrap()), []);
    assert_eq!(decoder.add_source(1002, symbol(1, 1002)), []);
    assert_eq!(decoder.add_source(1000, symbol(1, 1000)), [(1001, symbol(1, 1001))]);
}

#[test]
fn what_is_forgotten_is_not_given_out_but_helps_later_codes() {
    let mut decoder = Decoder::new(ROOM);
    for sequence in (0..20).filter(|sequence| ![5, 15].contains(sequence)) {
        decoder.add_source(sequence, symbol(1, sequence));
    }
    decoder.add_code(encoder(1, 0..20).code(1).unwrap());
    decoder.forget(10);
    decoder.check().unwrap();
    assert_eq!(decoder.add_code(encoder(1, 4..20).code(2).unwrap()), [(15, symbol(1, 15))], "and not 5");
}

#[test]
fn equations_are_dropped_when_neither_side_needs_their_first_unknown() {
    let mut decoder = Decoder::new(ROOM);
    for sequence in (0..20).filter(|sequence| ![5, 15, 16].contains(sequence)) {
        decoder.add_source(sequence, symbol(1, sequence));
    }
    decoder.add_code(encoder(1, 0..20).code(1).unwrap());
    decoder.forget(10);
    assert_eq!(decoder.add_code(encoder(1, 11..20).code(2).unwrap()), []);
    decoder.check().unwrap();
    assert_eq!(decoder.add_code(encoder(1, 4..20).code(3).unwrap()), [], "a code that begins too early");
    assert_eq!(decoder.add_source(5, symbol(1, 5)), [], "the first code is not there any more");
    assert_eq!(decoder.add_source(16, symbol(1, 16)), [(15, symbol(1, 15))], "the second one is");
}

#[test]
fn symbols_that_neither_side_needs_are_dropped() {
    let mut decoder = Decoder::new(ROOM);
    for sequence in 0..100 {
        decoder.add_source(sequence, symbol(1, sequence));
    }
    let all = decoder.memory();
    decoder.forget(90);
    assert_eq!(decoder.memory(), all, "codes on their way may begin before");
    decoder.add_code(encoder(1, 80..100).code(1).unwrap());
    assert!(decoder.memory() < all * 3 / 10, "{} of {all}", decoder.memory());
    decoder.clear();
    assert_eq!(decoder.memory(), 0);
}
