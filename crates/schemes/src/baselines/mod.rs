//! What a user could switch on instead of the systems of the papers: the baselines they are
//! compared with. Each is meant to be as good as its idea allows.

pub mod arq;
pub mod fec;
mod hop;
pub mod split;
