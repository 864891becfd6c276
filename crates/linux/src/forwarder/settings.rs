//! The TCPs between two forwarders.

use super::line::LineSettings;
use airtcp_core::{ByteSize, Duration};
use airtcp_schemes::papers::decoupling::socket::{ReliableSettings, Repeat};
use airtcp_tcp::{Config, Holes};

/// Bytes that a full data segment takes beside its IP packet inside: UDP header, front and tag are longer than what is left
/// out of IP and TCP headers.
const fn more_than_ip(is_ipv4: bool) -> u32 {
    // 28 + 8 + 20 + 8 bytes around the payload in place of 52, and 20 more with IPv6.
    if is_ipv4 { 12 } else { 32 }
}

/// The decoupling socket unless the file says otherwise: with every hole repaired, because a path that loses often needs it
/// (docs/decoupling-socket.md).
pub fn reliable() -> ReliableSettings {
    let mut settings = ReliableSettings::default();
    settings.data.holes = Holes::All;
    settings.data.repeat = Repeat::Path;
    settings.data.one_copy = true;
    settings
}

/// Between two forwarders that send datagrams of up to `mtu` IP bytes, with buffers of `buffer` bytes each way.
pub fn line_settings(mtu: u32, is_ipv4: bool, buffer: ByteSize) -> LineSettings {
    let tcp = Config {
        mtu: mtu.saturating_sub(more_than_ip(is_ipv4)),
        receive_buffer: buffer,
        send_buffer: Some(buffer),
        // Nothing follows the last acknowledgment here.
        time_wait: Duration::from_millis(1),
        ..Config::without_habits()
    };
    LineSettings { reliable: reliable(), tcp }
}
