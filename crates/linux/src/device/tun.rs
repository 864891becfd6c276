//! A TUN device as the gateway uses it: bounded batches in, single datagrams out, and every
//! refusal of the kernel counted by its reason instead of stopping the program.

use crate::sys::tun::{DATAGRAM_MAX, Tun};
use bytes::Bytes;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

/// What a device did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Datagrams taken from the kernel.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Datagrams given to the kernel.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Sends refused because the device was down.
    pub errors_down: u64,
    /// Sends refused for want of memory.
    pub errors_memory: u64,
    /// Sends refused because the bytes are no IP packet.
    pub errors_invalid: u64,
    /// Sends and receives refused for another reason.
    pub errors_other: u64,
}

/// The device was deleted under the program: nothing can go on.
#[derive(Debug, thiserror::Error)]
#[error("the device {name} is gone (deleted by somebody else?): {source}")]
pub struct DeviceGone {
    name: String,
    source: io::Error,
}

/// A TUN device with counters and a read buffer.
pub struct TunDevice {
    tun: Tun,
    buffer: Box<[u8]>,
    counters: DeviceCounters,
}

impl TunDevice {
    /// Wraps an open device.
    pub fn new(tun: Tun) -> Self {
        let buffer = vec![0; DATAGRAM_MAX].into_boxed_slice();
        TunDevice { tun, buffer, counters: DeviceCounters::default() }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.tun.name()
    }

    /// What it did so far.
    pub fn counters(&self) -> DeviceCounters {
        self.counters
    }

    /// Takes the next datagram, each in an allocation of exactly its size (a slice of a shared
    /// buffer would keep the whole buffer alive as long as a cache keeps the packet).
    ///
    /// # Errors
    /// Only when the device is gone.
    pub fn receive(&mut self) -> Result<Option<Bytes>, DeviceGone> {
        Ok(self.receive_in_place()?.map(Bytes::copy_from_slice))
    }

    /// Takes the next datagram, valid until the next call.
    ///
    /// # Errors
    /// Only when the device is gone.
    pub fn receive_in_place(&mut self) -> Result<Option<&[u8]>, DeviceGone> {
        match self.tun.receive(&mut self.buffer) {
            Ok(length) => {
                self.counters.received_packets += 1;
                self.counters.received_bytes += length as u64;
                Ok(Some(&self.buffer[..length]))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => {
                Err(DeviceGone { name: self.tun.name().to_owned(), source: error })
            }
            Err(error) => {
                self.count(&error);
                Ok(None)
            }
        }
    }

    /// Gives a datagram to the kernel; false if it was refused, which is counted by reason.
    pub fn send(&mut self, datagram: &[u8]) -> bool {
        match self.tun.send(datagram) {
            Ok(()) => {
                self.counters.sent_packets += 1;
                self.counters.sent_bytes += datagram.len() as u64;
                true
            }
            Err(error) => {
                self.count(&error);
                false
            }
        }
    }

    /// Gives back what [`TunDevice::receive_in_place`] took, without a copy.
    pub fn send_back(&mut self, length: usize) -> bool {
        let buffer = std::mem::take(&mut self.buffer);
        let sent = self.send(&buffer[..length]);
        self.buffer = buffer;
        sent
    }

    fn count(&mut self, error: &io::Error) {
        let counter = match error.raw_os_error() {
            Some(libc::EIO) => &mut self.counters.errors_down,
            Some(libc::ENOBUFS | libc::ENOMEM) => &mut self.counters.errors_memory,
            Some(libc::EINVAL) => &mut self.counters.errors_invalid,
            _ => &mut self.counters.errors_other,
        };
        *counter += 1;
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
