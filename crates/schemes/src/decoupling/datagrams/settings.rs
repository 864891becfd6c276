//! Parameters of a stream of datagrams.

use crate::decoupling;
use crate::decoupling::socket::with_nearest;
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Rate, parameters};
use alloc::string::String;
use alloc::vec::Vec;

parameters! {
    /// Parameters of the sender.
    pub struct SourceSettings {
        /// IP bits a second that it sends; as many as the circuit takes if auto, and without a circuit a rate must be given.
        pub rate: Option<Rate> = None, "DEC-U21: always backlogged";
        /// IP bytes of a datagram.
        pub packet: u32 = 1500, "DEC-E1, DEC-U21";
    }
}

/// Everything a file can set of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The sender.
    pub source: SourceSettings,
    /// The circuit, if it goes over one.
    pub circuit: Option<decoupling::Settings>,
}

/// Longest datagram.
const LARGEST: u32 = 65_535;
/// Shortest one: IPv6 and UDP headers, and its number.
const SMALLEST: u32 = 56;

impl Settings {
    /// Every parameter with its default, of a stream over a circuit or without one.
    pub fn fields(has_circuit: bool) -> Vec<Field> {
        let mut fields = SourceSettings::default().fields();
        if has_circuit {
            fields.extend(decoupling::Settings::default().fields());
        }
        fields
    }

    /// The defaults but for these, name and value as text.
    ///
    /// # Errors
    /// A name that is none of them, a value of the wrong kind, or neither rate nor circuit.
    pub fn with(settings: &[(String, String)], has_circuit: bool) -> Result<Settings, ParameterError> {
        let mut source = SourceSettings::default();
        let mut circuit = has_circuit.then(decoupling::Settings::default);
        let own = source.fields();
        for (key, value) in settings {
            match &mut circuit {
                Some(circuit) if !own.iter().any(|field| field.name == key) => {
                    circuit.set(key, &value.into()).map_err(|error| with_nearest(error, &Settings::fields(true)))?;
                }
                _ => source.set(key, &value.into())?,
            }
        }
        circuit.iter().try_for_each(decoupling::Settings::check)?;
        let refused = |key, reason: &str| Err(ParameterError::BadValue { key, reason: reason.into() });
        if !(SMALLEST..=LARGEST).contains(&source.packet) {
            return refused("packet", "a datagram has 56 to 65535 bytes");
        }
        match source.rate {
            Some(rate) if rate.bps() == 0 => refused("rate", "0 would send nothing; write more, or auto"),
            None if !has_circuit => refused("rate", "without a circuit nothing else says how fast; write \"1Mbit\""),
            _ => Ok(Settings { source, circuit }),
        }
    }
}
