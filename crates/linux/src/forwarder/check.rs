//! Whether a forwarder could start here: looks, and leaves nothing.

use super::config::Config;
use crate::finding::Finding;
use crate::gateway::control::Secret;
use crate::sys::process::{allow_open_files_up_to, has_net_admin};
use crate::sys::relay_socket;
use std::net::UdpSocket;

/// One finding for the key, the datagrams, each address that is listened at, and what needs privileges.
pub fn check(config: &Config) -> Vec<Finding> {
    let mut findings = vec![match Secret::read(&config.key) {
        Ok(_) => Finding::good(format!("the key in {} can be used", config.key.display())),
        Err(error) => Finding::refusal(error.to_string(), error.remedy()),
    }];
    let peer = config.peer;
    findings.push(match UdpSocket::bind(config.listen).and_then(|socket| socket.connect(peer)) {
        Ok(()) => Finding::good(format!("datagrams go to {peer} from {}", config.listen)),
        Err(error) => {
            let what = format!("datagrams cannot be exchanged between {} and {peer}: {error}", config.listen);
            Finding::refusal(what, "set another `listen`, or give this machine a route to `peer`")
        }
    });
    for forward in &config.forwards {
        let (at, is_transparent) = (forward.listen, forward.to.is_none());
        findings.push(match relay_socket::listen(at, is_transparent) {
            Ok(_) => Finding::good(format!("connections are taken at {at}")),
            Err(error) => {
                let what = format!("connections cannot be taken at {at}: {error}");
                Finding::refusal(what, "set another `listen` in this [[forward]]")
            }
        });
    }
    for stream in &config.streams {
        let at = &stream.listen;
        findings.push(match at.open() {
            Ok(_) => Finding::good(format!("datagrams are taken at {at}")),
            Err(error) => {
                let what = format!("datagrams cannot be taken at {at}: {error}");
                Finding::refusal(what, "set another `listen` in this [[stream]]")
            }
        });
    }
    if config.keep_source && !has_net_admin() {
        let what = "`keep_source` needs CAP_NET_ADMIN, which this process does not have";
        findings.push(Finding::refusal(what, "run it as root, or leave out `keep_source`"));
    }
    let wanted = config.descriptors();
    if let Ok(allowed) = allow_open_files_up_to(wanted)
        && allowed < wanted
    {
        let what =
            format!("{} connections need {wanted} descriptors, and the process may have {allowed}", config.connections);
        findings.push(Finding::warning(what, "raise the limit (ulimit -n, LimitNOFILE=), or lower `connections`"));
    }
    findings
}
