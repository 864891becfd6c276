//! TCP through a WireGuard tunnel of its own, in live runs.

use super::{FlowEnd, PacketSizes, SocketEntry, SocketSettings, SocketSite};
use airtcp_core::Instant;
use airtcp_core::parameters;
use airtcp_core::parameters::ParameterError;
use airtcp_tcp::Config;
use alloc::boxed::Box;

/// Its line in the table of sockets.
pub const ENTRY: SocketEntry = SocketEntry {
    slug: "wireguard",
    about: "A TCP connection inside a WireGuard tunnel of its own; live runs only, controllers are the kernel's.",
    has_size: true,
    control: "wireguard",
    counters: &[],
    settings: || Box::new(WireguardSettings::default()),
};

parameters! {
    /// What a file can set of the tunnel.
    pub struct WireguardSettings {
        /// MTU of the tunnel's devices: IP bytes of a packet before it is enciphered.
        pub mtu: u32 = 1420, "wg-quick(8): 1500 less 80, enough for IPv6";
    }
}

/// WireGuard's header and the tag behind the packet.
const AROUND: u32 = 16 + 16;
/// What IPv6 asks of a link.
const LEAST: u32 = 1280;

impl SocketSettings for WireguardSettings {
    fn check(&self) -> Result<(), ParameterError> {
        match self.mtu {
            LEAST..=9000 => Ok(()),
            _ => Err(ParameterError::bad("mtu", "a tunnel has an MTU of 1280 to 9000 bytes")),
        }
    }

    fn live_only(&self) -> Option<&'static str> {
        Some("the simulator has no WireGuard; run it with --live, or take socket = \"tcp\" with mtu = 1420")
    }

    fn connect(&self, _: &mut SocketSite<'_>, _: Instant) -> FlowEnd {
        unreachable!("no world without WireGuard connects it")
    }

    /// A segment in the tunnel, with the headers of both.
    fn sizes(&self, _: &Config, is_ipv4: bool) -> PacketSizes {
        // The kernel's TCP has timestamps.
        let (ip, options) = (if is_ipv4 { 20 } else { 40 }, 12);
        let inside = ip + 20 + options;
        PacketSizes { header: ip + 8 + AROUND + inside, payload: self.mtu - inside }
    }
}
