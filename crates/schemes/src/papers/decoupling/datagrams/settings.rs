//! Parameters of a stream of datagrams.

use crate::papers::decoupling;
use crate::papers::decoupling::socket::with_nearest;
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Rate, Value, parameters};
use alloc::vec::Vec;

parameters! {
    /// Parameters of the sender.
    pub struct SourceSettings {
        /// IP bits per second to send; as many as the circuit takes if auto. Without a circuit a rate is required.
        pub rate: Option<Rate> = None, "DEC-U21: always backlogged";
        /// IP bytes of a datagram.
        pub packet: u32 = 1500, "DEC-E1, DEC-U21";
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
/// Shortest one: IPv6 and UDP headers, and its number.
const SMALLEST: u32 = 56;

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
    /// A datagram that is too short or too long, a circuit that is refused, or neither rate nor circuit.
    pub fn check(&self) -> Result<(), ParameterError> {
        self.circuit.iter().try_for_each(decoupling::CircuitSettings::check)?;
        let refused = |key, reason: &str| Err(ParameterError::bad(key, reason));
        if !(SMALLEST..=LARGEST).contains(&self.source.packet) {
            return refused("packet", "a datagram has 56 to 65535 bytes");
        }
        match self.source.rate {
            Some(rate) if rate.bps() == 0 => refused("rate", "0 would send nothing; write more, or auto"),
            None if self.circuit.is_none() => {
                refused("rate", "without a circuit nothing else says how fast; write \"1Mbit\"")
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
