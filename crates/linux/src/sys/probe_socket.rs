//! A UDP socket that tells when the kernel received each datagram (`SO_TIMESTAMPNS`).
//!
//! The time of arrival is taken as the packet enters the stack, so a receiver that reads later,
//! or a busy machine, does not change the measurement.

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A bound UDP socket with times of arrival.
#[derive(Debug)]
pub struct ProbeSocket {
    socket: UdpSocket,
}

/// Room for what waits between two reads.
const BUFFER_BYTES: usize = 32 << 20;

impl ProbeSocket {
    /// Binds in the network namespace of the calling thread.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        // Past the limit for everybody (net.core.rmem_max) if allowed, else up to it.
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES))?;
        Ok(ProbeSocket { socket })
    }

    /// For waiting until something has come.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Where it is bound.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends one datagram.
    pub fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        self.socket.send_to(data, to).map(|_| ())
    }

    /// Sets DSCP and ECN of what it sends.
    pub fn set_traffic_class(&self, class: u8) -> io::Result<()> {
        let socket = SockRef::from(&self.socket);
        match self.socket.local_addr()? {
            SocketAddr::V4(_) => socket.set_tos_v4(class.into()),
            SocketAddr::V6(_) => socket.set_tclass_v6(class.into()),
        }
    }

    /// Takes the next datagram: its length, and when it arrived in nanoseconds of
    /// CLOCK_REALTIME. `None` if there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, u64)>> {
        Ok(self.receive_from(buffer)?.map(|(len, _, arrival)| (len, arrival)))
    }

    /// The same with where it came from behind the length.
    pub fn receive_from(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr, u64)>> {
        let (mut parts, mut control) = ([IoSliceMut::new(buffer)], nix::cmsg_space!(TimeSpec));
        let message = match recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::empty(),
        ) {
            Ok(message) => message,
            Err(Errno::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let arrival = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(time) => {
                Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
            }
            _ => None,
        });
        let from = message.address.as_ref().and_then(socket_address).ok_or(Errno::EAFNOSUPPORT)?;
        Ok(Some((message.bytes, from, arrival.unwrap_or(0))))
    }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::wall_clock_ns;

    #[test]
    fn a_datagram_arrives_with_the_time_of_its_arrival() {
        if airtcp_test_support::skip_emulated("SO_TIMESTAMPNS") {
            return;
        }
        let socket = ProbeSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap_or_else(|error| {
            panic!("binding on loopback: {error}");
        });
        let before = wall_clock_ns();
        socket.send_to(b"probe", socket.local_addr().unwrap()).unwrap();
        let (len, at) = socket.receive(&mut [0; 64]).unwrap().expect("loopback delivers at once");
        assert_eq!(len, 5);
        assert!((before..=wall_clock_ns()).contains(&at), "{before} {at}");
        assert!(socket.receive(&mut [0; 64]).unwrap().is_none());
    }
    #[test]
    fn what_it_sends_is_marked_over_either_version_of_ip() {
        if airtcp_test_support::skip_emulated("SO_TIMESTAMPNS") {
            return;
        }
        let v4 = ProbeSocket::bind("127.0.0.1:0".parse().unwrap()).expect("loopback");
        v4.set_traffic_class(46 << 2).unwrap();
        assert_eq!(SockRef::from(&v4.socket).tos_v4().unwrap(), 184);
        let Ok(v6) = ProbeSocket::bind("[::1]:0".parse().unwrap()) else { return };
        v6.set_traffic_class(46 << 2).unwrap();
        assert_eq!(SockRef::from(&v6.socket).tclass_v6().unwrap(), 184);
    }
}
