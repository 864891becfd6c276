//! The properties the fuzzer checks, replayed: its corpus, packets made to hurt, and random bytes.

mod common;
use airtcp_core::{Rng, fuzzing};
use common::Reference;
use etherparse::TcpHeader;
use std::fs;
use std::path::Path;

#[test]
fn the_fuzz_corpus_replays() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire");
    let files: Vec<_> =
        fs::read_dir(&corpus).expect("the corpus is part of the tree").map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 12, "{} files in {}", files.len(), corpus.display());
    for file in files {
        fuzzing::wire(&fs::read(&file).unwrap());
    }
}

/// Well-formed packets of every shape, to be damaged.
fn shapes() -> Vec<Vec<u8>> {
    let mut tcp = TcpHeader::new(40_000, 443, u32::MAX - 3, 65_535);
    tcp.set_options_raw(&[2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 7]).unwrap();
    let mut sack = TcpHeader::new(443, 40_000, 0, 1);
    sack.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 0, 12]).unwrap();
    let whole = [Reference::v4(tcp.clone(), b"data"), Reference::v6(tcp, b"data"), Reference::v4(sack.clone(), &[])];
    let special = [
        Reference::v6(sack.clone(), b"x").with_extension_headers(2),
        Reference::v6(sack.clone(), b"x").with_extension_headers(0).fragment(0, true),
        Reference::v4(sack, b"x").fragment(3, false),
    ];
    whole.iter().chain(&special).map(Reference::to_bytes).collect()
}

#[test]
fn every_byte_of_every_shape_may_have_any_value() {
    for shape in shapes() {
        for place in 0..shape.len() {
            for value in 0..=255 {
                let mut bytes = shape.clone();
                bytes[place] = value;
                fuzzing::wire(&bytes);
            }
        }
    }
}

#[test]
fn every_shape_may_be_cut_anywhere_with_or_without_an_honest_length() {
    for shape in shapes() {
        for cut in 0..shape.len() {
            let mut bytes = shape[..cut].to_vec();
            fuzzing::wire(&bytes);
            let (at, len) = if shape[0] >> 4 == 4 { (2, cut) } else { (4, cut.saturating_sub(40)) };
            if cut > at + 1 {
                bytes[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
                fuzzing::wire(&bytes);
            }
        }
    }
}

#[test]
fn nasty_packets_are_harmless() {
    let mut longest_chain = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
    longest_chain.extend([0; 32]);
    longest_chain.extend([0u8; 8].repeat(8000));
    let payload_len = (longest_chain.len() - 40) as u16;
    longest_chain[4..6].copy_from_slice(&payload_len.to_be_bytes());
    let mut self_similar = vec![0x60; 40 + 0x6060];
    self_similar[6] = 43;
    let longest_v4 = [&[0x4f, 0, 0xff, 0xff, 0, 0, 0, 0, 1, 6][..], &[0x50; 65_525]].concat();
    let nasty: [&[u8]; 8] =
        [&[], &[0x45], &[0x40; 60], &[0x4f; 60], &[0x60; 40], &longest_chain, &self_similar, &longest_v4];
    for bytes in nasty {
        fuzzing::wire(bytes);
    }
}

#[test]
fn random_bytes_are_harmless() {
    let mut rng = Rng::derive(1, "random bytes");
    let shapes = shapes();
    let mut bytes = Vec::new();
    for round in 0..100_000u32 {
        bytes.clear();
        bytes.extend((0..rng.below(120)).map(|_| rng.next_u64() as u8));
        // Two in three start as something that parses deeper, with a few bytes changed.
        if round % 3 != 0 {
            let noise = std::mem::replace(&mut bytes, shapes[rng.below(shapes.len() as u64) as usize].clone());
            for byte in noise.iter().take(rng.below(8) as usize) {
                let place = rng.below(bytes.len() as u64) as usize;
                bytes[place] = *byte;
            }
        }
        fuzzing::wire(&bytes);
    }
}
