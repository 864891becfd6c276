//! The properties the fuzzer checks, replayed: its corpora, messages that were changed a little, and random bytes.

use airtcp_core::Rng;
use airtcp_schemes::fuzzing;
use std::fs;
use std::path::Path;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&directory).expect("the corpus is part of the tree");
    let inputs: Vec<_> = files.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() >= 2, "{} files in {}", inputs.len(), directory.display());
    inputs
}

/// `input` with a few of its bytes changed, and perhaps cut or longer.
fn changed(rng: &mut Rng, input: &[u8]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..rng.below(4) {
        if !out.is_empty() {
            let at = rng.below(out.len() as u64) as usize;
            out[at] = rng.next_u64() as u8;
        }
    }
    let len = rng.below(out.len() as u64 * 2 + 8) as usize;
    if rng.below(2) == 0 {
        out.resize_with(len, || rng.next_u64() as u8);
    }
    out
}

fn replay(target: &str, rounds: u32, property: fn(&[u8])) {
    let inputs = corpus(target);
    let mut rng = Rng::derive(1, target);
    for input in &inputs {
        property(input);
        (0..rounds).for_each(|_| property(&changed(&mut rng, input)));
    }
    for _ in 0..rounds {
        let random: Vec<u8> = (0..rng.below(2000)).map(|_| rng.next_u64() as u8).collect();
        property(&random);
    }
}

#[test]
fn messages_have_one_encoding_only() {
    replay("control", 2000, fuzzing::control);
}

#[test]
fn no_feedback_breaks_an_end_of_local_recovery() {
    replay("feedback", 300, fuzzing::feedback);
}
