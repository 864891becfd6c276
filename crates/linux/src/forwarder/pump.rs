//! Between an application's socket and its connection: bytes and ends, in both directions, as far as both sides have room.
//!
//! Nothing is read from an application as long as the connection has no room for it, and nothing from a connection as long
//! as the application has none. So a reader that stops stops the writer at the other end.

use super::line::Line;
use super::record::HEADER_LEN;
use bytes::{Buf, Bytes};
use std::io::{self, ErrorKind};

/// Bytes read from an application at a time.
const PIECE: usize = 16 << 10;
/// Bytes moved in each direction before others have their turn.
const TURN: usize = 256 << 10;

/// An application's socket.
pub trait Application {
    /// Takes bytes of the application's stream; none at its end.
    ///
    /// # Errors
    /// `WouldBlock` if there are none now; anything else ends the connection.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Gives it bytes.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room now; anything else ends the connection.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Bytes that were sent and that its host has not acknowledged.
    ///
    /// # Errors
    /// The connection is over.
    fn unacknowledged(&mut self) -> io::Result<usize>;

    /// Shows it the end of the stream.
    ///
    /// # Errors
    /// The connection is over.
    fn end(&mut self) -> io::Result<()>;
}

/// What is left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Its turn was over before everything was moved.
    pub has_more: bool,
    /// Its host has to acknowledge something, which nobody tells: look again soon.
    pub awaits_acknowledgment: bool,
}

/// Where both directions are.
#[derive(Clone, Debug, Default)]
pub struct Pump {
    /// Read from the connection, and not taken by the application.
    held: Bytes,
    /// The application's stream has ended.
    has_ended: bool,
    /// The application was shown the end.
    was_ended: bool,
    /// Its socket may have something, or room: it says when that changes.
    may_receive: bool,
    may_send: bool,
}

impl Pump {
    /// The socket has something to read, or has room.
    pub fn ready(&mut self, to_receive: bool, to_send: bool) {
        self.may_receive |= to_receive;
        self.may_send |= to_send;
    }

    /// Bytes that wait here.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Moves what can be moved, no more than `most` bytes of it from the application.
    ///
    /// # Errors
    /// The connection is over, by this errno.
    pub fn run(&mut self, line: &mut Line, application: &mut impl Application, most: usize) -> Result<Left, u16> {
        let mut left = Left::default();
        left.has_more |= self.write(line, application)?;
        left.has_more |= self.read(line, application, most)?;
        if line.peer_has_ended() && self.held.is_empty() {
            if !line.is_delivered() && application.unacknowledged().map_err(errno)? == 0 {
                line.delivered();
            }
            left.awaits_acknowledgment = !line.is_delivered();
            if line.may_end_application() && !self.was_ended {
                self.was_ended = true;
                application.end().map_err(errno)?;
            }
        }
        Ok(left)
    }

    /// From the connection to the application.
    fn write(&mut self, line: &mut Line, application: &mut impl Application) -> Result<bool, u16> {
        let mut moved = 0;
        while moved < TURN {
            if self.held.is_empty() {
                // Also without room: what has ended is known only when it was read.
                match line.read().map_err(|_| libc::EPROTO as u16)? {
                    Some(bytes) => self.held = bytes,
                    None => return Ok(false),
                }
            }
            if !self.may_send {
                return Ok(false);
            }
            match application.send(&self.held) {
                Ok(length) => {
                    self.held.advance(length);
                    moved += length;
                }
                Err(error) if is_for_later(&error) => self.may_send &= error.kind() == ErrorKind::Interrupted,
                Err(error) => return Err(errno(error)),
            }
        }
        Ok(true)
    }

    /// From the application to the connection.
    fn read(&mut self, line: &mut Line, application: &mut impl Application, most: usize) -> Result<bool, u16> {
        let mut moved = 0;
        while self.may_receive && !self.has_ended {
            let room = line.room().min(PIECE).min(most - moved);
            if room == 0 {
                return Ok(false);
            }
            if moved >= TURN {
                return Ok(true);
            }
            let mut record = vec![0; HEADER_LEN + room];
            match application.receive(&mut record[HEADER_LEN..]) {
                Ok(0) => {
                    self.has_ended = true;
                    line.end();
                }
                Ok(length) => {
                    record.truncate(HEADER_LEN + length);
                    record.shrink_to_fit();
                    line.write(record);
                    moved += length;
                }
                Err(error) if is_for_later(&error) => self.may_receive &= error.kind() == ErrorKind::Interrupted,
                Err(error) => return Err(errno(error)),
            }
        }
        Ok(false)
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// An error as its number.
pub fn errno(error: io::Error) -> u16 {
    let number = error.raw_os_error().and_then(|number| u16::try_from(number).ok());
    number.filter(|number| *number > 0).unwrap_or(libc::ECONNABORTED as u16)
}
