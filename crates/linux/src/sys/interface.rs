//! Network interfaces of the calling thread's namespace, by name.

use super::tun::NAME_MAX;
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Number of the interface `name`; a new one each time that it is made.
///
/// # Errors
/// ENODEV: there is none.
pub fn index(name: &str) -> io::Result<u32> {
    Ok(if_nametoindex(name)?)
}

/// What kind of header stands before its IP packets: `ARPHRD_ETHER`, `ARPHRD_NONE` or another of linux/if_arp.h.
///
/// # Errors
/// ENODEV: there is no such interface.
pub fn header_type(name: &str) -> io::Result<u16> {
    Ok(hardware(name)?.sa_family)
}

/// Its hardware address; what this is of an interface without any does not matter to anybody.
///
/// # Errors
/// ENODEV: there is no such interface.
pub fn hardware_address(name: &str) -> io::Result<[u8; 6]> {
    let bytes = hardware(name)?.sa_data;
    Ok(std::array::from_fn(|at| bytes[at] as u8))
}

fn hardware(name: &str) -> io::Result<libc::sockaddr> {
    // SAFETY: ifreq is plain data for which all-zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(NAME_MAX)) {
        *to = from as libc::c_char;
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: SIOCGIFHWADDR reads and writes one ifreq, which lives through the call.
    super::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) })?;
    // SAFETY: the call succeeded, so it wrote this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr })
}

/// The interface at which IP takes what arrives on `name`: that one, or the bridge or bond that it is a port of. `None` for
/// ports of other things (Open vSwitch, mesh), whose IP interface nobody tells.
pub fn ip_interface(name: &str) -> Option<String> {
    let Some(master) = master(name) else { return Some(name.to_owned()) };
    let about = std::fs::read_to_string(format!("/sys/class/net/{master}/uevent")).unwrap_or_default();
    match about.lines().find_map(|line| line.strip_prefix("DEVTYPE=")) {
        Some("vrf") => Some(name.to_owned()),
        // A bond may be a port of a bridge.
        Some("bridge" | "bond") => ip_interface(&master),
        _ => None,
    }
}

fn master(name: &str) -> Option<String> {
    let link = std::fs::read_link(format!("/sys/class/net/{name}/master")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_is_its_own_ip_interface() {
        assert_eq!(ip_interface("lo").as_deref(), Some("lo"));
    }

    #[test]
    fn loopback_is_found_and_what_does_not_exist_is_not() {
        assert!(index("lo").is_ok_and(|index| index > 0));
        assert_eq!(header_type("lo").unwrap(), libc::ARPHRD_LOOPBACK);
        assert_eq!(hardware_address("lo").unwrap(), [0; 6]);
        assert_eq!(index("no-such-device").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(header_type("no-such-device").unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
