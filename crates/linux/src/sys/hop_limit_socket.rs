//! A UDP socket that sends with hop limit (TTL) 255 and tells with which each datagram arrived, so that its user knows how
//! far away the sender is at least (RFC 5082). Bound to an interface if wanted. It also tells which address of this machine a
//! datagram was sent to, and sends from one of choice.

use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrLike, SockaddrStorage, sendmsg, setsockopt, sockopt};
use socket2::{SockRef, Type};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const MOST: u32 = 255;

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its bytes in the buffer.
    pub length: usize,
    /// Where several were received as one ([`HopLimitSocket::join_datagrams`]): the length of each but the last, which may be
    /// shorter. Else `length`.
    pub segment: usize,
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
        HopLimitSocket::over(UdpSocket::bind(address)?, address)
    }

    /// A socket that another process bound to `address` and handed over.
    ///
    /// # Errors
    /// It is no such socket.
    pub fn adopt(fd: OwnedFd, address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::from(fd);
        if SockRef::from(&socket).r#type()? != Type::DGRAM || socket.local_addr()? != address {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "what was handed over is another socket"));
        }
        HopLimitSocket::over(socket, address)
    }

    fn over(socket: UdpSocket, address: SocketAddr) -> io::Result<Self> {
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

    /// Lets datagrams of one length that come in a row be received as one ([`Arrival::segment`]).
    ///
    /// # Errors
    /// The kernel cannot (before Linux 5.0).
    pub fn join_datagrams(&self) -> io::Result<()> {
        Ok(setsockopt(&self.0, sockopt::UdpGroSegment, &true)?)
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
        self.send(data, None, Some(from), to)
    }

    /// Sends `data` as datagrams of `segment` bytes each, but for the last, which may be shorter: at most 64, and 65,507 bytes
    /// in all. From `from`, if it is given.
    ///
    /// # Errors
    /// As [`HopLimitSocket::send_from`]; EINVAL or EMSGSIZE: they are longer than the MTU; EIO: the interface computes no
    /// checksums, and the kernel is older than Linux 6.11; others, if it is older than 4.18.
    pub fn send_segments(&self, data: &[u8], segment: u16, from: Option<IpAddr>, to: SocketAddr) -> io::Result<()> {
        self.send(data, Some(&segment), from, to)
    }

    fn send(&self, data: &[u8], segment: Option<&u16>, from: Option<IpAddr>, to: SocketAddr) -> io::Result<()> {
        let (parts, to) = ([IoSlice::new(data)], SockaddrStorage::from(to));
        // The interface is that of the socket or of the route.
        let from = from.map(|from| from.to_canonical());
        let from_ipv4 = match from {
            Some(IpAddr::V4(from)) => Some(libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from(from).to_be() },
                ipi_addr: libc::in_addr { s_addr: 0 },
            }),
            _ => None,
        };
        let from_ipv6 = match from {
            Some(IpAddr::V6(from)) => {
                Some(libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: from.octets() }, ipi6_ifindex: 0 })
            }
            _ => None,
        };
        let control: Vec<_> = (from_ipv4.as_ref().map(ControlMessage::Ipv4PacketInfo).into_iter())
            .chain(from_ipv6.as_ref().map(ControlMessage::Ipv6PacketInfo))
            .chain(segment.map(ControlMessage::UdpGsoSegments))
            .collect();
        Ok(sendmsg(self.0.as_raw_fd(), &parts, &control, MsgFlags::empty(), Some(&to)).map(drop)?)
    }

    /// Takes the next datagram.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, or what an ICMP error says about a datagram sent before.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrival> {
        let mut arrival = None;
        self.receive_many([buffer], |one| arrival = Some(one))?;
        arrival.ok_or(io::ErrorKind::InvalidData.into())
    }

    /// Takes as many datagrams as there are, one into each of the buffers, at most [`MANY`]; tells of each in their order.
    ///
    /// # Errors
    /// As [`HopLimitSocket::receive`].
    pub fn receive_many<'a>(
        &self,
        buffers: impl IntoIterator<Item = &'a mut [u8]>,
        mut tell: impl FnMut(Arrival),
    ) -> io::Result<()> {
        // SAFETY: all of these are plain data.
        let (mut parts, mut addresses, mut controls, mut headers): (
            [libc::iovec; MANY],
            [libc::sockaddr_storage; MANY],
            [Control; MANY],
            [libc::mmsghdr; MANY],
        ) = unsafe { std::mem::zeroed() };
        let mut count = 0;
        let places = headers.iter_mut().zip(&mut parts).zip(&mut addresses).zip(&mut controls);
        for ((((header, part), address), control), buffer) in places.zip(buffers) {
            *part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (&raw mut *address).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as u32;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<Control>();
            count += 1;
        }
        let fd = self.0.as_raw_fd();
        // SAFETY: `count` headers are filled in, and all that they point to lives through the call.
        let taken = unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), count, 0, std::ptr::null_mut()) };
        for header in &headers[..super::check(taken)? as usize] {
            // SAFETY: the kernel filled the header in, and what it points to lives.
            tell(unsafe { arrival(header) });
        }
        Ok(())
    }
}

/// Most datagrams that are taken at once.
pub const MANY: usize = 16;

/// Room for hop limit and address of either family, aligned as their headers are.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 128]);

/// What a header says that the kernel filled in.
///
/// # Safety
/// It, its address and its control messages are those of a datagram that was just received.
unsafe fn arrival(header: &libc::mmsghdr) -> Arrival {
    let (message, length) = (&header.msg_hdr, header.msg_len as usize);
    // SAFETY: so says the caller, and the kernel writes whole control messages.
    unsafe {
        let from = SockaddrStorage::from_raw(message.msg_name.cast(), Some(message.msg_namelen));
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let from = from.as_ref().and_then(address).unwrap_or(nowhere);
        let (mut to, mut hop_limit, mut segment) = (None, 0, length);
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = next.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (control.cmsg_level, control.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    hop_limit = u8::try_from(data.cast::<i32>().read_unaligned()).unwrap_or(0);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    to = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    to = Some(IpAddr::from(Ipv6Addr::from(info.ipi6_addr.s6_addr)).to_canonical());
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let told = data.cast::<i32>().read_unaligned();
                    segment = usize::try_from(told).ok().filter(|told| *told > 0).unwrap_or(length);
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(message, control);
        }
        Arrival { length, segment, from, to, hop_limit }
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
            let Arrival { length, from, to: here, hop_limit, .. } = exchange(listen, to);
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
    fn datagrams_in_a_row_leave_and_arrive_as_one() {
        let socket = HopLimitSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.join_datagrams().unwrap();
        let (here, data) = (socket.local_addr().unwrap(), [7; 950]);
        socket.send_segments(&data, 100, None, here).unwrap();
        socket.send_to(b"alone", here).unwrap();
        let (mut buffers, mut arrivals) = ([[0; 2000]; 3], Vec::new());
        let result = socket.receive_many(buffers.iter_mut().map(|one| &mut one[..]), |arrival| arrivals.push(arrival));
        result.unwrap();
        let lengths: Vec<_> = arrivals.iter().map(|arrival| (arrival.length, arrival.segment)).collect();
        assert_eq!(lengths, [(950, 100), (5, 5)]);
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
