//! What the kernel tells about one of its TCP connections (`TCP_INFO`, linux/tcp.h).
//!
//! The kernel's structure only ever grows at its end, and says how much of it is filled, so
//! fields of newer kernels are options here.

use airtcp_core::Duration;
use linux_raw_sys::net::tcp_info;
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

impl TcpInfo {
    /// Asks the kernel about the connection behind `socket`.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut raw = zeroed();
        let mut len = size_of::<tcp_info>() as libc::socklen_t;
        // SAFETY: `raw` is plain integers of at least `len` bytes, and the kernel writes at most `len`.
        super::check(unsafe {
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &mut len)
        })?;
        Ok(Self::from_raw(&raw, len as usize))
    }

    fn from_raw(raw: &tcp_info, filled: usize) -> Self {
        let micros = |value: u32| Duration::from_micros(u64::from(value));
        TcpInfo {
            congestion_window: raw.tcpi_snd_cwnd,
            slow_start_threshold: raw.tcpi_snd_ssthresh,
            segment_size: raw.tcpi_snd_mss,
            smoothed_rtt: micros(raw.tcpi_rtt),
            min_rtt: micros(raw.tcpi_min_rtt),
            rto: micros(raw.tcpi_rto),
            unacknowledged: raw.tcpi_unacked,
            selectively_acknowledged: raw.tcpi_sacked,
            lost: raw.tcpi_lost,
            retransmissions_in_flight: raw.tcpi_retrans,
            delivered: raw.tcpi_delivered,
            recovery_state: raw.tcpi_ca_state,
            retransmitted_segments: raw.tcpi_total_retrans,
            retransmitted_bytes: raw.tcpi_bytes_retrans,
            acknowledged_bytes: raw.tcpi_bytes_acked,
            delivery_rate: raw.tcpi_delivery_rate,
            pacing_rate: raw.tcpi_pacing_rate,
            reordering: raw.tcpi_reordering,
            dsack_duplicates: raw.tcpi_dsack_dups,
            reordering_seen: raw.tcpi_reord_seen,
            unsent_bytes: raw.tcpi_notsent_bytes,
            timeouts: (filled >= offset_of!(tcp_info, tcpi_total_rto) + 2).then_some(raw.tcpi_total_rto),
        }
    }
}

fn zeroed() -> tcp_info {
    // SAFETY: plain integers, for which all-zero bytes are valid.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_loopback_connection_reports_the_bytes_it_moved() {
        if airtcp_test_support::skip_emulated("TCP_INFO") {
            return;
        }
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
        let raw = tcp_info { tcpi_total_rto: 3, ..zeroed() };
        let end = offset_of!(tcp_info, tcpi_total_rto) + 2;
        assert_eq!(TcpInfo::from_raw(&raw, end).timeouts, Some(3));
        assert_eq!(TcpInfo::from_raw(&raw, end - 1).timeouts, None);
    }
}
