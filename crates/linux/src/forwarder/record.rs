//! What the stream of a data TCP consists of: records, so that the end of an application's stream is a statement of its own.
//!
//! ```text
//!  0      1        4
//!  | kind | length | bytes of the application … |
//! ```
//!
//! A FIN says that a program ended or a machine closed what it had; a stream that was cut off has one, too. [`Record::End`]
//! is written only by a forwarder that has read the end of the application's stream, behind all of it.

use bytes::{Buf, Bytes};

/// Bytes before what the application wrote.
pub const HEADER_LEN: usize = 4;
/// Most bytes in a record.
pub const LENGTH_MAX: usize = (1 << 24) - 1;

const OPENED: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;
const DELIVERED: u8 = 4;

/// One statement of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The far application's host took the connection.
    Opened,
    /// Bytes of the application's stream.
    Data(Bytes),
    /// The application's stream ends here.
    End,
    /// The application's host has acknowledged every byte of ours, up to our [`Record::End`].
    Delivered,
}

/// What came is no record: the peer speaks something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Writes the header of `length` bytes of data.
pub fn data_header(length: usize) -> [u8; HEADER_LEN] {
    let [_, high, middle, low] = (length.min(LENGTH_MAX) as u32).to_be_bytes();
    [DATA, high, middle, low]
}

/// A record without data as it is written.
pub fn plain(record: &Record) -> Bytes {
    Bytes::from_static(match record {
        Record::Opened => &[OPENED, 0, 0, 0],
        Record::End => &[END, 0, 0, 0],
        Record::Delivered => &[DELIVERED, 0, 0, 0],
        Record::Data(_) => &[],
    })
}

/// Reads records from a stream that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    header: [u8; HEADER_LEN],
    /// Bytes of the header that have come.
    have: usize,
    /// Bytes of data that are still to come.
    left: usize,
}

impl Reader {
    /// Takes the next record, or what has come of one, from the front of `piece`; `None` once that is used up.
    ///
    /// # Errors
    /// It is none.
    pub fn take(&mut self, piece: &mut Bytes) -> Result<Option<Record>, Malformed> {
        while !piece.is_empty() {
            if self.left > 0 {
                let data = piece.split_to(piece.len().min(self.left));
                self.left -= data.len();
                return Ok(Some(Record::Data(data)));
            }
            self.header[self.have] = piece.get_u8();
            self.have += 1;
            if self.have < HEADER_LEN {
                continue;
            }
            self.have = 0;
            let [kind, high, middle, low] = self.header;
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            match (kind, length) {
                (DATA, length) => self.left = length,
                (OPENED, 0) => return Ok(Some(Record::Opened)),
                (END, 0) => return Ok(Some(Record::End)),
                (DELIVERED, 0) => return Ok(Some(Record::Delivered)),
                _ => return Err(Malformed),
            }
        }
        Ok(None)
    }

    /// True in the middle of a record.
    pub fn is_inside(&self) -> bool {
        self.left > 0 || self.have > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Bytes {
        let mut all = plain(&Record::Opened).to_vec();
        all.extend(data_header(5));
        all.extend(b"hello");
        all.extend(plain(&Record::End));
        all.extend(plain(&Record::Delivered));
        all.into()
    }

    #[test]
    fn records_are_read_however_the_stream_is_cut() {
        for size in 1..=stream().len() {
            let (mut reader, mut data, mut others) = (Reader::default(), Vec::new(), Vec::new());
            for piece in stream().chunks(size) {
                let mut piece = Bytes::copy_from_slice(piece);
                while let Some(record) = reader.take(&mut piece).unwrap() {
                    match record {
                        Record::Data(bytes) => data.extend(bytes),
                        other => others.push(other),
                    }
                }
            }
            assert_eq!(data, b"hello", "pieces of {size}");
            assert_eq!(others, [Record::Opened, Record::End, Record::Delivered]);
            assert!(!reader.is_inside());
        }
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for wrong in [[0, 0, 0, 0], [5, 0, 0, 0], [END, 0, 0, 1]] {
            assert_eq!(Reader::default().take(&mut Bytes::copy_from_slice(&wrong)), Err(Malformed));
        }
    }
}
