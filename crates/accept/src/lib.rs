//! What the tools that judge share: the command they judge.
#![forbid(unsafe_code)]

pub mod command;
