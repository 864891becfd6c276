//! A router's point of view: conversations through it, packet by packet, and what of them arrived where and how.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod conversation;
pub mod rules;
pub mod wire;
