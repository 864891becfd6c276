//! Thin wrappers over system calls; the only place with `unsafe`.

pub mod bpf_fs;
pub mod capabilities;
pub mod clock;
pub mod datagram_socket;
pub mod descriptors;
pub mod directory;
pub mod entropy;
pub mod epoll;
pub mod event;
pub mod frame_socket;
pub mod genetlink;
pub mod hop_limit_socket;
pub mod interface;
pub mod interrupt;
pub mod netlink;
pub mod netns;
pub mod poll;
pub mod probe_socket;
pub mod process;
pub mod relay_socket;
pub mod route;
pub mod sched;
pub mod system_calls;
pub mod tap;
pub mod tcp_info;
pub mod tcp_socket;
#[cfg(feature = "bpf")]
pub mod tcx;
pub mod tun;

use std::io;

/// Turns the C convention "−1 and errno" into a result.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same for byte counts.
pub(crate) fn check_len(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
