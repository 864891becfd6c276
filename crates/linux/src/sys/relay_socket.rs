//! Kernel TCP sockets as a proxy needs them: they leave no clean end behind when the process is killed, and tell what the
//! other host has acknowledged.

use super::tcp_socket::{set_number, set_reset_on_close};
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Connections that wait to be accepted; the kernel has a bound of its own.
const BACKLOG: i32 = 4096;

/// A listening socket. What it accepts resets its peer when the process ends (the option is inherited), and gives urgent
/// bytes in their place in the stream. `is_transparent`: it takes connections to any address that are led here (TPROXY).
///
/// # Errors
/// The address is taken or not ours.
pub fn listen(address: SocketAddr, is_transparent: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?;
    if is_transparent {
        set_transparent(socket.as_fd(), address.is_ipv4())?;
    }
    prepare(socket.as_fd())?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Starts to connect, from `source` if that is given, whoever has that address (`CAP_NET_ADMIN`).
///
/// # Errors
/// There is no way there.
pub fn connect(address: SocketAddr, source: Option<SocketAddr>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    prepare(socket.as_fd())?;
    if let Some(source) = source {
        set_transparent(socket.as_fd(), address.is_ipv4())?;
        socket.set_reuse_address(true)?;
        socket.bind(&source.into())?;
    }
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_reset_on_close(socket)?;
    SockRef::from(&socket).set_out_of_band_inline(true)?;
    SockRef::from(&socket).set_keepalive(true)?;
    SockRef::from(&socket).set_tcp_nodelay(true)
}

fn set_transparent(socket: BorrowedFd<'_>, is_ipv4: bool) -> io::Result<()> {
    if is_ipv4 {
        SockRef::from(&socket).set_ip_transparent_v4(true)
    } else {
        set_number(socket, libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT, 1)
    }
}

/// Makes closing the socket send what is left and then the end, in the background.
///
/// # Errors
/// It is no socket.
pub fn set_end_on_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    SockRef::from(&socket).set_linger(None)
}

/// Bytes written that the other host has not acknowledged (tcp(7), `SIOCOUTQ`).
///
/// # Errors
/// It is no connected socket.
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut value: libc::c_int = 0;
    // SAFETY: the request writes one int, for which there is room.
    super::check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut value) })?;
    Ok(value.max(0) as usize)
}

/// Has routers cut datagrams that are too long for a link, instead of dropping them (`IP_PMTUDISC_DONT`).
///
/// # Errors
/// It is no socket of IPv4.
pub fn allow_fragments(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_number(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::time::Duration;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = loop {
            match listener.accept() {
                Ok((accepted, _)) => break accepted,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        (accepted, client)
    }

    #[test]
    fn what_was_accepted_resets_its_peer_when_it_is_closed_and_ends_if_that_is_wanted() {
        let mut buffer = [0; 8];
        let (accepted, mut client) = pair();
        (&accepted).write_all(b"part").unwrap();
        drop(accepted);
        let mut read = client.read(&mut buffer);
        if matches!(read, Ok(4)) {
            read = client.read(&mut buffer);
        }
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        let (accepted, mut client) = pair();
        (&accepted).write_all(b"all").unwrap();
        set_end_on_close(accepted.as_fd()).unwrap();
        drop(accepted);
        assert_eq!((client.read(&mut buffer).unwrap(), client.read(&mut buffer).unwrap()), (3, 0));
    }

    #[test]
    fn bytes_are_unacknowledged_until_the_other_host_has_them() {
        let (accepted, client) = pair();
        accepted.set_nonblocking(true).unwrap();
        let chunk = vec![0; 1 << 16];
        let mut written = 0;
        while let Ok(length) = (&accepted).write(&chunk) {
            written += length;
        }
        assert!(unacknowledged(accepted.as_fd()).unwrap() > 0);
        let mut reader = client;
        let mut sink = vec![0; written];
        reader.read_exact(&mut sink).unwrap();
        for _ in 0..1000 {
            if unacknowledged(accepted.as_fd()).unwrap() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("all was read, and is not acknowledged");
    }
}
