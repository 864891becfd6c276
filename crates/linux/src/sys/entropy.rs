//! Random bytes of the kernel.

use std::io;

/// 32 bytes that nobody can guess.
///
/// # Errors
/// The kernel has none, which happens only where it forbids the call.
pub fn bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
