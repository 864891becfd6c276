//! A circuit over an imagined path, for the rules one by one.

mod bench;
mod circuit;
mod guarantee;
mod losses;
