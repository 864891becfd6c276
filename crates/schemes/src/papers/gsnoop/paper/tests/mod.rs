//! The paper's rules, by gateways driven by hand. Segments have numbers and 1000 bytes each, as in the paper's
//! examples; each test runs with sequence numbers in the middle of their space and across its wrap.

mod bench;
mod gateway_a;
mod gateway_b;
mod loss_cases;
