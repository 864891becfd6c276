//! Descriptors on their way to another process: over a Unix socket, to a child, or to the program that takes this one's place.

use nix::cmsg_space;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Sends bytes, and a descriptor with them.
///
/// # Errors
/// `WouldBlock` where there is no room, if the socket does not wait; nobody is at the other end.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let raw = descriptor.map(|descriptor| [descriptor.as_raw_fd()]);
    let control = raw.as_ref().map(|raw| ControlMessage::ScmRights(raw));
    let flags = MsgFlags::MSG_NOSIGNAL;
    let sent = sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], control.as_slice(), flags, None)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Takes bytes, and the descriptor that came with the last of them. No bytes where the other end is closed.
///
/// # Errors
/// `WouldBlock` where nothing waits, if the socket does not wait.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let (mut parts, mut control) = ([IoSliceMut::new(buffer)], cmsg_space!([RawFd; 1]));
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<UnixAddr>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let mut descriptor = None;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = control {
            // SAFETY: the kernel made these descriptors for this process just now.
            descriptor = received.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }).next_back();
        }
    }
    Ok((message.bytes, descriptor))
}

/// A file in memory, which has no place where others could find it.
///
/// # Errors
/// The system has no memory or no descriptor for it.
pub fn memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?))
}

/// Lets the child have a descriptor by its present number.
pub fn inherit(command: &mut Command, descriptor: RawFd) -> &mut Command {
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            // SAFETY: the child has a copy of it; only a flag is changed.
            Ok(fcntl(BorrowedFd::borrow_raw(descriptor), FcntlArg::F_SETFD(FdFlag::empty())).map(drop)?)
        })
    }
}

/// Takes over a descriptor that whoever started this process left open by this number. It is not left to others.
///
/// # Errors
/// There is none.
pub fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    if number <= libc::STDERR_FILENO {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: only a flag is changed, and only of an open descriptor.
    fcntl(unsafe { BorrowedFd::borrow_raw(number) }, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    // SAFETY: it is open, and the starter's word says that it belongs to nobody else here.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Whether the program that takes this one's place finds the descriptor open.
///
/// # Errors
/// What `fcntl` says.
pub fn keep_over_exec(descriptor: BorrowedFd<'_>, is_kept: bool) -> io::Result<()> {
    let flag = if is_kept { FdFlag::empty() } else { FdFlag::FD_CLOEXEC };
    Ok(fcntl(descriptor, FcntlArg::F_SETFD(flag)).map(drop)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_arrives_with_the_last_of_its_bytes() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut reader, mut writer) = io::pipe().unwrap();
        send(near.as_fd(), b"none\n", None).unwrap();
        send(near.as_fd(), b"pipe\n", Some(writer.as_fd())).unwrap();
        send(near.as_fd(), b"end\n", None).unwrap();
        writer.write_all(b"a").unwrap();
        drop((near, writer));
        let (mut buffer, mut words, mut received) = ([0; 64], Vec::new(), None);
        loop {
            let (length, descriptor) = receive(far.as_fd(), &mut buffer).unwrap();
            if length == 0 {
                break;
            }
            words.extend_from_slice(&buffer[..length]);
            if let Some(descriptor) = descriptor {
                assert!(words.ends_with(b"pipe\n"), "{words:?}");
                received = Some(descriptor);
            }
        }
        assert_eq!(words, b"none\npipe\nend\n");
        File::from(received.expect("one was sent")).write_all(b"b").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "ab");
    }

    #[test]
    fn a_child_finds_what_it_is_to_inherit_and_a_number_that_is_not_open_is_refused() {
        let (mut reader, writer) = io::pipe().unwrap();
        let number = writer.as_raw_fd();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo hello >&{number}")]);
        assert!(inherit(&mut command, number).status().unwrap().success());
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
        assert!(adopt(987_654).is_err() && adopt(0).is_err());
    }
}
