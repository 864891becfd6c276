//! Kernel settings of a node's namespace.
//!
//! What is set is what a measurement depends on: nothing remembered from one connection to the
//! next, buffers that never limit, no packets that nobody asked for.

use super::TestbedError;
use super::registry;
use crate::sys::netns::{NetNs, sysctl_path};
use std::io;

/// Settings of every node.
const COMMON: &[(&str, &str)] = &[
    // Each connection starts from scratch, whatever the one before it learned.
    ("net/ipv4/tcp_no_metrics_save", "1"),
    // 64 MB: the window is limited by the path, not by memory.
    ("net/ipv4/tcp_rmem", "4096 131072 67108864"),
    ("net/ipv4/tcp_wmem", "4096 65536 67108864"),
    // Packets may come in by a gateway's TUN device and leave by another.
    ("net/ipv4/conf/all/rp_filter", "2"),
    ("net/ipv4/conf/default/rp_filter", "2"),
    ("net/ipv6/conf/all/accept_ra", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv6/conf/default/router_solicitations", "0"),
    ("net/ipv6/conf/default/autoconf", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/dad_transmits", "0"),
    // No link-local addresses: nothing then speaks on a device by itself.
    ("net/ipv6/conf/default/addr_gen_mode", "1"),
];

/// Settings of nodes that forward.
const FORWARDING: &[(&str, &str)] = &[("net/ipv4/ip_forward", "1"), ("net/ipv6/conf/all/forwarding", "1")];

/// Settings that a kernel may lack without harm (built without IPv6).
fn is_optional(key: &str) -> bool {
    key.starts_with("net/ipv6/")
}

/// Applies the settings; call it before any device exists.
pub(super) fn prepare(namespace: &NetNs, forwards: bool) -> Result<(), TestbedError> {
    let forwarding = if forwards { FORWARDING } else { &[] };
    let apply = || -> io::Result<()> {
        for (key, value) in COMMON.iter().chain(forwarding) {
            match std::fs::write(sysctl_path(key), value) {
                Err(error) if !(is_optional(key) && error.kind() == io::ErrorKind::NotFound) => {
                    return Err(io::Error::other(format!("{key} = {value}: {error}")));
                }
                _ => {}
            }
        }
        Ok(())
    };
    let action = format!("set kernel parameters in {}", namespace.name());
    namespace.run(apply).and_then(|result| result).map_err(TestbedError::io(action))
}

const DEFAULT: &str = "net/ipv4/tcp_congestion_control";

/// Makes `controller` the default of the namespaces, for programs that choose none.
///
/// The kernel refuses a default that `net.ipv4.tcp_allowed_congestion_control` of the root
/// namespace does not list, but a default once set stays when the list shrinks again. So the
/// list is extended for the moment of setting only, and put back at once; the old value is on
/// disk meanwhile, for the next start to put back should this one be killed in between.
pub(super) fn set_default_controller(namespaces: &[&NetNs], controller: &str) -> Result<(), TestbedError> {
    let set = || -> io::Result<()> {
        namespaces.iter().try_for_each(|namespace| namespace.write_sysctl(DEFAULT, controller))
    };
    if set().is_ok() {
        return Ok(());
    }
    let action = || TestbedError::io(format!("make '{controller}' the default controller"));
    let _lock = registry::Lock::take()?;
    let allowed = registry::AllowedList::extend(controller).map_err(action())?;
    let result = set().map_err(action());
    allowed.put_back()?;
    result
}
