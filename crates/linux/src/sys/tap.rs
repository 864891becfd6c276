//! A copy of the beginning of each packet of a link, in both directions, with the time at which the kernel saw it (a packet
//! socket). Nothing is taken from the link, and nothing waits.

use super::clock;
use super::frame_socket::bind_to_link;
use super::tcp_socket::set_number;
use airtcp_core::{Duration, Instant};
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Packets that are taken at once.
const MANY: usize = 64;
/// What may wait until it is looked at, in bytes of the kernel's memory.
const BUFFER_BYTES: usize = 16 << 20;
/// The kernel begins to note times a little after it was asked for them, and tells others until then.
const SETTLING: Duration = Duration::from_millis(200);

/// A packet socket that only listens.
#[derive(Debug)]
pub struct Tap {
    socket: Socket,
    clocks: Clocks,
    tells_from: Instant,
    buffers: Vec<u8>,
    snap: usize,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    /// The first bytes of the IP packet.
    pub bytes: &'a [u8],
    /// It leaves through the link.
    pub is_out: bool,
    /// When the kernel saw it.
    pub at: Instant,
}

/// Room for a time, aligned as its header is.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

impl Tap {
    /// Listens on the link of this index, to the first `snap` bytes of each packet.
    ///
    /// # Errors
    /// The process may not listen (`CAP_NET_RAW`), or there is no such link.
    pub fn open(link: u32, snap: usize) -> io::Result<Tap> {
        // Protocol 0 receives nothing; what is bound below listens to one link only, from the start.
        let socket = Socket::new(Domain::PACKET, Type::DGRAM.nonblocking().cloexec(), None)?;
        set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // Past the limit for everybody if allowed, else up to it.
        set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES as libc::c_int)
            .or_else(|_| SockRef::from(&socket).set_recv_buffer_size(BUFFER_BYTES))?;
        // Only a socket of all protocols is shown what leaves.
        bind_to_link(&socket, link, libc::ETH_P_ALL as u16)?;
        let tells_from = clock::now() + SETTLING;
        Ok(Tap { socket, clocks: Clocks::read(), tells_from, buffers: vec![0; MANY * snap], snap })
    }

    /// What came before is taken and not told: its times are not right.
    pub fn tells_from(&self) -> Instant {
        self.tells_from
    }

    /// Takes what has come, at most 64 packets; how many.
    ///
    /// # Errors
    /// The link is gone or down.
    pub fn take(&mut self, mut tell: impl FnMut(Copied<'_>)) -> io::Result<usize> {
        // SAFETY: all of these are plain data.
        let (mut parts, mut addresses, mut controls, mut headers): (
            [libc::iovec; MANY],
            [libc::sockaddr_ll; MANY],
            [Control; MANY],
            [libc::mmsghdr; MANY],
        ) = unsafe { zeroed() };
        let places = headers.iter_mut().zip(&mut parts).zip(&mut addresses).zip(&mut controls);
        for ((((header, part), address), control), buffer) in places.zip(self.buffers.chunks_exact_mut(self.snap)) {
            *part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (&raw mut *address).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
        }
        let fd = self.socket.as_raw_fd();
        // SAFETY: all headers are filled in, and all that they point to lives through the call.
        let taken = unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), MANY as libc::c_uint, 0, std::ptr::null_mut()) };
        let taken = match super::check(taken) {
            Ok(taken) => taken as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error),
        };
        self.clocks.refresh();
        if clock::now() < self.tells_from {
            return Ok(taken);
        }
        let buffers = self.buffers.chunks_exact(self.snap);
        for ((header, address), buffer) in headers[..taken].iter().zip(&addresses).zip(buffers) {
            // Frames for other stations that a radio in promiscuous mode hears are not this link's.
            if address.sll_pkttype == libc::PACKET_OTHERHOST {
                continue;
            }
            let at = time_of(&header.msg_hdr).map_or_else(clock::now, |wall| self.clocks.monotonic(wall));
            let bytes = &buffer[..(header.msg_len as usize).min(self.snap)];
            tell(Copied { bytes, is_out: address.sll_pkttype == libc::PACKET_OUTGOING, at });
        }
        Ok(taken)
    }

    /// Packets that were dropped since the last call, as they came faster than they were taken.
    pub fn dropped(&self) -> u64 {
        // SAFETY: tpacket_stats is plain data for which all-zero bytes are valid.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        let (fd, value) = (self.socket.as_raw_fd(), (&raw mut stats).cast());
        // SAFETY: the value lives through the call, and its length is given.
        let result = unsafe { libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, value, &raw mut length) };
        super::check(result).map_or(0, |_| u64::from(stats.tp_drops))
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// How far the wall clock, in which the kernel tells times, is from the one that elements see.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    read_at: Instant,
    ahead_ns: u64,
}

