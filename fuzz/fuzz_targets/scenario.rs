//! The scenario parser: any text parses or is an error with a place, and what parses prints and parses to the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| airtcp_experiment::fuzzing::scenario(data));
