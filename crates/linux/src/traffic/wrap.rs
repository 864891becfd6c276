//! Starting just below the wrap of TCP's two 32-bit clocks.
//!
//! *Sequence numbers*: the sender's SYN is made to carry 2^32 − `sequence_bytes`, so the data
//! wraps after that many bytes. A transfer over 4 GB would need no help; this needs 20 MB.
//!
//! *Timestamps* (RFC 7323): the kernel chooses the offset of a connection's clock when it
//! connects and lets it be changed on a connected socket only. So the SYN carries an ordinary
//! timestamp, and the clocks of both ends are then moved to `timestamp_ms` before the wrap.
//! A peer takes a step of less than 2^31 as progress and a larger one as old (PAWS), so the
//! way there is walked in three equal steps, with one byte sent and acknowledged after each.
//! Those bytes are the first of the stream.

use super::payload::Pattern;
use crate::sys::tcp_info::TcpInfo;
use crate::sys::tcp_socket as socket;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

/// The two clocks of a sender at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    sequence: u32,
    timestamp: u32,
}

impl Clocks {
    /// Reads them, if the flow is about wraps at all: it takes the socket into repair mode.
    pub fn read(wrap: &Wrap, client: &TcpStream) -> Option<Self> {
        (*wrap != Wrap::default()).then_some(())?;
        let sequence = socket::write_sequence(client.as_fd()).ok()?;
        Some(Clocks { sequence, timestamp: socket::timestamp_clock(client.as_fd()).ok()? })
    }

    /// Which of them went through zero before `later`, in a flow of less than half a turn.
    pub fn wrapped_before(self, later: Clocks) -> Wrapped {
        Wrapped { sequence: later.sequence < self.sequence, timestamp: later.timestamp < self.timestamp }
    }
}

/// Which clocks wrapped during a flow that was started near a wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrapped {
    /// The sender's sequence numbers did.
    pub sequence: bool,
    /// The sender's timestamps did.
    pub timestamp: bool,
}

/// How close to a wrap a flow starts; the default is "wherever the kernel likes".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrap {
    /// The sender's sequence number wraps after this many bytes.
    pub sequence_bytes: Option<u32>,
    /// The timestamp clocks of both ends wrap this many milliseconds after the handshake.
    pub timestamp_ms: Option<u32>,
}

impl Wrap {
    /// Bytes of the stream that are sent before the flow proper begins.
    pub(super) fn bytes_sent_early(&self) -> usize {
        if self.timestamp_ms.is_some() { STEPS } else { 0 }
    }
}

/// A third of 2^32 is safely below 2^31.
const STEPS: usize = 3;

/// Moves the timestamp clocks of both ends to where the wrap is near.
pub(super) fn shift_timestamps(
    wrap: &Wrap,
    client: &TcpStream,
    server: &TcpStream,
    seed: u64,
    gone: &dyn Fn() -> bool,
) -> io::Result<()> {
    let Some(before_ms) = wrap.timestamp_ms else { return Ok(()) };
    let target = 0u32.wrapping_sub(before_ms);
    let mut pattern = Pattern::new(seed);
    let ends = [client.as_fd(), server.as_fd()];
    let starts = [socket::timestamp_clock(ends[0])?, socket::timestamp_clock(ends[1])?];
    for step in 1..=STEPS {
        for (end, start) in ends.into_iter().zip(starts) {
            socket::set_timestamp_clock(end, on_the_way(start, target, step))?;
        }
        let mut byte = [0];
        pattern.fill(&mut byte);
        (&mut &*client).write_all(&byte)?;
        wait_acknowledged(client, gone)?;
    }
    Ok(())
}

/// The clock value after `step` of [`STEPS`] equal steps from `start` to `target`.
fn on_the_way(start: u32, target: u32, step: usize) -> u32 {
    let way = u64::from(target.wrapping_sub(start));
    start.wrapping_add((way * step as u64 / STEPS as u64) as u32)
}

fn wait_acknowledged(client: &TcpStream, gone: &dyn Fn() -> bool) -> io::Result<()> {
    loop {
        let info = TcpInfo::of(client.as_fd())?;
        if info.unacknowledged == 0 && info.unsent_bytes == 0 {
            return Ok(());
        }
        if gone() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_steps_reach_every_clock_value_without_going_back() {
        for start in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_f000, 0xffff_ffff] {
            let target = 0xffff_f000;
            let mut clock = start;
            for step in 1..=STEPS {
                let next = on_the_way(start, target, step);
                assert!(next.wrapping_sub(clock) < 1 << 31);
                clock = next;
            }
            assert_eq!(clock, target, "from {start:#x}");
        }
    }
}
