//! Programs at a link (TCX, Linux 6.6 or newer): they are there for as long as a descriptor is open, so they are gone with
//! the process, however it ends.

use libbpf_rs::query::{LinkInfo, LinkTypeInfo};
use libbpf_sys::{
    BPF_F_BEFORE, BPF_TCX_EGRESS, BPF_TCX_INGRESS, bpf_link_create, bpf_link_create_opts, bpf_link_update,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Which of a device's packets a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those that come in.
    Ingress,
    /// Those that leave.
    Egress,
}

impl Side {
    fn attach_type(self) -> u32 {
        match self {
            Side::Ingress => BPF_TCX_INGRESS,
            Side::Egress => BPF_TCX_EGRESS,
        }
    }
}

/// Lets `program` see packets of the device `ifindex` before all others there, until the result is dropped.
///
/// # Errors
/// EINVAL on older kernels; EPERM without CAP_NET_ADMIN; ENODEV.
pub fn attach(program: BorrowedFd<'_>, ifindex: u32, side: Side) -> io::Result<OwnedFd> {
    let size = size_of::<bpf_link_create_opts>() as libbpf_sys::size_t;
    let options = bpf_link_create_opts { sz: size, flags: BPF_F_BEFORE, ..Default::default() };
    // SAFETY: the options live through the call, and say how long they are.
    let fd = unsafe { bpf_link_create(program.as_raw_fd(), ifindex as i32, side.attach_type(), &raw const options) };
    let fd = super::check(fd)?;
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Puts `program` in the place of the one that `link` holds: each packet is seen by one of the two.
///
/// # Errors
/// ENOLINK if the device is gone; EPERM without CAP_NET_ADMIN.
pub fn replace(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no options are passed.
    let result = unsafe { bpf_link_update(link.as_raw_fd(), program.as_raw_fd(), std::ptr::null()) };
    super::check(result).map(drop)
}

/// True if the link is at this side of this device.
pub fn is_at(link: BorrowedFd<'_>, ifindex: u32, side: Side) -> bool {
    let info = LinkInfo::from_fd(link);
    info.is_ok_and(|info| match info.info {
        LinkTypeInfo::Tcx(place) => place.ifindex == ifindex && place.attach_type as u32 == side.attach_type(),
        _ => false,
    })
}

/// False if the device is gone, or somebody took the program away from it.
pub fn is_in_place(link: &OwnedFd) -> bool {
    let info = LinkInfo::from_fd(link.as_fd());
    info.is_ok_and(|info| matches!(info.info, LinkTypeInfo::Tcx(place) if place.ifindex != 0))
}
