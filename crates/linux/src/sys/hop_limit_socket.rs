//! A UDP socket that sends with hop limit (TTL) 255 and tells with which each datagram arrived, so that its user knows how
//! far away the sender is at least (RFC 5082). Bound to an interface if wanted. It also tells which address of this machine a
//! datagram was sent to, and sends from one of choice.

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt,
};
use socket2::SockRef;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const MOST: u32 = 255;

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its bytes in the buffer.
    pub length: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// To which address of this machine.
    pub to: Option<IpAddr>,
    /// Its hop limit (0 if the kernel does not tell).
    pub hop_limit: u8,
}

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
        let ipv4 = options.set_ttl_v4(MOST).and_then(|()| {
            setsockopt(&socket, sockopt::Ipv4RecvTtl, &true)?;
            Ok(setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?)
        });
        if address.is_ipv6() {
            options.set_unicast_hops_v6(MOST)?;
            options.set_recv_hoplimit_v6(true)?;
            setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
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

    /// Lets so many bytes wait in each direction, beyond what the machine allows others (`CAP_NET_ADMIN`).
    ///
    /// # Errors
    /// EPERM.
    pub fn set_buffers(&self, bytes: usize) -> io::Result<()> {
        setsockopt(&self.0, sockopt::RcvBufForce, &bytes)?;
        Ok(setsockopt(&self.0, sockopt::SndBufForce, &bytes)?)
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

    /// The same from an address of this machine, whatever the route says.
    ///
    /// # Errors
    /// It is none of this machine, or as [`HopLimitSocket::send_to`].
    pub fn send_from(&self, data: &[u8], from: IpAddr, to: SocketAddr) -> io::Result<()> {
        let (parts, to) = ([IoSlice::new(data)], SockaddrStorage::from(to));
        let send = |control| {
            sendmsg(self.0.as_raw_fd(), &parts, &[control], MsgFlags::empty(), Some(&to)).map(drop).map_err(Into::into)
        };
        // The interface is that of the socket or of the route.
        match from.to_canonical() {
            IpAddr::V4(from) => {
                let from = libc::in_addr { s_addr: u32::from(from).to_be() };
                let info =
                    libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: from, ipi_addr: libc::in_addr { s_addr: 0 } };
                send(ControlMessage::Ipv4PacketInfo(&info))
            }
            IpAddr::V6(from) => {
                let from = libc::in6_addr { s6_addr: from.octets() };
                send(ControlMessage::Ipv6PacketInfo(&libc::in6_pktinfo { ipi6_addr: from, ipi6_ifindex: 0 }))
            }
        }
    }

    /// Takes the next datagram.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, or what an ICMP error says about a datagram sent before.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrival> {
        // Of IPv4 and of IPv6.
        let mut control = nix::cmsg_space!(i32, i32, libc::in_pktinfo, libc::in6_pktinfo);
        let mut parts = [IoSliceMut::new(buffer)];
        let fd = self.0.as_raw_fd();
        let message = recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut control), MsgFlags::empty())?;
        let hop_limit = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4Ttl(limit) | ControlMessageOwned::Ipv6HopLimit(limit) => u8::try_from(limit).ok(),
            _ => None,
        });
        let to = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into())
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                Some(IpAddr::from(Ipv6Addr::from(info.ipi6_addr.s6_addr)).to_canonical())
            }
            _ => None,
        });
        let from = message.address.as_ref().and_then(address).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Arrival { length: message.bytes, from, to, hop_limit: hop_limit.unwrap_or(0) })
    }
}

impl AsFd for HopLimitSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn address(from: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = from.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
    v4.or_else(|| from.as_sockaddr_in6().map(|v6| (v6.ip(), v6.port()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(listen: &str, to: &str) -> Arrival {
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
            let Arrival { length, from, to: here, hop_limit } = exchange(listen, to);
            let to = to.parse::<IpAddr>().unwrap().to_canonical();
            assert_eq!((length, from.ip().to_canonical(), here, hop_limit), (5, to, Some(to), 255));
        }
        let socket = HopLimitSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        other.set_ttl(254).unwrap();
        other.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert_eq!(socket.receive(&mut [0; 64]).unwrap().hop_limit, 254);
    }

    #[test]
    fn a_datagram_is_sent_from_the_address_of_choice() {
        for (listen, to) in [("0.0.0.0:0", "127.0.0.1"), ("[::]:0", "::ffff:127.0.0.1")] {
            let Ok(socket) = HopLimitSocket::bind(listen.parse().unwrap()) else { continue };
            let to = SocketAddr::new(to.parse().unwrap(), socket.local_addr().unwrap().port());
            let from = "127.0.0.7".parse().unwrap();
            socket.send_from(b"hello", from, to).unwrap();
            let arrival = socket.receive(&mut [0; 64]).unwrap();
            assert_eq!((arrival.from.ip().to_canonical(), arrival.hop_limit), (from, 255), "{listen}");
            assert!(socket.send_from(b"hello", "192.0.2.1".parse().unwrap(), to).is_err(), "not of this machine");
        }
    }
}
