//! The property the fuzzer checks, replayed: its corpus, and the demo with random damage.

use crate::common::DEMO;
use airtcp_core::Rng;
use airtcp_experiment::fuzzing;
use std::path::Path;

#[test]
fn the_fuzz_corpus_replays() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let files = std::fs::read_dir(&corpus).expect("the corpus is part of the tree");
    let mut count = 0;
    for file in files {
        fuzzing::scenario(&std::fs::read(file.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 5, "{count} files in {}", corpus.display());
}

#[test]
fn damaged_scenarios_are_errors_with_a_place() {
    // Pieces that turn one valid file into another, or nearly.
    const PIECES: [&str; 16] = [
        "\"",
        "'",
        "[",
        "]",
        "{",
        "}",
        "=",
        ".",
        "\n",
        "0",
        "18446744073709551615",
        "\\",
        "é",
        "base = \"x\"\n",
        "\n[vary]\n",
        "e999",
    ];
    let mut rng = Rng::derive(1, "damaged scenarios");
    for _ in 0..3000 {
        let mut text = DEMO.to_owned();
        for _ in 0..=rng.below(3) {
            let at = rng.below(text.len() as u64) as usize;
            let length = rng.below(6) as usize;
            let piece = PIECES[rng.below(PIECES.len() as u64) as usize];
            let piece = if rng.below(3) == 0 { "" } else { piece };
            let end = (at + length).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, piece);
            }
        }
        fuzzing::scenario(text.as_bytes());
    }
}
