//! The line of a socket in the table, and its settings.

use super::FlowEnd;
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Event, Instant, Packet, Rate, Rng, Value};
use airtcp_tcp::{Config, Habits, Opening};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// A socket as files, help and hosts see it.
#[derive(Clone, Copy)]
pub struct SocketEntry {
    /// Name in files.
    pub slug: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// A flow can have a size: all of it arrives.
    pub has_size: bool,
    /// Slug of the socket that takes its place in control runs; its own if it stays.
    pub control: &'static str,
    /// What it counts besides [`Stats`](airtcp_tcp::Stats); `control.<label>` in results.
    pub counters: &'static [Event],
    /// Its settings with their defaults.
    pub settings: fn() -> Box<dyn SocketSettings>,
}

/// What a flow sets of its socket, and the ends that follow from it.
pub trait SocketSettings: Parameters + Send + Sync {
    /// Checks that the settings go together.
    ///
    /// # Errors
    /// The setting to change, and why.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Why the simulator does not have it and what to take there, as a sentence; none if it does.
    fn live_only(&self) -> Option<&'static str> {
        None
    }

    /// The sending end, from now on. A world asks [`SocketSettings::live_only`] first.
    fn connect(&self, site: &mut SocketSite<'_>, now: Instant) -> FlowEnd;

    /// The receiving end, if it exists before the first packet.
    fn listen(&self, _site: &mut SocketSite<'_>) -> Option<FlowEnd> {
        None
    }

    /// The receiving end, if the first packet makes it; a TCP connection unless said otherwise. None if `packet` opens
    /// nothing.
    fn accept(&self, opening: &Opening, packet: &Packet, now: Instant) -> Option<FlowEnd> {
        FlowEnd::accept(opening, packet, now)
    }

    /// IP bits per second that it sends at most; none if as many as the path takes.
    fn most(&self) -> Option<Rate> {
        None
    }

    /// The habits of its ends, unless the flow says which; by default a Linux host's.
    fn habits(&self) -> Habits {
        Habits::Linux
    }

    /// What a full packet consists of; by default a TCP segment.
    fn sizes(&self, tcp: &Config, is_ipv4: bool) -> PacketSizes {
        PacketSizes::of_tcp(tcp, is_ipv4)
    }
}

/// What a host makes one end of a flow with.
pub struct SocketSite<'a> {
    /// Addresses and ports of both ends, and how a TCP connection between them is opened.
    pub opening: &'a Opening,
    /// Number of the flow: what is hidden below two flows between the same hosts needs different ports.
    pub flow: u32,
    /// The end's random stream.
    pub rng: &'a mut Rng,
}

/// Bytes of a full packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSizes {
    /// IP and transport headers.
    pub header: u32,
    /// What is behind them.
    pub payload: u32,
}

impl PacketSizes {
    /// Of a TCP segment that these settings lead to.
    pub fn of_tcp(tcp: &Config, is_ipv4: bool) -> PacketSizes {
        let options = if tcp.timestamps { 12 } else { 0 };
        let fixed = if is_ipv4 { 40 } else { 60 };
        PacketSizes { header: fixed + options, payload: u32::from(tcp.announced_mss(is_ipv4)) - options }
    }
}

impl SocketEntry {
    /// Its parameters with their defaults.
    pub fn fields(&self) -> Vec<Field> {
        (self.settings)().fields()
    }

    /// The socket with its defaults but for these, each a name and its value.
    ///
    /// # Errors
    /// A name that it does not have, a value that it refuses, or settings that do not go together.
    pub fn with<K: AsRef<str>, V: Into<Value>>(
        &self,
        settings: impl IntoIterator<Item = (K, V)>,
    ) -> Result<SocketChoice, ParameterError> {
        let mut chosen = (self.settings)();
        for (key, value) in settings {
            chosen.set(key.as_ref(), &value.into())?;
        }
        SocketChoice::new(*self, chosen)
    }
}

/// A socket of the table with its settings.
#[derive(Clone)]
pub struct SocketChoice {
    /// Its line in the table.
    pub entry: SocketEntry,
    /// What its ends are made from.
    pub settings: Arc<dyn SocketSettings>,
}

impl SocketChoice {
    /// `entry` with `settings` that are its own.
    ///
    /// # Errors
    /// They do not go together.
    pub fn new(entry: SocketEntry, settings: Box<dyn SocketSettings>) -> Result<Self, ParameterError> {
        settings.check()?;
        Ok(SocketChoice { entry, settings: settings.into() })
    }
}

impl PartialEq for SocketChoice {
    fn eq(&self, other: &Self) -> bool {
        self.entry.slug == other.entry.slug && self.settings.fields() == other.settings.fields()
    }
}
impl Eq for SocketChoice {}

impl fmt::Debug for SocketChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.slug)?;
        self.settings.fields().iter().try_for_each(|field| write!(f, " {}={}", field.name, field.value))
    }
}
