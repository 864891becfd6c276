//! A UDP socket that tells when the kernel received each datagram (`SO_TIMESTAMPNS`).
//!
//! The time of arrival is taken as the packet enters the stack, so a receiver that reads later,
//! or a busy machine, does not change the measurement.

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
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

    /// Takes the next datagram: its length, and when it arrived in nanoseconds of
    /// CLOCK_REALTIME. `None` if there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, u64)>> {
        let (mut parts, mut control) = ([IoSliceMut::new(buffer)], nix::cmsg_space!(TimeSpec));
        let message = match recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty()) {
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
        Ok(Some((message.bytes, arrival.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::wall_clock_ns;

    #[test]
    fn a_datagram_arrives_with_the_time_of_its_arrival() {
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
}
