//! A random linear code over a sliding window (RFC 8681, its terms in RFC 8406): the sender adds repair symbols to a stream
//! of packets, and the receiver computes lost packets from them without asking.
//!
//! A *source symbol* is a packet, counted by its position, of which both ends know the low 32 bits. The [`Encoder`] keeps the latest of them, at most 255 in a row:
//! the window. A repair symbol, here a [`Code`], is the sum of all symbols of the window, each multiplied in GF(256) by a
//! coefficient that both ends draw from the same generator ([`coefficients`]). It therefore is one linear equation whose
//! unknowns are the lost symbols of the window; any `k` codes recover any `k` losses, but for about one case in 255. There
//! are no blocks: a code can repair the packet just before it, and a loss waits no longer than until as many codes have
//! come as packets are lost.
//!
//! ```text
//! symbol   length u16 | hash u32 | bytes, in a sum padded with zeros to the longest
//! code     first position, count 1..=255, seed u16 -> the coefficients; the sum, 6 to 65541 bytes
//! ```
//!
//! The [`Decoder`] puts known symbols into an equation as soon as both are there, and keeps the equations in reduced row
//! echelon form: the *pivot*, the first unknown of an equation, is in no other one. A packet or a code therefore costs one
//! pass over the equations, and each equation with one unknown left is solved.
//!
//! What differs from RFC 8681: symbols have their own lengths, no coefficient is zero (its density threshold 15),
//! coefficients come from the generator of the crate instead of TinyMT32, and a hash over position and bytes is part of what
//! is coded. A computed symbol whose hash is wrong is not given out. If it was computed from several codes, a damaged one has
//! spoilt equations that it was added to; nothing tells which, so all are dropped, and later codes repair what comes after.
//!
//! A sum of a whole window recovers nothing before there are as many codes as losses. So the redundancy must be well above
//! the losses: with 1.3 times the losses and 1.5 %, 6 to 37 % of the losses wait longer than 128 packets at 1 to 20 %
//! independent loss, with twice the losses and 2 % none do. The tests compare both with this count. A window shorter than
//! such waits recovers less.
//!
//! Bounds: both ends keep within the memory they are given and drop the oldest first. The decoder keeps the symbols of
//! the latest 512 positions, and at most 255 equations over at most 1024 positions. A code or a packet costs at most 510
//! additions of one symbol, and a division of each symbol that it solves, whatever a peer sends. A peer that invents
//! positions far ahead of its packets harms its own repair only, until [`Decoder::clear`].

mod code;
mod coefficients;
mod decoder;
mod encoder;
mod equation;
mod symbol;
#[cfg(test)]
mod tests;

pub(crate) use code::Code;
pub(crate) use decoder::Decoder;
pub(crate) use encoder::Encoder;
pub(crate) use symbol::HEAD;
