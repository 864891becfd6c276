//! One end of local recovery and another one that says anything: no packet vanishes, and rate and memory stay within bounds.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| airtcp_schemes::fuzzing::feedback(data));
