//! Random bytes of the kernel.

use std::io;

/// Bytes that nobody can guess.
///
/// # Errors
/// The kernel has none, which happens only where it forbids the call.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
