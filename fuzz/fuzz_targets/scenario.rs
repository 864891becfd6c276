//! The scenario parser: any text parses or is an error with a place, and what parses prints and parses to the same.
//!
//! Most random changes of bytes make text that is no TOML any more, so every second change is one of lines and values.
#![no_main]

mod lines;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| airtcp_experiment::fuzzing::scenario(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match std::str::from_utf8(&data[..size]) {
        Ok(text) if seed % 2 == 0 => {
            let changed = lines::change(text, seed / 2);
            // What is cut in the middle of a character is no text, and one more input.
            let length = changed.len().min(max_size);
            data[..length].copy_from_slice(&changed.as_bytes()[..length]);
            length
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});
