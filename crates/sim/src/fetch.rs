//! Has the processor fetch memory that will be read soon.

use prefetch_index::prefetch_index;
use std::ops::Range;
use std::ptr;

/// Bytes that a processor fetches at once.
const LINE: usize = 64;

/// Has a value fetched, but not what it points to.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    fetch_from(value, size_of::<T>());
}

/// So many bytes from where a value is; the last of them may be left out if it does not begin where a line does.
#[inline(always)]
pub fn fetch_from<T>(value: &T, bytes: usize) {
    fetch_bytes(value, 0..bytes);
}

/// These of the bytes of a value. Where they are should be known when this is compiled.
#[inline(always)]
pub fn fetch_bytes<T>(value: &T, bytes: Range<usize>) {
    // Any address can be named by how far it is from that of a byte; nothing is read there.
    static BYTE: &[u8] = &[0];
    let way = ptr::from_ref(value).addr().wrapping_sub(BYTE.as_ptr().addr());
    for line in bytes.step_by(LINE) {
        prefetch_index(BYTE, way.wrapping_add(line));
    }
}
