//! Parameters of a stream of datagrams.

use crate::papers::decoupling;
use crate::papers::decoupling::socket::with_nearest;
use crate::socket::datagram::Pace;
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Duration, Rate, Value, parameters};
use alloc::vec::Vec;

parameters! {
    /// Parameters of the sender.
    pub struct SourceSettings {
        /// IP bits per second to send; as many as the circuit takes if auto. Without a circuit a rate is required, or `every`.
        pub rate: Option<Rate> = None, "DEC-U21: always backlogged";
        /// Time between two datagrams, in place of a rate: 20ms and packets of 200 bytes are like a call.
        pub every: Option<Duration> = None, "ours";
        /// IP bytes of a datagram.
        pub packet: u32 = 1500, "DEC-E1, DEC-U21";
        /// Differentiated services code point of the datagrams: 46 is EF, as calls have it.
        pub data_dscp: u8 = 0, "RFC 2474; EF: RFC 3246";
    }
}

/// Everything a file can set of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSettings {
    /// The sender.
    pub source: SourceSettings,
    /// The circuit, if it goes over one.
    pub circuit: Option<decoupling::CircuitSettings>,
}

/// Longest datagram.
const LARGEST: u32 = 65_535;
/// Shortest one: IPv6 and UDP headers, number and time.
const SMALLEST: u32 = 64;
/// More often would be no stream.
const LEAST_EVERY: Duration = Duration::from_micros(10);
/// Highest code point.
const HIGHEST_DSCP: u8 = 63;

impl SourceSettings {
    /// IP bits per second; none if it sends as many as its circuit takes.
    pub fn most(&self) -> Option<Rate> {
        let of_interval = |every: Duration| u64::from(self.packet) * 8_000_000_000 / every.as_nanos().max(1);
        self.rate.or(self.every.map(|every| Rate::from_bps(of_interval(every))))
    }

    /// Time between datagrams; none if it sends as many as its circuit takes.
    pub fn pace(&self) -> Option<Pace> {
        self.every.map(Pace::Every).or(self.rate.map(|rate| Pace::Rate(rate, 0)))
    }
}

impl StreamSettings {
    /// The defaults of a stream over a circuit.
    pub fn streaming() -> StreamSettings {
        StreamSettings { source: SourceSettings::default(), circuit: Some(decoupling::CircuitSettings::default()) }
    }

    /// The defaults of a stream by itself.
    pub fn datagram() -> StreamSettings {
        StreamSettings { source: SourceSettings::default(), circuit: None }
    }

    /// Checks that the settings go together.
    ///
    /// # Errors
    /// A datagram that is too short or too long, a circuit that is refused, neither rate nor circuit, or rate and interval.
    pub fn check(&self) -> Result<(), ParameterError> {
        self.circuit.iter().try_for_each(decoupling::CircuitSettings::check)?;
        let refused = |key, reason: &str| Err(ParameterError::bad(key, reason));
        if !(SMALLEST..=LARGEST).contains(&self.source.packet) {
            return refused("packet", "a datagram has 64 to 65535 bytes");
        }
        if self.source.data_dscp > HIGHEST_DSCP {
            return refused("data_dscp", "a code point is 0 to 63");
        }
        match (self.source.rate, self.source.every) {
            (Some(_), Some(_)) => refused("every", "the rate says how fast already; leave one of the two out"),
            (Some(rate), None) if rate.bps() == 0 => refused("rate", "0 would send nothing; write more, or auto"),
            (None, Some(every)) if every < LEAST_EVERY => refused("every", "write 10us or more"),
            (None, None) if self.circuit.is_none() => {
                refused("rate", "without a circuit nothing else says how fast; write \"1Mbit\", or every = \"20ms\"")
            }
            _ => Ok(()),
        }
    }
}

impl Parameters for StreamSettings {
    fn fields(&self) -> Vec<Field> {
        let circuit = self.circuit.as_ref().map_or_else(Vec::new, Parameters::fields);
        [self.source.fields(), circuit].concat()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        let is_own = self.source.fields().iter().any(|field| field.name == key);
        let Some(circuit) = self.circuit.as_mut().filter(|_| !is_own) else { return self.source.set(key, value) };
        let set = circuit.set(key, value);
        set.map_err(|error| with_nearest(error, &self.fields()))
    }
}
