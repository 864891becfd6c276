//! Our TCP in virtual time: nothing happens between deadlines, so times are exact.

use crate::script::{Call, Script, SocketOption};
use crate::stack::{Addresses, CLIENT_PORT, SERVER_PORT, Stack};
use airtcp_core::{Duration, Instant, Packet, SeqNum};
use airtcp_tcp::congestion::find;
use airtcp_tcp::{CloseReason, Config, Connection, Endpoint, Opening, Patience, Stream, reset_reply};
use bytes::Bytes;

/// See the module.
pub struct Ours {
    config: Config,
    addresses: Addresses,
    now: Instant,
    socket: Socket,
    /// What the host does once the application has closed.
    patience: Patience,
    /// The host's RST for a segment that is of no connection any more.
    refusal: Option<Packet>,
}

#[expect(clippy::large_enum_variant, reason = "there is one")]
enum Socket {
    None,
    Listening,
    Open(Connection),
}

/// Our first sequence number: it wraps within the first segments.
const FIRST: SeqNum = SeqNum(u32::MAX - 2000);

impl Ours {
    /// Ready for `script`.
    pub fn new(script: &Script) -> Ours {
        let linux = Config::default();
        // Writes are never short.
        let config = Config { mtu: script.mtu.unwrap_or(linux.mtu), send_autotuning: false, ..linux };
        Ours {
            config,
            addresses: Addresses::new(script.is_ipv6),
            now: Instant::ZERO,
            socket: Socket::None,
            patience: Patience::default(),
            refusal: None,
        }
    }

    /// Its clock ticks so.
    pub fn ticking(mut self, jiffy: Option<Duration>) -> Ours {
        self.config.jiffy = jiffy;
        self
    }

    /// Its device takes segments one by one, as in traces: there are no bursts to wait for.
    pub fn one_by_one(mut self) -> Ours {
        self.config.tso = false;
        self
    }

    fn opening(&self, local: u16, remote: u16) -> Opening {
        Opening {
            config: self.config.clone(),
            local: self.local(local),
            remote: self.remote(remote),
            initial_sequence: FIRST,
            timestamp_offset: 1,
            source: Stream::Bytes,
        }
    }

    fn local(&self, port: u16) -> Endpoint {
        Endpoint { address: self.addresses.local, port }
    }

    fn remote(&self, port: u16) -> Endpoint {
        Endpoint { address: self.addresses.remote, port }
    }

    fn connection(&mut self) -> Result<&mut Connection, String> {
        match &mut self.socket {
            Socket::Open(connection) => Ok(connection),
            _ => Err("ENOTCONN".into()),
        }
    }

    fn set_option(&mut self, option: SocketOption, value: u32) -> Result<i64, String> {
        let seconds = Duration::from_secs(u64::from(value));
        if option == SocketOption::FinTimeout {
            self.patience.fin_timeout = seconds;
            return Ok(0);
        }
        if matches!(self.socket, Socket::Open(_)) {
            return Err("EISCONN".into());
        }
        match option {
            SocketOption::Keepalive => self.config.keepalive = value != 0,
            SocketOption::KeepaliveTime => self.config.keepalive_time = seconds,
            SocketOption::KeepaliveInterval => self.config.keepalive_interval = seconds,
            SocketOption::KeepaliveProbes => self.config.keepalive_probes = value,
            SocketOption::MaxPacingRate => self.config.pacing = true,
            SocketOption::FinTimeout => {}
        }
        Ok(0)
    }

