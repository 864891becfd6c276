//! The Linux kernel's TCP, in a network namespace without a name: the script stands behind a TUN
//! device, and time is the machine's.

use crate::script::{Call, Script, SocketOption};
use crate::stack::{Addresses, CLIENT_PORT, SERVER_PORT, Stack};
use airtcp_core::{Duration, Instant, Packet};
use airtcp_linux::device::TunDevice;
use airtcp_linux::sys::clock;
use airtcp_linux::sys::netns::{NetNs, sysctl_path};
use airtcp_linux::sys::poll::PollSet;
use airtcp_linux::sys::tcp_info::TcpInfo;
use airtcp_linux::sys::tcp_socket;
use airtcp_linux::sys::tun::Tun;
use anyhow::Context;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;

/// See the module.
pub struct Kernel {
    namespace: NetNs,
    device: TunDevice,
    addresses: Addresses,
    start: Option<Instant>,
    socket: Socket,
}

enum Socket {
    None,
    Fresh(OwnedFd),
    Listening(TcpListener),
    Open(TcpStream),
    Closed,
}

impl Socket {
    fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Socket::Fresh(socket) => Ok(socket.as_fd()),
            Socket::Open(stream) => Ok(stream.as_fd()),
            Socket::Listening(listener) => Ok(listener.as_fd()),
            Socket::None | Socket::Closed => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }
}

