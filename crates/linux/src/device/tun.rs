//! A TUN device as the gateway uses it: datagrams in and out, and every refusal of the kernel counted by its reason
//! instead of stopping the program.

use super::cut::Cut;
use super::datagram::Datagram;
use super::join::Join;
use super::offload::Offload;
use crate::sys::tun::{DATAGRAM_MAX, OFFLOAD_HEADER, Tun};
use bytes::Bytes;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};

/// What a device did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Datagrams taken from the kernel, a super-frame as one.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Datagrams given to the kernel, a super-frame as one.
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

/// A TUN device with counters and buffers.
pub struct TunDevice {
    tun: Tun,
    /// What was read last: what the kernel left undone, and the datagram.
    offload: Offload,
    buffer: Box<[u8]>,
    length: usize,
    /// Set while there is more of a super-frame in the buffer.
    cut: Option<Cut>,
    join: Join,
    counters: DeviceCounters,
}

impl TunDevice {
    /// Wraps an open device.
    pub fn new(tun: Tun) -> Self {
        let buffer = vec![0; DATAGRAM_MAX].into_boxed_slice();
        TunDevice {
            tun,
            offload: Offload::default(),
            buffer,
            length: 0,
            cut: None,
            join: Join::default(),
            counters: DeviceCounters::default(),
        }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.tun.name()
    }

    /// What it did so far.
    pub fn counters(&self) -> DeviceCounters {
        self.counters
    }

    /// True if the rest of a super-frame is to be taken.
    pub fn is_in_frame(&self) -> bool {
        self.cut.is_some()
    }

    /// Takes the next datagram, or the next segment of a super-frame, each in an allocation of exactly its size (a slice of
    /// a shared buffer would keep the whole buffer alive as long as a cache keeps the packet). A super-frame that cannot be
    /// cut goes back as it came.
    ///
    /// # Errors
    /// Only when the device is gone.
    pub fn receive(&mut self) -> Result<Option<Datagram>, DeviceGone> {
        loop {
            if let Some(cut) = &mut self.cut {
                let frame = &self.buffer[..self.length];
                let segment = cut.next(frame);
                self.cut = self.cut.filter(|cut| !cut.is_over(frame));
                if let Some(bytes) = segment {
                    return Ok(Some(Datagram { bytes, checksum_is_known_good: true }));
                }
            }
            if !self.read()? {
                return Ok(None);
            }
            let datagram = &mut self.buffer[..self.length];
            if !self.offload.is_super_frame() {
                self.offload.complete_checksum(datagram);
                let checksum_is_known_good = std::mem::take(&mut self.offload).checksum_is_known_good();
                return Ok(Some(Datagram { bytes: Bytes::copy_from_slice(datagram), checksum_is_known_good }));
            }
            self.cut = Cut::new(self.offload, datagram);
            if self.cut.is_none() {
                self.send_back();
            }
        }
    }

    /// Reads a datagram into the buffer; false if there is none.
    ///
    /// # Errors
    /// Only when the device is gone.
    pub fn read(&mut self) -> Result<bool, DeviceGone> {
        let mut header = [0; OFFLOAD_HEADER];
        let parts = &mut [IoSliceMut::new(&mut header), IoSliceMut::new(&mut self.buffer)];
        let unused = usize::from(!self.tun.has_offloads());
        match self.tun.receive(&mut parts[unused..]) {
            Ok(length) => {
                let length = if unused == 0 { length.saturating_sub(OFFLOAD_HEADER) } else { length };
                self.counters.received_packets += 1;
                self.counters.received_bytes += length as u64;
                self.offload = Offload::read(header);
                self.length = length;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => {
                Err(DeviceGone { name: self.tun.name().to_owned(), source: error })
            }
            Err(error) => {
                self.count(&error);
                Ok(false)
            }
        }
    }

    /// Gives back what was read last, as it came.
    pub fn send_back(&mut self) -> bool {
        let result = write(&self.tun, self.offload, &self.buffer[..self.length]);
        self.sent(result, self.length)
    }

    /// Gives a datagram to the kernel; false if it was refused, which is counted by reason.
    pub fn send(&mut self, datagram: &[u8]) -> bool {
        let result = write(&self.tun, Offload::default(), datagram);
        self.sent(result, datagram.len())
    }

    /// Keeps a datagram for [`TunDevice::flush`], to be given to the kernel together with those before it.
    ///
    /// # Errors
    /// The datagram, if it does not belong to them: flush first.
    pub fn stage(&mut self, datagram: Datagram) -> Result<(), Datagram> {
        if !self.join.segments().is_empty() && !self.tun.has_offloads() {
            return Err(datagram);
        }
        self.join.push(datagram)
    }

    /// Gives what was staged to the kernel; false if it was refused, which is counted by reason.
    pub fn flush(&mut self) -> bool {
        let length = self.join.length();
        let result = match self.join.segments() {
            [] => return true,
            [datagram] => write(&self.tun, Offload::default(), datagram),
            _ => self.join.write(&self.tun),
        };
        self.join.clear();
        self.sent(result, length)
    }

    fn sent(&mut self, result: io::Result<()>, length: usize) -> bool {
        match result {
            Ok(()) => {
                self.counters.sent_packets += 1;
                self.counters.sent_bytes += length as u64;
                true
            }
            Err(error) => {
                self.count(&error);
                false
            }
        }
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

fn write(tun: &Tun, offload: Offload, datagram: &[u8]) -> io::Result<()> {
    tun.send(&[IoSlice::new(&offload.bytes()), IoSlice::new(datagram)][usize::from(!tun.has_offloads())..])
}
