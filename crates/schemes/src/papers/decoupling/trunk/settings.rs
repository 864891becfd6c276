//! Parameters of a trunk: its own, and those of its circuit.

use crate::papers::decoupling::CircuitSettings;
use crate::papers::decoupling::socket::with_nearest;
use crate::peer::check_distance;
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Duration, Value, choices, parameters};
use airtcp_link::Queue;
use alloc::vec::Vec;

choices! {
    /// How control TCPs cross the path.
    pub enum Headers {
        /// As TCP segments of their own, 52 bytes long (IPv4). Between gateways nothing authenticates them.
        Tcp = "tcp",
        /// In messages between the two ends: UDP, with a MAC where the gateways have a key.
        Udp = "udp",
    }
}

choices! {
    /// How data cross the path between two gateways.
    pub enum Carriage {
        /// As they came, beside the header packets.
        Direct = "direct",
        /// In messages to the other gateway, as the header packets: both are one flow.
        Tunnel = "tunnel",
    }
}

choices! {
    /// What becomes of packets for the trunk while the far end does not answer.
    pub enum Fail {
        /// They pass beside the trunk, and so does what waited in it.
        Open = "open",
        /// They wait in the tunnel queue, and are dropped when it is full.
        Closed = "closed",
    }
}

parameters! {
    /// Parameters of the two ends.
    pub struct EndSettings {
        /// How header packets and their acknowledgments travel, the same at both ends. If auto: as segments between two nodes of a scenario, in messages between two gateways.
        pub headers: Option<Headers> = None, "DEC-5; SPEC 7.3: prefer UDP";
        /// How data cross the path between two gateways: as they came, or in the flow of the header packets, so that routers cannot treat the two differently.
        pub carriage: Carriage = Carriage::Direct, "DEC-20, DEC-22; ours";
        /// With the carriage tunnel, lower the MSS that a TCP SYN announces to what enters the tunnel whole; else senders are told by ICMP.
        pub clamp_mss: bool = false, "ours";
        /// Queue discipline of the tunnel queue, as the queue of a link. If auto: a FIFO of `tunnel` packets where header packets are segments, else FQ-CoDel with a target of 100 ms and an interval of 300 ms.
        pub queue: Option<Queue> = None, "DEC-2; RFC 8290";
        /// What becomes of packets while the far end does not answer, where header packets travel in messages.
        pub fail: Fail = Fail::Open, "ours";
        /// Time between two HELLOs of an end, where header packets travel in messages.
        pub hello: Duration = Duration::from_millis(100), "as gsnoop";
        /// The far end counts as gone after so much silence.
        pub peer_timeout: Duration = Duration::from_secs(1), "as gsnoop";
    }
}

/// Everything a file can set of a trunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrunkSettings {
    /// The circuit.
    pub circuit: CircuitSettings,
    /// Its ends.
    pub ends: EndSettings,
}

impl TrunkSettings {
    /// What single values cannot refuse.
    ///
    /// # Errors
    /// A sentence that says what to write.
    pub fn check(&self) -> Result<(), ParameterError> {
        self.circuit.check()?;
        check_distance(self.ends.hello, self.ends.peer_timeout)
    }
}

impl Parameters for TrunkSettings {
    fn fields(&self) -> Vec<Field> {
        [self.circuit.fields(), self.ends.fields()].concat()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        if self.ends.fields().iter().any(|field| field.name == key) {
            return self.ends.set(key, value);
        }
        let set = self.circuit.set(key, value);
        set.map_err(|error| with_nearest(error, &self.fields()))
    }
}