    fn poll(&mut self) -> Option<Packet> {
        if let Some(refusal) = self.refusal.take() {
            return Some(refusal);
        }
        match &mut self.socket {
            Socket::Open(connection) => connection.poll_transmit(self.now),
            _ => None,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.socket {
            Socket::Open(connection) => connection.poll_timeout(),
            _ => None,
        }
    }
}

fn since_start(at: Instant) -> Duration {
    at.saturating_since(Instant::ZERO)
}

impl Stack for Ours {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_on = value != "0";
        let number = || value.parse::<u32>().map_err(|_| format!("'{value}' is no number"));
        let config = &mut self.config;
        match name {
            "net.ipv4.tcp_timestamps" => config.timestamps = is_on,
            "net.ipv4.tcp_sack" => config.sack = is_on,
            "net.ipv4.tcp_window_scaling" => config.window_scaling = is_on,
            "net.ipv4.tcp_ecn" => (config.ecn, config.ecn_answer) = (value == "1", is_on),
            "net.ipv4.tcp_comp_sack_nr" => config.sack_compression_acks = number()?,
            "net.ipv4.tcp_moderate_rcvbuf" => config.receive_autotuning = is_on,
            "net.ipv4.tcp_early_retrans" => config.tail_loss_probe = is_on,
            "net.ipv4.tcp_frto" => config.frto = Some(is_on),
            "net.ipv4.tcp_slow_start_after_idle" => config.slow_start_after_idle = is_on,
            "net.ipv4.tcp_syn_retries" => config.syn_retries = number()?,
            "net.ipv4.tcp_retries2" => config.max_retries = number()?,
            "net.ipv4.tcp_orphan_retries" => self.patience.retries = Some(number()?).filter(|_| is_on),
            _ => return Err(format!("our TCP has no '{name}'; docs/drills.md lists the settings")),
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn now(&mut self) -> Duration {
        since_start(self.now)
    }

    fn call(&mut self, call: &Call) -> Result<i64, String> {
        match call {
            Call::Socket | Call::Nothing => Ok(0),
            Call::SetController(name) => {
                self.config.controller = find(name, &[]).map_err(|_| "ENOENT".to_owned())?.into();
                Ok(0)
            }
            Call::SetOption(option, value) => self.set_option(*option, *value),
            Call::Listen => {
                self.socket = Socket::Listening;
                Ok(0)
            }
            Call::Accept => match &self.socket {
                Socket::Open(connection) if connection.is_established() => Ok(0),
                _ => Err("EAGAIN".into()),
            },
            Call::Connect => {
                let connection = Connection::connect(&self.opening(CLIENT_PORT, SERVER_PORT), self.now);
                self.socket = Socket::Open(connection);
                Err("EINPROGRESS".into())
            }
            Call::Write(count) => {
                let bytes = Bytes::from(vec![0; *count as usize]);
                Ok(self.connection()?.write(&bytes) as i64)
            }
            Call::Read(count) => {
                let connection = self.connection()?;
                let mut taken = 0;
                while taken < *count
                    && let Some(chunk) = connection.read(count - taken)
                {
                    taken += chunk.len();
                }
                match connection.close_reason() {
                    _ if taken > 0 || *count == 0 || connection.is_read_finished() => Ok(taken as i64),
                    Some(CloseReason::Reset) => Err("ECONNRESET".into()),
                    Some(CloseReason::TimedOut) => Err("ETIMEDOUT".into()),
                    _ => Err("EAGAIN".into()),
                }
            }
            Call::Shutdown => {
                self.connection()?.shutdown();
                Ok(0)
            }
            Call::Close => {
                let (now, patience) = (self.now, self.patience);
                self.connection()?.close_with(now, patience);
                Ok(0)
            }
        }
    }

    fn inject(&mut self, packet: Packet) -> Result<(), String> {
        match &mut self.socket {
            Socket::Open(connection) if connection.is_closed() => self.refusal = reset_reply(&packet),
            Socket::Open(connection) => connection.handle_segment(self.now, &packet),
            Socket::Listening => {
                let opening = self.opening(SERVER_PORT, CLIENT_PORT);
                if let Some(connection) = Connection::accept(&opening, &packet, self.now) {
                    self.socket = Socket::Open(connection);
                }
            }
            Socket::None => {}
        }
        Ok(())
    }

    fn wait(&mut self, until: Duration) -> Result<Option<(Duration, Packet)>, String> {
        let until = Instant::ZERO + until;
        loop {
            if let Some(packet) = self.poll() {
                return Ok(Some((since_start(self.now), packet)));
            }
            match self.deadline().filter(|at| *at <= until) {
                Some(at) => {
                    self.now = self.now.max(at);
                    self.connection()?.handle_timeout(at);
                }
                None => {
                    self.now = self.now.max(until);
                    return Ok(None);
                }
            }
        }
    }

    fn field(&mut self, name: &str) -> Result<i64, String> {
        let connection = self.connection().map_err(|_| "there is no connection".to_owned())?;
        let sk = connection.sock();
        Ok(match name {
            "tcpi_snd_cwnd" => i64::from(sk.snd_cwnd),
            "tcpi_snd_ssthresh" => i64::from(sk.snd_ssthresh),
            "tcpi_unacked" => i64::from(sk.packets_out),
            "tcpi_sacked" => i64::from(sk.sacked_out),
            "tcpi_lost" => i64::from(sk.lost_out),
            "tcpi_retrans" => i64::from(sk.retrans_out),
            "tcpi_ca_state" => sk.icsk_ca_state as i64,
            "tcpi_rtt" => i64::from(sk.srtt_us >> 3),
            "tcpi_reordering" => i64::from(sk.reordering),
            "tcpi_delivered" => i64::from(sk.delivered),
            "tcpi_snd_mss" => i64::from(sk.mss_cache),
            "tcpi_rto" => connection.rto().as_micros() as i64,
            "tcpi_total_retrans" => connection.stats().retransmitted_segments as i64,
            _ => return Err(format!("there is no '{name}'; docs/drills.md lists the fields")),
        })
    }

    fn tolerance(&self, _wait: Duration) -> (Duration, Duration) {
        (Duration::ZERO, Duration::ZERO)
    }

    fn name(&self) -> &'static str {
        "airtcp"
    }
}
