//! Frames sent on a link by their hardware address, and what the link's driver says became of them (`SO_WIFI_STATUS`).
//!
//! The kernel reports on a frame only to the socket that sent it, so what forwarding or the machine's own TCP sends is
//! never reported: who wants to know sends the frame itself.

use super::tcp_socket::set_number;
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// `SO_WIFI_STATUS` of asm-generic/socket.h; a report carries a control message of the same number.
const SO_WIFI_STATUS: libc::c_int = 41;
/// A message of the error queue comes with `sock_extended_err` and an address beside the status.
const CONTROL_WORDS: usize = 64;

/// A packet socket that sends on one link and receives nothing but reports.
#[derive(Debug)]
pub struct FrameSocket(Socket);

/// What became of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The receiver acknowledged it.
    pub is_acknowledged: bool,
    /// Bytes of the frame that were written into the buffer.
    pub length: usize,
}

/// Has a packet socket send on the link of this index, and receive what is of this protocol there (none is 0).
pub(super) fn bind_to_link(socket: &Socket, link: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain data for which all-zero bytes are valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = link as libc::c_int;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address lives through the call, and its length is given.
    super::check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

impl FrameSocket {
    /// A socket on the link of this index, whose frames carry `mark`.
    ///
    /// # Errors
    /// The process may not send frames (`CAP_NET_RAW`), or not mark them (`CAP_NET_ADMIN`), or there is no such link.
    pub fn open(link: u32, mark: u32) -> io::Result<FrameSocket> {
        // Of protocol 0, which no frame has: nothing is received.
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking().cloexec(), None)?;
        SockRef::from(&socket).set_mark(mark)?;
        set_number(socket.as_fd(), libc::SOL_SOCKET, SO_WIFI_STATUS, 1)?;
        bind_to_link(&socket, link, 0)?;
        Ok(FrameSocket(socket))
    }

    /// Sends a frame that begins with its Ethernet header.
    ///
    /// # Errors
    /// The link is down, or has no room.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.0.send(frame).map(drop)
    }

    /// The next report, if there is any; the beginning of the frame goes into `buffer`.
    ///
    /// # Errors
    /// The socket broke.
    pub fn report(&self, buffer: &mut [u8]) -> io::Result<Option<Report>> {
        loop {
            let mut control = [0u64; CONTROL_WORDS];
            let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            // SAFETY: msghdr is plain data for which all-zero bytes are valid.
            let mut message: libc::msghdr = unsafe { zeroed() };
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            // SAFETY: the message points to a buffer and to room for control messages that live through the call, with
            // their lengths.
            let read = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE) };
            let length = match super::check_len(read) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            // What else the error queue has is of no interest.
            if let Some(is_acknowledged) = status_of(&message) {
                return Ok(Some(Report { is_acknowledged, length }));
            }
        }
    }

    /// Takes what is pending as the socket's error (the link went down), so that waiting does not end at once for ever.
    pub fn take_error(&self) {
        let _ = self.0.take_error();
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The status in the control messages that were received.
fn status_of(message: &libc::msghdr) -> Option<bool> {
    // SAFETY: the kernel has filled in `message`, whose buffers are alive; the macros stay within them.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !at.is_null() {
        // SAFETY: it is not null, so it is a header within the buffer.
        let header = unsafe { &*at };
        let length = header.cmsg_len as usize;
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, SO_WIFI_STATUS)
            // SAFETY: only reckons with the size.
            && length >= unsafe { libc::CMSG_LEN(size_of::<libc::c_int>() as u32) } as usize
        {
            // SAFETY: the message has room for the number, as its length says; it need not be aligned.
            return Some(unsafe { libc::CMSG_DATA(at).cast::<libc::c_int>().read_unaligned() } != 0);
        }
        // SAFETY: as above.
        at = unsafe { libc::CMSG_NXTHDR(message, at) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_a_link_that_is_no_radio_takes_frames_and_reports_nothing() {
        if !crate::sys::process::has_net_admin() {
            return airtcp_test_support::skip("needs CAP_NET_ADMIN");
        }
        let link = crate::sys::interface::index("lo").unwrap();
        let socket = FrameSocket::open(link, 7).unwrap();
        socket.send(&[0; 60]).unwrap();
        assert_eq!(socket.report(&mut [0; 128]).unwrap(), None);
    }
}
