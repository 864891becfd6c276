//! Control messages between our own boxes: any bytes decode or are refused, and what decodes encodes to the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| airtcp_schemes::fuzzing::control(data));
