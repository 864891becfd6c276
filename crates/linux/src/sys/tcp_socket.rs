//! Kernel TCP sockets with the options the standard library has no words for.
//!
//! Everything a measurement depends on is set explicitly and before the connection exists:
//! the congestion controller, the bound on unsent bytes, and (for the wrap tests) the first
//! sequence number and the timestamp clock, through the kernel's repair mode (tcp(7),
//! linux/tcp.h `TCP_REPAIR`; needs CAP_NET_ADMIN).

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::mem::size_of;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// From linux/tcp.h; `libc` lacks some of them.
const TCP_REPAIR: i32 = 19;
const TCP_REPAIR_QUEUE: i32 = 20;
const TCP_QUEUE_SEQ: i32 = 21;
const TCP_TIMESTAMP: i32 = 24;
const TCP_SEND_QUEUE: i32 = 2;
/// Leave repair mode without sending a window probe.
const TCP_REPAIR_OFF_NO_WP: i32 = -1;

/// A new non-blocking TCP socket in the calling thread's network namespace.
pub fn open(family: IpAddr) -> io::Result<OwnedFd> {
    let domain = if family.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    Ok(Socket::new(domain, Type::STREAM.nonblocking(), None)?.into())
}

/// Binds `socket` to a local address.
pub fn bind(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    SockRef::from(&socket).bind(&address.into())
}

/// Starts to connect; the connection stands when the socket becomes writable and
/// [`TcpStream::take_error`] has nothing to tell.
pub fn connect(socket: OwnedFd, address: SocketAddr) -> io::Result<TcpStream> {
    match SockRef::from(&socket).connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(TcpStream::from(socket)),
    }
}

/// Lets the sockets bound later take over the address of one in TIME_WAIT.
pub fn set_reuse_address(socket: BorrowedFd<'_>) -> io::Result<()> {
    SockRef::from(&socket).set_reuse_address(true)
}

/// Starts to listen, for one connection at a time.
pub fn listen(socket: BorrowedFd<'_>) -> io::Result<()> {
    listen_for(socket, 1)
}

/// The same for so many that wait to be accepted.
pub fn listen_for(socket: BorrowedFd<'_>, backlog: i32) -> io::Result<()> {
    SockRef::from(&socket).listen(backlog)
}

/// Chooses the congestion controller by the kernel's name for it.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    SockRef::from(&socket).set_tcp_congestion(name.as_bytes())
}

/// Sets an option that is a number, by its level and name (socket(7), tcp(7)).
pub fn set_number(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    let (pointer, len) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: pointer and length describe `value`, which the kernel only reads.
    super::check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, len) }).map(drop)
}

/// Keeps at most about `bytes` written but unsent: the socket stops being writable above it.
pub fn set_unsent_limit(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    SockRef::from(&socket).set_tcp_notsent_lowat(bytes)
}

/// Fixes the receive buffer at twice `bytes`, whatever `net.core.rmem_max` says; the kernel tunes it no longer. What
/// window it offers depends on the memory that segments take: see [`clamp_window`]. Needs CAP_NET_ADMIN.
pub fn set_receive_buffer(socket: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    // The kernel doubles what is asked for.
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX / 2);
    set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
}

/// Offers windows up to `bytes`. The kernel forgets it when it learns how much memory segments take, so say it again
/// while data come.
pub fn clamp_window(socket: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    set_number(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Makes closing the socket send a reset and forget what is unsent.
pub fn set_reset_on_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    SockRef::from(&socket).set_linger(Some(Duration::ZERO))
}

/// Makes the SYN of a not yet connected socket carry `sequence`.
///
/// The queue's sequence number can be set in repair mode only; `connect` outside it then keeps
/// a number that is already there (net/ipv4/tcp_ipv4.c, `tcp_v4_connect`). Zero cannot be
/// asked for: it means "choose one".
pub fn set_initial_sequence(socket: BorrowedFd<'_>, sequence: u32) -> io::Result<()> {
    set_tcp(socket, TCP_REPAIR, 1)?;
    let result = set_tcp(socket, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE)
        .and_then(|()| set_tcp(socket, TCP_QUEUE_SEQ, sequence.cast_signed()));
    set_tcp(socket, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP)?;
    result
}

/// The sequence number of the next byte that will be written to a connected socket.
pub fn write_sequence(socket: BorrowedFd<'_>) -> io::Result<u32> {
    set_tcp(socket, TCP_REPAIR, 1)?;
    let result = set_tcp(socket, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE).and_then(|()| get_tcp(socket, TCP_QUEUE_SEQ));
    set_tcp(socket, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP)?;
    Ok(result?.cast_unsigned())
}

/// The timestamp (RFC 7323 TSval) that a segment sent now would carry.
pub fn timestamp_clock(socket: BorrowedFd<'_>) -> io::Result<u32> {
    get_tcp(socket, TCP_TIMESTAMP).map(i32::cast_unsigned)
}

/// Sets the timestamp clock of a connected socket; it must not have data in flight, and the
/// peer drops what looks older than what it saw (RFC 7323 section 5, PAWS).
pub fn set_timestamp_clock(socket: BorrowedFd<'_>, value: u32) -> io::Result<()> {
    set_tcp(socket, TCP_REPAIR, 1)?;
    let result = set_tcp(socket, TCP_TIMESTAMP, value.cast_signed());
    set_tcp(socket, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP)?;
    result
}

/// Waits until `fd` is ready for one of `events` (`POLLIN`, `POLLOUT`), at most `timeout_ms`.
/// Returns what is ready, 0 after the timeout or a signal.
pub fn wait_ready(fd: &impl AsFd, events: i16, timeout_ms: i32) -> io::Result<i16> {
    let mut entries = [PollFd::new(fd.as_fd(), PollFlags::from_bits_retain(events))];
    match poll(&mut entries, PollTimeout::try_from(timeout_ms).unwrap_or(PollTimeout::NONE)) {
        Ok(_) => Ok(entries[0].revents().unwrap_or(PollFlags::empty()).bits()),
        Err(Errno::EINTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn get_tcp(socket: BorrowedFd<'_>, option: i32) -> io::Result<i32> {
    let mut value = 0i32;
    let mut len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: `value` has room for the `len` bytes the kernel may write.
    super::check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, (&raw mut value).cast(), &mut len)
    })?;
    Ok(value)
}

fn set_tcp(socket: BorrowedFd<'_>, option: i32, value: i32) -> io::Result<()> {
    set_number(socket, libc::IPPROTO_TCP, option, value)
}
