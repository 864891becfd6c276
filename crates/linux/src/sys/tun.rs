//! A TUN device: IP packets in and out of the kernel, one per `read` and `write`.
//!
//! Our own lines instead of a crate: all that is wanted is a non-blocking descriptor of a non-persistent device without
//! packet information. The device is gone, with all its routes, when the last descriptor of it is closed, however the
//! process ends.
//!
//! A plain device carries datagrams no longer than the path's MTU. One with offloads carries a header before each, and
//! what the kernel left undone is said there ([`crate::device::Offload`]): checksums, and super-frames of TCP.

use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Longest name of a network device.
pub const NAME_MAX: usize = libc::IFNAMSIZ - 1;

/// Longest datagram a device can carry.
pub const DATAGRAM_MAX: usize = 65_535;

/// Bytes before each datagram of a device with offloads.
pub const OFFLOAD_HEADER: usize = 10;

/// A non-persistent, non-blocking TUN device.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    name: String,
    has_offloads: bool,
}

impl Tun {
    /// Makes the plain device `name` in the network namespace of the calling thread.
    ///
    /// # Errors
    /// ENOENT without /dev/net/tun, EPERM without CAP_NET_ADMIN, EBUSY when the name is taken.
    pub fn open(name: &str) -> io::Result<Tun> {
        Tun::make(name, false)
    }

    /// The same with offloads: of checksums, and of segmentation of TCP.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_with_offloads(name: &str) -> io::Result<Tun> {
        let tun = Tun::make(name, true)?;
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // SAFETY: TUNSETOFFLOAD takes an integer.
        super::check(unsafe { libc::ioctl(tun.fd.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)) })?;
        Ok(tun)
    }

    fn make(name: &str, has_offloads: bool) -> io::Result<Tun> {
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("'{name}' is no device name: 1 to {NAME_MAX} bytes are allowed"),
            ));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")?;
        // SAFETY: ifreq is plain data for which all-zero bytes are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        // IFF_TUN_EXCL: never attach to a device that somebody else made.
        let header = if has_offloads { libc::IFF_VNET_HDR } else { 0 };
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | header;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which lives through the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        super::check(result)?;
        Ok(Tun { fd: file.into(), name: name.to_owned(), has_offloads })
    }

    /// The device `name` with offloads, which another process made and handed over as an open descriptor.
    ///
    /// # Errors
    /// It is no such device.
    pub fn adopt(fd: OwnedFd, name: &str) -> io::Result<Tun> {
        // SAFETY: ifreq is plain data for which all-zero bytes are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // SAFETY: TUNGETIFF writes one ifreq, which lives through the call.
        super::check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNGETIFF, &raw mut request) })?;
        let found = request.ifr_name.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
        // SAFETY: TUNGETIFF has set the flags.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        if !found.eq(name.bytes()) || flags & libc::IFF_VNET_HDR == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "what was handed over is another device"));
        }
        Ok(Tun { fd, name: name.to_owned(), has_offloads: true })
    }

    /// A stand-in for a device: each read and write of `socket`, which must not block, is one datagram. For tests.
    pub fn over(socket: OwnedFd, name: &str) -> Tun {
        Tun { fd: socket, name: name.to_owned(), has_offloads: false }
    }

    /// Another descriptor of the same device, which is gone with the last.
    ///
    /// # Errors
    /// Too many open files.
    pub fn try_clone(&self) -> io::Result<Tun> {
        Ok(Tun { fd: self.fd.try_clone()?, name: self.name.clone(), has_offloads: self.has_offloads })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if there is a header before each datagram.
    pub fn has_offloads(&self) -> bool {
        self.has_offloads
    }

    /// Takes the next datagram that the kernel routed into the device; on a device with offloads the first part is for the
    /// header. Tells the bytes taken, the header among them.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; EBADFD or EIO when the device is gone or down.
    pub fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        // SAFETY: IoSliceMut has the layout of iovec, and each is valid for writes of its length.
        let result = unsafe { libc::readv(self.fd.as_raw_fd(), parts.as_mut_ptr().cast(), parts.len() as libc::c_int) };
        super::check_len(result)
    }

    /// Gives a datagram in parts to the kernel, which routes it as one that arrived on the device. On a device with
    /// offloads the first part is the header.
    ///
    /// # Errors
    /// EIO when the device is down, ENOBUFS or ENOMEM when the kernel has no memory for it,
    /// EINVAL when it is no IP packet.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        // SAFETY: IoSlice has the layout of iovec, and each is valid for reads of its length.
        let result = unsafe { libc::writev(self.fd.as_raw_fd(), parts.as_ptr().cast(), parts.len() as libc::c_int) };
        super::check_len(result).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_device_can_have_is_refused_without_asking_the_kernel() {
        assert_eq!(Tun::open("").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let long = "a".repeat(NAME_MAX + 1);
        assert_eq!(Tun::open(&long).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