/// The wall clock may be set: it is compared again so often.
const COMPARE_EVERY: Duration = Duration::from_secs(1);
/// Comparisons of which the closest counts: one in which the process had to wait is wrong by that.
const COMPARISONS: usize = 8;

impl Clocks {
    fn read() -> Clocks {
        let one = |_| {
            let (before, wall, after) = (clock::now(), clock::wall_clock_ns(), clock::now());
            (after.saturating_since(before), wall.wrapping_sub(before.as_nanos()))
        };
        let closest = (0..COMPARISONS).map(one).min();
        Clocks { read_at: clock::now(), ahead_ns: closest.map_or(0, |(_, ahead)| ahead) }
    }

    fn refresh(&mut self) {
        if clock::now().saturating_since(self.read_at) >= COMPARE_EVERY {
            *self = Clocks::read();
        }
    }

    fn monotonic(&self, wall: u64) -> Instant {
        Instant::from_nanos(wall.wrapping_sub(self.ahead_ns))
    }
}

/// The time in the control messages that were received, in nanoseconds since 1970.
fn time_of(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled in `message`, whose buffers are alive; the macros stay within them.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !at.is_null() {
        // SAFETY: it is not null, so it is a header within the buffer.
        let header = unsafe { &*at };
        // SAFETY: only reckons with the size.
        let least = unsafe { libc::CMSG_LEN(size_of::<libc::timespec>() as u32) } as usize;
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)
            && header.cmsg_len as usize >= least
        {
            // SAFETY: the message has room for the time, as its length says; it need not be aligned.
            let time = unsafe { libc::CMSG_DATA(at).cast::<libc::timespec>().read_unaligned() };
            return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
        }
        // SAFETY: as above.
        at = unsafe { libc::CMSG_NXTHDR(message, at) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn live_a_datagram_on_loopback_is_seen_in_both_directions_and_arrives_all_the_same() {
        if !crate::sys::process::has_net_admin() {
            return airtcp_test_support::skip("needs CAP_NET_ADMIN");
        }
        let link = crate::sys::interface::index("lo").unwrap();
        let mut tap = Tap::open(link, 64).unwrap();
        std::thread::sleep(std::time::Duration::from_nanos(SETTLING.as_nanos()));
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = receiver.local_addr().unwrap().port();
        let before = clock::now();
        receiver.send_to(&[7; 500], receiver.local_addr().unwrap()).unwrap();
        let mut seen = Vec::new();
        while tap
            .take(|copied| {
                // Others use loopback, too.
                if copied.bytes.get(22..24) == Some(&port.to_be_bytes()) {
                    // The clocks are compared to some microseconds.
                    let latest = clock::now() + Duration::from_millis(1);
                    assert!(copied.at + Duration::from_millis(1) >= before && copied.at <= latest);
                    assert_eq!(copied.bytes.len(), 64);
                    seen.push(copied.is_out);
                }
            })
            .unwrap()
            > 0
        {}
        assert_eq!(seen, [true, false]);
        assert_eq!(receiver.recv(&mut [0; 600]).unwrap(), 500);
    }
}
