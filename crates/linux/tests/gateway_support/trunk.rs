//! Gateways with both ends of a trunk.

use super::Net;
use airtcp_linux::gateway::{Config, Status};

/// The file of such a gateway; over IPv6 if wanted.
pub fn config(net: &Net, host: &str, settings: &[(&str, &str)], is_ipv6: bool) -> Config {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let mut config = Config { scheme: "decoupling".into(), settings, ..net.config(host) };
    if is_ipv6 {
        let peer = if host == "a" { "[fd02::2]:4791" } else { "[fd02::1]:4791" };
        config.peer = Some(peer.parse().unwrap());
    }
    config
}

/// True once packets are taken into the trunk.
pub fn is_open(status: &Status) -> bool {
    status.gauges.get("trunk_open") == Some(&1) && status.diverting
}
