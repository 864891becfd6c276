//! A UDP socket that tells when the kernel received each datagram (`SO_TIMESTAMPNS`).
//!
//! The time of arrival is taken as the packet enters the stack, so a receiver that reads later,
//! or a busy machine, does not change the measurement.

use std::io;
use std::mem::zeroed;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A bound UDP socket with times of arrival.
#[derive(Debug)]
pub struct ProbeSocket {
    socket: UdpSocket,
}

/// Room for what waits between two reads.
const BUFFER_BYTES: i32 = 32 << 20;

impl ProbeSocket {
    /// Binds in the network namespace of the calling thread.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let probe = ProbeSocket { socket };
        probe.set(libc::SO_TIMESTAMPNS, 1)?;
        // Past the limit for everybody (net.core.rmem_max) if allowed, else up to it.
        if probe.set(libc::SO_RCVBUFFORCE, BUFFER_BYTES).is_err() {
            probe.set(libc::SO_RCVBUF, BUFFER_BYTES)?;
        }
        Ok(probe)
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
        let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut control = [0u64; 16];
        // SAFETY: all-zero bytes are a valid msghdr.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the message points to one buffer and one control area, both writable and of
        // the lengths given, and alive through the call.
        let result = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0) };
        match super::check_len(result) {
            Ok(len) => Ok(Some((len, arrival(&message)))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set(&self, option: i32, value: i32) -> io::Result<()> {
        // SAFETY: pointer and length describe `value`, which the kernel only reads.
        super::check(unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const value).cast(),
                size_of::<i32>() as libc::socklen_t,
            )
        })
        .map(drop)
    }
}

/// The time of arrival among a received message's control data; 0 if it is not there.
fn arrival(message: &libc::msghdr) -> u64 {
    // SAFETY: the kernel filled the control area, and these walk it within its length.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(current) = header.as_ref() {
            if current.cmsg_level == libc::SOL_SOCKET && current.cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(current).cast::<libc::timespec>().read_unaligned();
                return time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            }
            header = libc::CMSG_NXTHDR(message, current);
        }
    }
    0
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
