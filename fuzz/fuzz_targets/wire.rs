//! The packet parser: any bytes parse or are refused, and what parses leaves as it came.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| airtcp_core::fuzzing::wire(data));
