//! Sockets from which datagrams of applications are taken: UDP, or a Unix socket, whose sender waits while nobody reads.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// See the module. A Unix socket's file goes with it.
#[derive(Debug)]
pub enum DatagramSocket {
    /// What finds its receive buffer full is dropped by the kernel.
    Udp(UdpSocket),
    /// Who finds it full waits.
    Unix(UnixDatagram, PathBuf),
}

impl DatagramSocket {
    /// A UDP port.
    ///
    /// # Errors
    /// The address is taken or not ours.
    pub fn udp(address: SocketAddr) -> io::Result<DatagramSocket> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(DatagramSocket::Udp(socket))
    }

    /// A Unix socket for its owner and group; it takes the place of one that a killed process left.
    ///
    /// # Errors
    /// There is something else at `path`, or somebody who receives, or no such directory.
    pub fn unix(path: &Path) -> io::Result<DatagramSocket> {
        if path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket()) {
            if UnixDatagram::unbound()?.connect(path).is_ok() {
                return Err(ErrorKind::AddrInUse.into());
            }
            std::fs::remove_file(path)?;
        }
        let socket = UnixDatagram::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
        socket.set_nonblocking(true)?;
        Ok(DatagramSocket::Unix(socket, path.to_owned()))
    }

    /// Takes a datagram; one that is too long is cut.
    ///
    /// # Errors
    /// There is none now.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            DatagramSocket::Udp(socket) => socket.recv(into),
            DatagramSocket::Unix(socket, _) => socket.recv(into),
        }
    }

    /// Datagrams that the kernel dropped because the receive buffer was full (`SO_MEMINFO`).
    ///
    /// # Errors
    /// It is no socket.
    pub fn dropped(&self) -> io::Result<u32> {
        let mut values = [0u32; libc::SK_MEMINFO_DROPS as usize + 1];
        let mut length = size_of_val(&values) as libc::socklen_t;
        let fd = self.fd().as_raw_fd();
        let into = values.as_mut_ptr().cast();
        // SAFETY: there is room for `length` bytes, and the kernel writes at most so many.
        super::check(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, into, &mut length) })?;
        Ok(values[libc::SK_MEMINFO_DROPS as usize])
    }

    /// The descriptor to wait for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            DatagramSocket::Udp(socket) => socket.as_fd(),
            DatagramSocket::Unix(socket, _) => socket.as_fd(),
        }
    }
}

impl Drop for DatagramSocket {
    fn drop(&mut self) {
        if let DatagramSocket::Unix(_, path) = self {
            // What is left, the next one takes the place of.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_to_a_unix_socket_that_is_not_read_waits_and_what_udp_drops_is_counted() {
        if airtcp_test_support::skip_emulated("SO_RXQ_OVFL") {
            return;
        }
        let path = std::env::temp_dir().join(format!("airtcp-datagrams-{}", std::process::id()));
        let socket = DatagramSocket::unix(&path).unwrap();
        assert_eq!(DatagramSocket::unix(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        let sender = UnixDatagram::unbound().unwrap();
        sender.connect(&path).unwrap();
        sender.set_nonblocking(true).unwrap();
        let sent = (0..100_000).take_while(|_| sender.send(&[7; 1000]).is_ok()).count();
        assert!((1..100_000).contains(&sent), "{sent}");
        let mut buffer = [0; 2000];
        let received = (0..100_000).take_while(|_| socket.receive(&mut buffer).is_ok()).count();
        assert_eq!((received, socket.dropped().unwrap()), (sent, 0));
        drop(socket);
        assert!(!path.exists());

        let socket = DatagramSocket::udp("127.0.0.1:0".parse().unwrap()).unwrap();
        let DatagramSocket::Udp(udp) = &socket else { unreachable!("it is one") };
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = udp.local_addr().unwrap();
        (0..2000).for_each(|_| assert_eq!(sender.send_to(&[7; 1000], to).unwrap(), 1000));
        let received = (0..2000).take_while(|_| socket.receive(&mut buffer).is_ok()).count() as u32;
        assert!(received < 2000);
        assert_eq!(received + socket.dropped().unwrap(), 2000);
    }

    /// A program that another test starts at this very moment has the descriptor, too, until it runs.
    fn wait_until_nobody_receives(path: &Path) {
        let asker = UnixDatagram::unbound().unwrap();
        let is_taken = |_: &u32| asker.connect(path).is_ok();
        (0..1000).take_while(is_taken).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(10)));
    }

    #[test]
    fn a_socket_that_a_killed_process_left_is_replaced_and_nothing_else_is() {
        let path = std::env::temp_dir().join(format!("airtcp-left-{}", std::process::id()));
        drop(UnixDatagram::bind(&path).unwrap());
        wait_until_nobody_receives(&path);
        drop(DatagramSocket::unix(&path).unwrap());
        std::fs::write(&path, "a file").unwrap();
        assert!(DatagramSocket::unix(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"a file");
        std::fs::remove_file(&path).unwrap();
    }
}