/// Level and name of an option.
fn number_of(option: SocketOption) -> (i32, i32) {
    match option {
        SocketOption::Keepalive => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
        SocketOption::KeepaliveTime => (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
        SocketOption::KeepaliveInterval => (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
        SocketOption::KeepaliveProbes => (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
        SocketOption::FinTimeout => (libc::IPPROTO_TCP, libc::TCP_LINGER2),
        SocketOption::MaxPacingRate => (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE),
    }
}

/// Nothing is remembered between connections, segments stay as they were sent, writes are never short, and windows are
/// scaled as ours.
const SETTINGS: [(&str, &str); 5] = [
    ("net/ipv4/tcp_no_metrics_save", "1"),
    ("net/ipv4/tcp_retrans_collapse", "0"),
    ("net/ipv4/tcp_wmem", "4096 4194304 16777216"),
    ("net/ipv4/tcp_rmem", "4096 131072 6291456"),
    ("net/ipv6/conf/all/accept_dad", "0"),
];
/// How much later than a script says something may happen: this machine may be busy.
const LATE: Duration = Duration::from_millis(20);
/// The kernel's timer wheel rounds a wait up by an eighth at most.
const TIMER_WHEEL: u64 = 8;
/// The same for earlier: clocks are read at different places.
const EARLY: Duration = Duration::from_millis(5);

/// The wheel's third level rounds to so many ticks; a trace is too short for a coarser one.
const ALIGNMENT: u64 = 64;
/// So often the number of the tick is read, since it may change in between.
const READINGS: usize = 5;

/// The number of the tick at time zero: less than none, and so wrapped.
fn tick_at_zero() -> Option<u64> {
    let read = || {
        let text = std::fs::read_to_string("/proc/timer_list").ok()?;
        let number_after = |mark: &str| {
            let rest = text.split_once(mark)?.1;
            rest.split_whitespace().next()?.parse::<u64>().ok()
        };
        let now = number_after("now at ")?;
        Some(number_after("\njiffies: ")?.wrapping_sub(now / clock::tick().as_nanos()))
    };
    // The time is read before the number.
    (0..READINGS).filter_map(|_| read()).min_by_key(|tick| *tick as i64)
}

impl Kernel {
    /// Says in one sentence why there can be none here, if so.
    ///
    /// # Errors
    /// That sentence.
    pub fn check_available() -> Result<(), airtcp_linux::testbed::TestbedError> {
        airtcp_linux::testbed::check_available()
    }

    /// Makes namespace and device for `script`.
    ///
    /// # Errors
    /// What the machine lacks.
    pub fn new(script: &Script) -> anyhow::Result<Kernel> {
        Kernel::check_available()?;
        let addresses = Addresses::new(script.is_ipv6);
        let namespace = NetNs::unnamed().context("cannot make a network namespace")?;
        let tun = namespace.run(|| -> anyhow::Result<Tun> {
            let tun = Tun::open("drill").context("cannot make a TUN device")?;
            for (name, value) in SETTINGS {
                std::fs::write(sysctl_path(name), value).with_context(|| format!("cannot set {name}"))?;
            }
            let (local, mtu) = (addresses.local, script.mtu.unwrap_or(1500));
            ip(&format!("link set drill mtu {mtu} up"))?;
            if script.is_ipv6 {
                ip(&format!("address add {local}/128 dev drill nodad"))?;
                ip("-6 route add default dev drill")?;
            } else {
                ip(&format!("address add {local}/32 dev drill"))?;
                ip("route add default dev drill")?;
            }
            Ok(tun)
        })??;
        Ok(Kernel { namespace, device: TunDevice::new(tun), addresses, start: None, socket: Socket::None })
    }

    /// Has the device take segments one by one instead of in super-frames, so that none is held back to fill one.
    ///
    /// # Errors
    /// What the machine lacks.
    pub fn send_one_by_one(&self) -> anyhow::Result<()> {
        self.namespace.run(|| ip("link set drill gso_max_segs 1"))?
    }

    /// The script begins with the first thing that happens.
    fn start(&mut self) -> Instant {
        *self.start.get_or_insert_with(clock::now)
    }

    fn stream(&mut self) -> io::Result<&mut TcpStream> {
        match &mut self.socket {
            Socket::Open(stream) => Ok(stream),
            _ => Err(io::Error::from_raw_os_error(libc::ENOTCONN)),
        }
    }

    fn try_call(&mut self, call: &Call) -> io::Result<i64> {
        let (local, remote) = (self.addresses.local, self.addresses.remote);
        match call {
            Call::Nothing => Ok(0),
            Call::Socket => {
                self.socket = Socket::Fresh(self.namespace.run(|| tcp_socket::open(local))??);
                Ok(0)
            }
            Call::SetController(name) => tcp_socket::set_congestion_control(self.socket.fd()?, name).map(|()| 0),
            Call::SetOption(option, value) => {
                let (level, name) = number_of(*option);
                let value = i32::try_from(*value).map_err(io::Error::other)?;
                tcp_socket::set_number(self.socket.fd()?, level, name, value).map(|()| 0)
            }
            Call::Listen => {
                let socket = self.fresh()?;
                tcp_socket::bind(socket.as_fd(), SocketAddr::new(local, SERVER_PORT))?;
                tcp_socket::listen(socket.as_fd())?;
                self.socket = Socket::Listening(TcpListener::from(socket));
                Ok(0)
            }
            Call::Accept => {
                let Socket::Listening(listener) = &self.socket else {
                    return Err(io::Error::from_raw_os_error(libc::EINVAL));
                };
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                self.socket = Socket::Open(stream);
                Ok(0)
            }
            Call::Connect => {
                let socket = self.fresh()?;
                tcp_socket::bind(socket.as_fd(), SocketAddr::new(local, CLIENT_PORT))?;
                let stream = tcp_socket::connect(socket, SocketAddr::new(remote, SERVER_PORT))?;
                stream.set_nodelay(true)?;
                self.socket = Socket::Open(stream);
                Err(io::Error::from_raw_os_error(libc::EINPROGRESS))
            }
            Call::Write(count) => Ok(self.stream()?.write(&vec![0; *count as usize])? as i64),
            Call::Read(count) => Ok(self.stream()?.read(&mut vec![0; *count as usize])? as i64),
            Call::Shutdown => self.stream()?.shutdown(Shutdown::Write).map(|()| 0),
            Call::Close => {
                self.stream()?;
                self.socket = Socket::Closed;
                Ok(0)
            }
        }
    }

    fn fresh(&mut self) -> io::Result<OwnedFd> {
        match std::mem::replace(&mut self.socket, Socket::None) {
            Socket::Fresh(socket) => Ok(socket),
            _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }

    /// The next TCP segment in the device, if there is one.
    fn receive(&mut self) -> Result<Option<Packet>, String> {
        while let Some(datagram) = self.device.receive().map_err(|error| error.to_string())? {
            if let Some(packet) = Packet::parse(datagram.bytes).filter(|packet| packet.tcp().is_some()) {
                return Ok(Some(packet));
            }
        }
        Ok(None)
    }
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output().context("cannot run 'ip'")?;
    let message = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "'ip {arguments}': {}", message.trim());
    Ok(())
}

impl Stack for Kernel {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let result = self.namespace.write_sysctl(&name.replace('.', "/"), value);
        result.map_err(|error| format!("the kernel does not take {name}={value}: {error}"))
    }

    fn begin(&mut self) -> Result<(), String> {
        let first = tick_at_zero().ok_or("/proc/timer_list does not tell the kernel's tick")?;
        let tick = clock::tick().as_nanos();
        let next = first.wrapping_add(clock::now().as_nanos() / tick + 1);
        let wanted = next.next_multiple_of(ALIGNMENT).wrapping_sub(first);
        self.start = Some(Instant::from_nanos(wanted * tick));
        Ok(())
    }

    fn now(&mut self) -> Duration {
        let start = self.start();
        clock::now().saturating_since(start)
    }

    fn call(&mut self, call: &Call) -> Result<i64, String> {
        self.try_call(call).map_err(|error| errno_name(&error))
    }

    fn inject(&mut self, packet: Packet) -> Result<(), String> {
        if self.device.send(&packet.to_wire()) { Ok(()) } else { Err("the device does not take the segment".into()) }
    }

    fn wait(&mut self, until: Duration) -> Result<Option<(Duration, Packet)>, String> {
        let start = self.start();
        loop {
            if let Some(packet) = self.receive()? {
                return Ok(Some((clock::now().saturating_since(start), packet)));
            }
            let left = (start + until).saturating_since(clock::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut set = PollSet::new();
            set.add_readable(self.device.as_fd());
            set.wait(Some(left)).map_err(|error| format!("cannot wait: {error}"))?;
        }
    }

    fn field(&mut self, name: &str) -> Result<i64, String> {
        let stream = self.stream().map_err(|_| "there is no connection".to_owned())?;
        let info = TcpInfo::of(stream.as_fd()).map_err(|error| error.to_string())?;
        Ok(match name {
            "tcpi_snd_cwnd" => i64::from(info.congestion_window),
            "tcpi_snd_ssthresh" => i64::from(info.slow_start_threshold),
            "tcpi_unacked" => i64::from(info.unacknowledged),
            "tcpi_sacked" => i64::from(info.selectively_acknowledged),
            "tcpi_lost" => i64::from(info.lost),
            "tcpi_retrans" => i64::from(info.retransmissions_in_flight),
            "tcpi_ca_state" => i64::from(info.recovery_state),
            "tcpi_rtt" => info.smoothed_rtt.as_micros() as i64,
            "tcpi_reordering" => i64::from(info.reordering),
            "tcpi_delivered" => i64::from(info.delivered),
            "tcpi_snd_mss" => i64::from(info.segment_size),
            "tcpi_rto" => info.rto.as_micros() as i64,
            "tcpi_total_retrans" => i64::from(info.retransmitted_segments),
            _ => return Err(format!("there is no '{name}'; docs/drills.md lists the fields")),
        })
    }

    fn tolerance(&self, wait: Duration) -> (Duration, Duration) {
        (EARLY, LATE + wait / TIMER_WHEEL)
    }

    fn name(&self) -> &'static str {
        "Linux"
    }
}

/// The errno's name, as scripts use it.
fn errno_name(error: &io::Error) -> String {
    let known = error.raw_os_error().and_then(|number| ERRNOS.iter().find(|(known, _)| *known == number));
    known.map_or_else(|| error.to_string(), |(_, name)| (*name).to_owned())
}

const ERRNOS: [(i32, &str); 9] = [
    (libc::EAGAIN, "EAGAIN"),
    (libc::EBADF, "EBADF"),
    (libc::EINVAL, "EINVAL"),
    (libc::EPIPE, "EPIPE"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::ENOTCONN, "ENOTCONN"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::ECONNREFUSED, "ECONNREFUSED"),
    (libc::EINPROGRESS, "EINPROGRESS"),
];
