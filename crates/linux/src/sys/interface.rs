//! Network interfaces of the calling thread's namespace, by name.

use super::tun::NAME_MAX;
use std::ffi::CString;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Number of the interface `name`; a new one each time that it is made.
///
/// # Errors
/// ENODEV: there is none.
pub fn index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the name ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// What kind of header stands before its IP packets: `ARPHRD_ETHER`, `ARPHRD_NONE` or another of linux/if_arp.h.
///
/// # Errors
/// ENODEV: there is no such interface.
pub fn header_type(name: &str) -> io::Result<u16> {
    // SAFETY: ifreq is plain data for which all-zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(NAME_MAX)) {
        *to = from as libc::c_char;
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: SIOCGIFHWADDR reads and writes one ifreq, which lives through the call.
    super::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) })?;
    // SAFETY: the call succeeded, so it wrote this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_and_what_does_not_exist_is_not() {
        assert!(index("lo").is_ok_and(|index| index > 0));
        assert_eq!(header_type("lo").unwrap(), libc::ARPHRD_LOOPBACK);
        assert_eq!(index("no-such-device").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(header_type("no-such-device").unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
