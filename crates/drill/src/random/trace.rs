//! What happened to a sender.

use super::setting::Setting;
use crate::script::SegmentSpec;
use crate::script::{OptionSpec, SegmentSpecOptions};
use crate::stack::Addresses;
use airtcp_core::{Duration, Packet, SeqNum};
use std::fmt;

/// A whole trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Settings of the sender, in `sysctl`'s names.
    pub settings: Vec<(&'static str, bool)>,
    /// Its congestion control.
    pub controller: &'static str,
    /// Window and threshold are compared: not with a controller that measures rates, which no two runs have alike.
    pub compares_window: bool,
    /// Tick of the sender's clock; zero if it is exact.
    pub jiffy: Duration,
    /// In the order of time.
    pub events: Vec<Event>,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// Since the trace began.
    pub at: Duration,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum What {
    /// The application accepted the connection.
    Accept,
    /// The application wrote so many bytes.
    Write(u64),
    /// A segment arrived; it echoes the clock of the segment with this number.
    Arrives(SegmentSpec, Option<u32>),
    /// A segment left. Pure acknowledgments are left out when traces are compared.
    Leaves(Leaving),
    /// What the sender's state was then.
    State(State),
}

impl What {
    /// The stack is given it: everything else follows.
    pub fn is_input(&self) -> bool {
        matches!(self, What::Write(_) | What::Arrives(..))
    }
}

/// A segment that left.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// The segment.
    pub segment: SegmentSpec,
    /// Which segment of the sender it was: even for those that take numbers, odd for pure acknowledgments, each in a row
    /// of their own.
    pub number: u32,
    /// The sender's clock in it.
    pub clock: u32,
    /// Nothing arrived and nobody wrote: a timer had run out.
    pub by_timer: bool,
}

/// What is compared besides segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Congestion window.
    pub window: i64,
    /// Slow start threshold.
    pub threshold: i64,
    /// State of recovery.
    pub recovery: i64,
}

/// Describes a segment; `first` are the sender's and the receiver's first numbers.
pub fn describe(packet: &Packet, first: (SeqNum, SeqNum)) -> Option<SegmentSpec> {
    let tcp = packet.tcp()?;
    let relative = |number: SeqNum, first: SeqNum| number.0.wrapping_sub(first.0);
    let mut options = Vec::new();
    options.extend(tcp.options.mss.map(OptionSpec::Mss));
    options.extend(tcp.options.sack_permitted.then_some(OptionSpec::SackPermitted));
    options.extend(tcp.options.timestamps.map(|stamp| OptionSpec::Timestamps(stamp.value, stamp.echo)));
    options.extend(tcp.options.window_scale.map(OptionSpec::WindowScale));
    if !tcp.options.sack.is_empty() {
        let blocks = tcp.options.sack.as_slice().iter();
        let blocks = blocks.map(|(left, right)| (relative(*left, first.1), relative(*right, first.1)));
        options.push(OptionSpec::Sack(blocks.collect()));
    }
    Some(SegmentSpec {
        ecn: Some(packet.ip().ecn()),
        flags: tcp.flags,
        start: relative(tcp.sequence, first.0),
        len: packet.payload_len(),
        ack: tcp.flags.ack().then(|| relative(tcp.acknowledgment, first.1)),
        window: Some(tcp.window),
        options: SegmentSpecOptions::These(options),
    })
}

impl Trace {
    /// One of `setting` in which nothing has happened.
    pub fn of(setting: &Setting, jiffy: Duration) -> Trace {
        let settings = [
            ("net.ipv4.tcp_timestamps", setting.timestamps),
            ("net.ipv4.tcp_sack", setting.sack),
            ("net.ipv4.tcp_ecn", setting.ecn),
        ];
        Trace {
            settings: settings.to_vec(),
            controller: setting.controller,
            compares_window: setting.controller != "bbr",
            jiffy,
            events: Vec::new(),
        }
    }

    /// The two ends.
    pub fn addresses() -> Addresses {
        Addresses::new(false)
    }
}

impl fmt::Display for Trace {
    /// As a script, nearly: which segment's clock an acknowledgment echoes is lost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, is_on) in &self.settings {
            writeln!(f, "`sysctl -q {name}={}`", u8::from(*is_on))?;
        }
        writeln!(f, "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")?;
        writeln!(f, "+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"{}\", 4) = 0", self.controller)?;
        writeln!(f, "+0 listen(3, 1) = 0")?;
        for Event { at, what } in &self.events {
            let micros = at.as_micros();
            write!(f, "{}.{:06} ", micros / 1_000_000, micros % 1_000_000)?;
            match what {
                What::Accept => writeln!(f, "accept(3, ..., ...) = 4")?,
                What::Write(bytes) => writeln!(f, "write(4, ..., {bytes}) = {bytes}")?,
                What::Arrives(segment, _) => writeln!(f, "< {segment}")?,
                What::Leaves(Leaving { segment, by_timer, .. }) => {
                    writeln!(f, "> {segment}{}", if *by_timer { " // timer" } else { "" })?;
                }
                What::State(State { window, threshold, recovery }) => writeln!(
                    f,
                    "%{{ assert tcpi_snd_cwnd == {window}; assert tcpi_snd_ssthresh == {threshold}; \
                     assert tcpi_ca_state == {recovery} }}%"
                )?,
            }
        }
        Ok(())
    }
}
