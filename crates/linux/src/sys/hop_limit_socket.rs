//! A UDP socket that sends with hop limit (TTL) 255 and tells with which each datagram arrived, so that its user knows how
//! far away the sender is at least (RFC 5082). Bound to an interface if wanted.

use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const MOST: u32 = 255;

/// A bound UDP socket with hop limits. Never waits.
#[derive(Debug)]
pub struct HopLimitSocket(UdpSocket);

impl HopLimitSocket {
    /// Binds in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The address is taken or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let options = SockRef::from(&socket);
        // A socket of IPv6 may carry IPv4, too.
        let ipv4 = options.set_ttl_v4(MOST).and_then(|()| Ok(setsockopt(&socket, sockopt::Ipv4RecvTtl, &true)?));
        if address.is_ipv6() {
            options.set_unicast_hops_v6(MOST)?;
            options.set_recv_hoplimit_v6(true)?;
        } else {
            ipv4?;
        }
        Ok(HopLimitSocket(socket))
    }

    /// Sends and receives through one interface only; with `None`, through all.
    ///
    /// # Errors
    /// ENODEV: there is none of this name.
    pub fn bind_device(&self, name: Option<&str>) -> io::Result<()> {
        SockRef::from(&self.0).bind_device(name.map(str::as_bytes))
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// As `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// No route, no room, or the other end refused an earlier one.
    pub fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        self.0.send_to(data, to).map(drop)
    }

    /// Takes the next datagram: its length, its sender, and its hop limit (0 if the kernel does not tell).
    ///
    /// # Errors
    /// `WouldBlock` if there is none, or what an ICMP error says about a datagram sent before.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr, u8)> {
        // Of IPv4 and of IPv6.
        let (mut parts, mut control) = ([IoSliceMut::new(buffer)], nix::cmsg_space!(i32, i32));
        let fd = self.0.as_raw_fd();
        let message = recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut control), MsgFlags::empty())?;
        let hop_limit = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4Ttl(limit) | ControlMessageOwned::Ipv6HopLimit(limit) => u8::try_from(limit).ok(),
            _ => None,
        });
        let from = message.address.as_ref().and_then(address).ok_or(io::ErrorKind::InvalidData)?;
        Ok((message.bytes, from, hop_limit.unwrap_or(0)))
    }
}

impl AsFd for HopLimitSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The address that datagrams to `to` are sent from, through the interface `device` if one is named.
///
/// # Errors
/// No route.
pub fn source_address(to: SocketAddr, device: Option<&str>) -> io::Result<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    SockRef::from(&socket).bind_device(device.map(str::as_bytes))?;
    // Sends nothing; the kernel looks up the route.
    socket.connect(to)?;
    Ok(socket.local_addr()?.ip())
}

fn address(from: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = from.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
    v4.or_else(|| from.as_sockaddr_in6().map(|v6| (v6.ip(), v6.port()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(listen: &str, to: &str) -> (usize, SocketAddr, u8) {
        let socket = HopLimitSocket::bind(listen.parse().unwrap()).unwrap();
        let port = socket.local_addr().unwrap().port();
        let to: IpAddr = to.parse().unwrap();
        socket.send_to(b"hello", (to, port).into()).unwrap();
        socket.receive(&mut [0; 64]).expect("loopback delivers at once")
    }

    #[test]
    fn a_datagram_arrives_with_the_hop_limit_that_it_was_sent_with() {
        for (listen, to) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "::ffff:127.0.0.1")] {
            if listen != "127.0.0.1:0" && UdpSocket::bind("[::1]:0").is_err() {
                continue;
            }
            let (length, from, hop_limit) = exchange(listen, to);
            assert_eq!(
                (length, from.ip().to_canonical(), hop_limit),
                (5, to.parse::<IpAddr>().unwrap().to_canonical(), 255)
            );
        }
        let socket = HopLimitSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        other.set_ttl(254).unwrap();
        other.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert_eq!(socket.receive(&mut [0; 64]).unwrap().2, 254);
    }

    #[test]
    fn the_source_address_is_that_of_the_route() {
        let to = "127.0.0.9:4791".parse().unwrap();
        assert_eq!(source_address(to, None).unwrap(), "127.0.0.1".parse::<IpAddr>().unwrap());
        assert_eq!(source_address(to, Some("no-such-device")).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
