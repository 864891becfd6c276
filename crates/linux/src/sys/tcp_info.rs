//! What the kernel tells about one of its TCP connections (`TCP_INFO`, linux/tcp.h).
//!
//! The kernel's structure only ever grows at its end, and says how much of it is filled, so
//! fields of newer kernels are options here.

use airtcp_core::Duration;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

/// A snapshot of a kernel TCP connection, in the sender's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window in segments.
    pub congestion_window: u32,
    /// Slow-start threshold in segments; the kernel's 2^31 - 1 means "not set yet".
    pub slow_start_threshold: u32,
    /// Maximum segment size for sending, in bytes.
    pub segment_size: u32,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Smallest round-trip time of the kernel's window.
    pub min_rtt: Duration,
    /// Retransmission timeout now in force.
    pub rto: Duration,
    /// Segments in flight: sent and not yet acknowledged.
    pub unacknowledged: u32,
    /// Segments of those that are selectively acknowledged.
    pub selectively_acknowledged: u32,
    /// Segments now marked lost.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retransmissions_in_flight: u32,
    /// Segments delivered so far.
    pub delivered: u32,
    /// State of loss recovery, from 0: Open, Disorder, CWR, Recovery, Loss.
    pub recovery_state: u8,
    /// Segments retransmitted so far.
    pub retransmitted_segments: u32,
    /// Bytes retransmitted so far.
    pub retransmitted_bytes: u64,
    /// Bytes acknowledged so far; counts SYN and FIN.
    pub acknowledged_bytes: u64,
    /// The kernel's latest delivery-rate sample, in bytes per second.
    pub delivery_rate: u64,
    /// The rate the kernel paces at, in bytes per second; `u64::MAX` when it does not pace.
    pub pacing_rate: u64,
    /// Reordering that loss detection tolerates, in segments.
    pub reordering: u32,
    /// Duplicate segments that the receiver reported (DSACK).
    pub dsack_duplicates: u32,
    /// Times reordering was seen.
    pub reordering_seen: u32,
    /// Bytes written by the application and not yet sent for the first time.
    pub unsent_bytes: u32,
    /// Retransmission timeouts so far; `None` before Linux 6.7.
    pub timeouts: Option<u16>,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

impl TcpInfo {
    /// Asks the kernel about the connection behind `socket`.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut raw = Raw::default();
        let mut len = size_of::<Raw>() as libc::socklen_t;
        // SAFETY: `raw` is plain integers of at least `len` bytes, and the kernel writes at most `len`.
        let result = unsafe {
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &mut len)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self::from_raw(&raw, len as usize))
    }

    fn from_raw(raw: &Raw, filled: usize) -> Self {
        let micros = |value: u32| Duration::from_micros(u64::from(value));
        TcpInfo {
            congestion_window: raw.snd_cwnd,
            slow_start_threshold: raw.snd_ssthresh,
            segment_size: raw.snd_mss,
            smoothed_rtt: micros(raw.rtt),
            min_rtt: micros(raw.min_rtt),
            rto: micros(raw.rto),
            unacknowledged: raw.unacked,
            selectively_acknowledged: raw.sacked,
            lost: raw.lost,
            retransmissions_in_flight: raw.retrans,
            delivered: raw.delivered,
            recovery_state: raw.ca_state,
            retransmitted_segments: raw.total_retrans,
            retransmitted_bytes: raw.bytes_retrans,
            acknowledged_bytes: raw.bytes_acked,
            delivery_rate: raw.delivery_rate,
            pacing_rate: raw.pacing_rate,
            reordering: raw.reordering,
            dsack_duplicates: raw.dsack_dups,
            reordering_seen: raw.reord_seen,
            unsent_bytes: raw.notsent_bytes,
            timeouts: (filled >= offset_of!(Raw, total_rto) + 2).then_some(raw.total_rto),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_loopback_connection_reports_the_bytes_it_moved() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        let info = TcpInfo::of(client.as_fd()).unwrap();
        assert!((1000..=1001).contains(&info.acknowledged_bytes), "{info:?}");
        assert!(info.congestion_window > 0 && info.segment_size > 500, "{info:?}");
        assert_eq!(info.retransmitted_segments, 0);
    }

    #[test]
    fn a_field_the_kernel_did_not_fill_is_none() {
        let raw = Raw { total_rto: 3, ..Raw::default() };
        let end = offset_of!(Raw, total_rto) + 2;
        assert_eq!(TcpInfo::from_raw(&raw, end).timeouts, Some(3));
        assert_eq!(TcpInfo::from_raw(&raw, end - 1).timeouts, None);
    }

    #[test]
    fn the_layout_is_the_kernels() {
        // linux/tcp.h: offsets that only hold if nothing before them is missing.
        assert_eq!(offset_of!(Raw, rtt), 68);
        assert_eq!(offset_of!(Raw, total_retrans), 100);
        assert_eq!(offset_of!(Raw, delivery_rate), 160);
        assert_eq!(offset_of!(Raw, total_rto), 240);
    }
}
