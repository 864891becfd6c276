//! Programs at a link (TCX, Linux 6.6 or newer): they are there for as long as a descriptor is open, so they are gone with
//! the process, however it ends.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Which of a device's packets a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those that come in.
    Ingress,
    /// Those that leave.
    Egress,
}

/// `BPF_LINK_CREATE` of `enum bpf_cmd` (linux/bpf.h).
const LINK_CREATE: libc::c_int = 28;
/// `BPF_F_BEFORE`: before all other programs there.
const BEFORE: u32 = 1 << 3;

/// `link_create` of `union bpf_attr`, as far as TCX needs it.
#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    ifindex: u32,
    attach_type: u32,
    flags: u32,
    relative: u32,
    padding: u32,
    expected_revision: u64,
}

/// Lets `program` see packets of the device `ifindex` before all others there, until the result is dropped.
///
/// # Errors
/// EINVAL on older kernels; EPERM without CAP_NET_ADMIN; ENODEV.
pub fn attach(program: BorrowedFd<'_>, ifindex: u32, side: Side) -> io::Result<OwnedFd> {
    // BPF_TCX_INGRESS, BPF_TCX_EGRESS of enum bpf_attach_type.
    let attach_type = match side {
        Side::Ingress => 46,
        Side::Egress => 47,
    };
    let program = program.as_raw_fd() as u32;
    let attributes = LinkCreate { program, ifindex, attach_type, flags: BEFORE, ..LinkCreate::default() };
    // SAFETY: the kernel reads as many bytes as it is told from a structure that lives through the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, LINK_CREATE, &raw const attributes, size_of::<LinkCreate>()) };
    let fd = super::check(result as libc::c_int)?;
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `BPF_OBJ_GET_INFO_BY_FD` of `enum bpf_cmd`.
const GET_INFO: libc::c_int = 15;

/// `info` of `union bpf_attr`.
#[repr(C)]
struct GetInfo {
    fd: u32,
    length: u32,
    to: u64,
}

/// The beginning of `struct bpf_link_info`, of TCX.
#[repr(C)]
#[derive(Default)]
struct LinkInfo {
    kind: u32,
    id: u32,
    program: u32,
    padding: u32,
    ifindex: u32,
    attach_type: u32,
}

/// False if the device is gone, or somebody took the program away from it.
pub fn is_in_place(link: &OwnedFd) -> bool {
    let mut info = LinkInfo::default();
    let attributes =
        GetInfo { fd: link.as_raw_fd() as u32, length: size_of::<LinkInfo>() as u32, to: (&raw mut info) as u64 };
    // SAFETY: the kernel reads the attributes and writes at most `length` bytes to `info`; both live through the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, GET_INFO, &raw const attributes, size_of::<GetInfo>()) };
    result == 0 && info.ifindex != 0
}
