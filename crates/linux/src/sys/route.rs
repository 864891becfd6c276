//! What the kernel knows of the way to another machine.

use socket2::SockRef;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// The way to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address that packets there are sent from.
    pub source: IpAddr,
    /// Longest IP packet that gets there in one piece: that of the interface, of the route, or what a router on the way said
    /// lately.
    pub mtu: u32,
}

/// The way that datagrams to `to` go now, through the interface `device` if one is named.
///
/// # Errors
/// No route.
pub fn to(to: SocketAddr, device: Option<&str>) -> io::Result<Route> {
    let to = SocketAddr::new(to.ip().to_canonical(), to.port());
    let (any, level, option): (IpAddr, _, _) = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), libc::IPPROTO_IP, libc::IP_MTU),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let socket = UdpSocket::bind((any, 0))?;
    SockRef::from(&socket).bind_device(device.map(str::as_bytes))?;
    // Sends nothing; the kernel looks up the route.
    socket.connect(to)?;
    let (mut mtu, mut size): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    let fd = socket.as_raw_fd();
    // SAFETY: the option writes one int, for which there is room, and its size.
    super::check(unsafe { libc::getsockopt(fd, level, option, (&raw mut mtu).cast(), &raw mut size) })?;
    Ok(Route { source: socket.local_addr()?.ip(), mtu: u32::try_from(mtu).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_address_and_the_mtu_are_those_of_the_route() {
        if airtcp_test_support::skip_emulated("IP_MTU") {
            return;
        }
        let mtu: u32 = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
        for to in
            ["127.0.0.9:4791", "[::ffff:127.0.0.9]:4791", "[::1]:4791"].map(|to| to.parse::<SocketAddr>().unwrap())
        {
            if to.ip().to_canonical().is_ipv6() && UdpSocket::bind("[::1]:0").is_err() {
                continue;
            }
            let route = super::to(to, None).unwrap();
            // IPv4 has 16 bits for it.
            assert!([mtu, 65_535].contains(&route.mtu), "{to}: {route:?}");
            assert!(route.source.is_loopback(), "{to}: {route:?}");
        }
        let no_device = super::to("127.0.0.9:4791".parse().unwrap(), Some("no-such-device"));
        assert_eq!(no_device.unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
