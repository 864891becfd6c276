//! QUIC from end to end, in live runs: the kernel has none, the simulator neither.

use super::tcp::NoSettings;
use super::{FlowEnd, PacketSizes, SocketEntry, SocketSettings, SocketSite};
use airtcp_core::Instant;
use airtcp_core::Value;
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_tcp::Config;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Its line in the table of sockets.
pub const ENTRY: SocketEntry = SocketEntry {
    slug: "quic",
    about: "A QUIC connection with one stream; live runs only, controller cubic, bbr or reno of quinn.",
    has_size: true,
    control: "quic",
    counters: &[],
    settings: || Box::new(QuicSettings),
};

/// Nothing to set: everything is as quinn has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuicSettings;

/// UDP payload that quinn's search for the MTU goes up to.
const LONGEST: u32 = 1452;
/// What quinn puts around the data of a stream at least: flags, the receiver's connection id, packet number, tag; type, id and
/// offset of the frame.
const AROUND: u32 = 1 + 8 + 1 + 16 + 1 + 1 + 4;

impl Parameters for QuicSettings {
    fn fields(&self) -> Vec<Field> {
        NoSettings.fields()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        NoSettings.set(key, value)
    }
}

impl SocketSettings for QuicSettings {
    fn live_only(&self) -> Option<&'static str> {
        Some("the simulator has no QUIC; run it with --live, or take socket = \"tcp\"")
    }

    fn connect(&self, _: &mut SocketSite<'_>, _: Instant) -> FlowEnd {
        unreachable!("no world without QUIC connects it")
    }

    fn sizes(&self, tcp: &Config, is_ipv4: bool) -> PacketSizes {
        let headers = if is_ipv4 { 28 } else { 48 };
        let datagram = LONGEST.min(tcp.mtu.saturating_sub(headers));
        PacketSizes { header: headers + AROUND, payload: datagram.saturating_sub(AROUND) }
    }
}
