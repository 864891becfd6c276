//! Generic netlink (linux/genetlink.h): families of the kernel by name, and messages of attributes. Used for radios:
//! nl80211 says what one can do, and MAC80211_HWSIM gives the air of simulated ones to a program.

use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_GENERIC;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// `nlmsghdr` and `genlmsghdr`.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
/// Flags in the type of an attribute: nested, and in network order.
const TYPE_MASK: u16 = 0x3fff;
/// Longest message that is read: a frame, or a part of a dump.
const MESSAGE_MAX: usize = 1 << 16;
/// What the kernel keeps for a reader that is busy.
const BUFFER_BYTES: usize = 4 << 20;

/// A socket of generic netlink.
pub struct GenericSocket {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

/// Commands of a family with their attributes, on their way to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    bytes: Vec<u8>,
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The family's number.
    pub family: u16,
    /// What it is about.
    pub command: u8,
    attributes: &'a [u8],
}

impl Request {
    /// `command` to the family of this number.
    pub fn new(family: u16, command: u8) -> Request {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&family.to_ne_bytes());
        bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
        // Version 1 of every family so far.
        bytes.extend([command, 1, 0, 0]);
        Request { bytes }
    }

    /// Adds an attribute.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Request {
        let length = (GENERIC_HEADER + value.len()) as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    fn flags(mut self, more: u16) -> Request {
        let flags = NLM_F_REQUEST | more;
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

impl<'a> Message<'a> {
    /// The value of an attribute.
    pub fn get(&self, kind: u16) -> Option<&'a [u8]> {
        attributes(self.attributes).find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The value of an attribute that is a number of 32 bits.
    pub fn number(&self, kind: u16) -> Option<u32> {
        self.get(kind)?.try_into().ok().map(u32::from_ne_bytes)
    }
}

/// What a datagram from the kernel holds.
enum Item<'a> {
    Message(Message<'a>),
    /// An error, or 0 for what was asked to be confirmed.
    Answer(i32),
    Done,
}

/// The messages in a datagram; what is cut off or of no sense ends it.
fn items(datagram: &[u8]) -> impl Iterator<Item = Item<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(rest.get(4..6)?.try_into().ok()?);
        let body = rest.get(HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(match kind {
            NLMSG_DONE => Item::Done,
            NLMSG_ERROR => Item::Answer(i32::from_ne_bytes(body.get(..4)?.try_into().ok()?)),
            family => Item::Message(Message {
                family,
                command: *body.first()?,
                attributes: body.get(GENERIC_HEADER..).unwrap_or_default(),
            }),
        })
    })
}

fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?) & TYPE_MASK;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

impl GenericSocket {
    /// A socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// The system's words.
    pub fn open() -> io::Result<GenericSocket> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        // Past the limit for everybody if allowed; else what there is must do.
        let _ = socket.set_rx_buf_sz(BUFFER_BYTES);
        Ok(GenericSocket { socket, buffer: vec![0; MESSAGE_MAX], sequence: 0 })
    }

    /// The number of a family.
    ///
    /// # Errors
    /// ENOENT: the kernel has no such family (its module is not loaded).
    pub fn family(&mut self, name: &str) -> io::Result<u16> {
        let mut value = name.as_bytes().to_vec();
        value.push(0);
        let mut number = None;
        self.ask(Request::new(GENL_ID_CTRL, CTRL_CMD_GETFAMILY).with(CTRL_ATTR_FAMILY_NAME, &value), |message| {
            let found = message.get(CTRL_ATTR_FAMILY_ID).and_then(|value| value.try_into().ok());
            number = found.map(u16::from_ne_bytes).or(number);
        })?;
        number.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Asks, and waits for the kernel's answer.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn ask(&mut self, request: Request, each: impl FnMut(Message<'_>)) -> io::Result<()> {
        self.exchange(request.flags(NLM_F_ACK), each)
    }

    /// Asks for all of a kind.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn dump(&mut self, request: Request, each: impl FnMut(Message<'_>)) -> io::Result<()> {
        self.exchange(request.flags(NLM_F_DUMP), each)
    }

    fn exchange(&mut self, request: Request, mut each: impl FnMut(Message<'_>)) -> io::Result<()> {
        self.send(request)?;
        loop {
            let length = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            for item in items(&self.buffer[..length]) {
                match item {
                    Item::Message(message) => each(message),
                    Item::Done | Item::Answer(0) => return Ok(()),
                    Item::Answer(error) => return Err(io::Error::from_raw_os_error(-error)),
                }
            }
        }
    }

    /// Sends without waiting for an answer.
    ///
    /// # Errors
    /// The system's words.
    pub fn send(&mut self, request: Request) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        // Without an address it goes to the kernel.
        self.socket.send(&request.finish(self.sequence), 0).map(drop)
    }

    /// From now on reading does not wait.
    ///
    /// # Errors
    /// The system's words.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        self.socket.set_non_blocking(true)
    }

    /// Takes the messages that have come; false if there were none. What the kernel refused of what was sent is counted in
    /// `refused`.
    ///
    /// # Errors
    /// The system's words.
    pub fn receive(&mut self, refused: &mut u64, mut each: impl FnMut(Message<'_>)) -> io::Result<bool> {
        let length = match self.socket.recv(&mut &mut self.buffer[..], 0) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for item in items(&self.buffer[..length]) {
            match item {
                Item::Message(message) => each(message),
                Item::Answer(0) | Item::Done => {}
                Item::Answer(_) => *refused += 1,
            }
        }
        Ok(true)
    }
}

impl AsFd for GenericSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket owns the descriptor, and lives as long as what is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_were_written_whatever_their_length() {
        let bytes = Request::new(30, 2).with(7, &[1, 2, 3, 4, 5]).with(9, &8u32.to_ne_bytes()).finish(1);
        assert_eq!(bytes.len() % 4, 0);
        let Some(Item::Message(message)) = items(&bytes).next() else { panic!("no message") };
        assert_eq!((message.family, message.command), (30, 2));
        assert_eq!(message.get(7), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!((message.number(9), message.number(7), message.get(8)), (Some(8), None, None));
    }

    #[test]
    fn what_is_cut_off_is_no_message() {
        let bytes = Request::new(30, 2).with(7, &[1; 40]).finish(1);
        for length in 0..bytes.len() {
            assert_eq!(items(&bytes[..length]).count(), 0, "{length}");
        }
        let short = Message { family: 0, command: 0, attributes: &[200, 0, 1, 0, 5] };
        assert_eq!(short.get(1), None);
    }

    #[test]
    fn the_kernel_knows_its_own_family_and_none_of_another_name() {
        if airtcp_test_support::skip_emulated("generic netlink") {
            return;
        }
        let mut socket = GenericSocket::open().unwrap();
        assert_eq!(socket.family("nlctrl").unwrap(), GENL_ID_CTRL);
        assert_eq!(socket.family("no-such-family").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
