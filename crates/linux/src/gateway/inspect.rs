//! Checks whether a gateway can run on this machine; each finding is one sentence and one fix.

use super::command::{self, CommandError};
use super::config::{Config, Role};
use super::control::Secret;
use super::divert::{self, DivertError, Method, routed};
use super::peers::PeerError;
use super::same_path;
use super::wifi;
use crate::finding::{Finding, Level};
use crate::sys::interface;
use airtcp_core::Value;
use std::path::Path;

/// All that matters for a gateway with this configuration, good and bad.
pub fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = config.validate() {
        findings.push(Finding::refusal(error.to_string(), "correct the gateway file"));
        return findings;
    }
    findings.extend(host());
    if config.role != Some(Role::Station) {
        findings.push(forwarding());
    }
    findings.push(link(&config.link));
    findings.extend(wifi::findings(config));
    findings.extend(diversion(Some(config)));
    let peers = config.each_peer();
    findings.extend(peers.iter().flat_map(keys));
    findings.extend(same_keys(&peers, config));
    findings.extend(peers.iter().filter_map(peer));
    findings.extend(apart(config));
    findings.extend(segments(config));
    findings.extend(same_path::findings(config));
    findings
}

/// Header packets of a trunk as TCP segments.
fn segments(config: &Config) -> Option<Finding> {
    if config.settings.get("headers") != Some(&Value::from("tcp")) {
        return None;
    }
    if divert::link::check().is_err() || config.method == Some(Method::Routed) {
        return Some(Finding::refusal(DivertError::RoutedSegments.to_string(), "set `headers = \"udp\"`"));
    }
    Some(Finding::warning(
        "header packets are TCP segments, which nothing authenticates: who can send from the peer's address can slow down or \
         stop the trunk, or have it send too fast",
        "leave out `headers`: in messages they have a MAC, where there is a key",
    ))
}

/// What every gateway of a router needs from the machine.
pub fn machine() -> Vec<Finding> {
    let mut findings = host();
    findings.push(forwarding());
    findings
}

/// What every gateway needs.
fn host() -> Vec<Finding> {
    vec![privilege(), tun_driver(), tool("ip")]
}

fn privilege() -> Finding {
    if crate::sys::process::has_net_admin() {
        Finding::good("this process may administer the network (CAP_NET_ADMIN)")
    } else {
        Finding::refusal(
            "this process may not administer the network",
            "run it as root: sudo airtcp ... (or give it CAP_NET_ADMIN)",
        )
    }
}

fn tun_driver() -> Finding {
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Finding::good("/dev/net/tun can be opened"),
        Err(error) => Finding::refusal(
            format!("/dev/net/tun cannot be opened: {error}"),
            "modprobe tun (in a container: pass /dev/net/tun through and add CAP_NET_ADMIN)",
        ),
    }
}

/// Whether a tool is installed.
pub fn tool(program: &str) -> Finding {
    if command::is_installed(program) {
        Finding::good(format!("`{program}` is installed"))
    } else {
        let fix = format!("apt-get install {}", command::package_of(program));
        Finding::refusal(format!("`{program}` is missing"), fix)
    }
}

fn is_on(path: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|value| !matches!(value.trim(), "" | "0"))
}

fn forwarding() -> Finding {
    let ipv4 = is_on("/proc/sys/net/ipv4/ip_forward");
    let ipv6 = is_on("/proc/sys/net/ipv6/conf/all/forwarding");
    match (ipv4, ipv6) {
        (true, true) => Finding::good("the kernel forwards IPv4 and IPv6"),
        (true, false) => Finding::good("the kernel forwards IPv4 (not IPv6)"),
        (false, true) => Finding::good("the kernel forwards IPv6 (not IPv4)"),
        (false, false) => Finding::refusal(
            "this machine is no router: the kernel forwards nothing",
            "sysctl -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
        ),
    }
}

fn link(name: &str) -> Finding {
    if interface::index(name).is_ok() {
        Finding::good(format!("the interface {name} exists"))
    } else {
        Finding::warning(
            format!("there is no interface {name}: the gateway waits for it"),
            "set `link` to one of those that `ip -brief link` shows, or bring it up",
        )
    }
}

/// How packets would be taken, and what stands in the way of the second best way.
pub fn diversion(config: Option<&Config>) -> Vec<Finding> {
    let reason = match (divert::link::check(), config.and_then(|config| config.method)) {
        (Ok(()), None | Some(Method::Tcx | Method::Clsact)) => {
            return vec![Finding::good(
                "packets can be taken at the link itself, so rules of this router keep their meaning",
            )];
        }
        (Ok(()), Some(Method::Routed)) => "the configuration says so".to_owned(),
        (Err(reason), _) => reason,
    };
    if config.is_some_and(|config| !config.takes_whole_link()) {
        return vec![Finding::refusal(
            format!("packets of several peers are told apart at the link only: {reason}"),
            "build with clang and run a kernel with BPF and BTF, or have one peer",
        )];
    }
    let mut findings = vec![
        Finding::warning(
            format!("packets are taken by policy routes, the second best way: {reason}"),
            "build with clang and run a kernel with BPF and BTF; then rules, NAT and TTL are not affected",
        ),
        tool("nft"),
    ];
    let link = config.map_or("", |config| &config.link);
    match routed::in_the_way(link) {
        Ok(None) => findings.push(Finding::good("no rule of this router is in the way of policy routes")),
        Ok(Some(rule)) => findings.push(Finding::refusal(
            format!("{rule}, which policy routes would break"),
            "build with clang and run a kernel with BPF and BTF, or put the gateway on another router of the path",
        )),
        Err(error) => findings.push(Finding::refusal(error.to_string(), "run as root, with nftables installed")),
    }
    findings
}

fn keys(config: &Config) -> Vec<Finding> {
    let key = |path: &Path| match Secret::read(path) {
        Ok(_) => Finding::good(format!("the key {} can be read", path.display())),
        Err(error) => Finding::refusal(error.to_string(), error.remedy()),
    };
    let mut findings: Vec<Finding> = config.secrets().map(key).collect();
    if config.peer.is_some() && findings.is_empty() {
        findings.push(Finding::warning(
            "control messages are not authenticated: who can send from the peer's address can pretend to be the peer",
            format!("set `key` in place of `insecure = true`; {}", Secret::HOW_TO_MAKE),
        ));
    }
    findings
}

/// Each of several peers has a key of its own, whatever the files are called.
fn same_keys(peers: &[Config], config: &Config) -> Option<Finding> {
    let secrets: Vec<Vec<Secret>> =
        peers.iter().map(|peer| peer.secrets().filter_map(|path| Secret::read(path).ok()).collect()).collect();
    let is_same = |one: usize, other: usize| {
        secrets[one].iter().any(|its| secrets[other].iter().any(|secret| secret.is_same(its)))
    };
    let (one, other) =
        (0..peers.len()).find_map(|other| Some(((0..other).find(|one| is_same(*one, other))?, other)))?;
    let names = [one, other].map(|index| config.peers[index].name.clone());
    let [one, other] = names;
    Some(Finding::refusal(PeerError::SameKey(one, other).to_string(), Secret::HOW_TO_MAKE))
}

/// Packets of several peers have to be told apart.
fn apart(config: &Config) -> Option<Finding> {
    let without = config.peers.iter().find(|peer| peer.networks.is_empty())?;
    let header = interface::header_type(&config.link).ok()?;
    (!divert::link::has_addresses(header)).then(|| {
        Finding::refusal(
            format!("packets of the peer '{}' cannot be told: {} has no hardware addresses", without.name, config.link),
            "set `networks` of each [[peer]]",
        )
    })
}

/// The peer should be on the other side of the link.
fn peer(config: &Config) -> Option<Finding> {
    let peer = config.peer?;
    let address = peer.ip().to_string();
    let Ok(route) = command::output(&["ip", "route", "get", &address]) else {
        return Some(Finding::warning(
            format!("no route leads to the peer {peer}: it will not be heard"),
            format!("add a route to {address} through {}", config.link),
        ));
    };
    let words: Vec<&str> = route.split_whitespace().collect();
    let through = words.windows(2).find(|pair| pair[0] == "dev").map(|pair| pair[1]);
    Some(if through == Some(config.link.as_str()) {
        Finding::good(format!("the peer {peer} is reached through {}", config.link))
    } else {
        Finding::warning(
            format!("the peer {peer} is reached through {}", through.unwrap_or("nothing")),
            format!("`peer` should be the other end of {}", config.link),
        )
    })
}

/// What `--dry-run` prints: every command, and the one that undoes them.
///
/// # Errors
/// The machine could not be looked at.
pub fn plan(config: &Config) -> Result<String, CommandError> {
    if config.method != Some(Method::Routed) && divert::link::check().is_ok() {
        return Ok(divert::link::describe(config));
    }
    let plan = routed::make_plan(config, routed::slot::preferred(&config.link))?;
    Ok(plan.describe(&config.pid_path().display().to_string()))
}

/// The first reason not to start, as one sentence with its fix.
pub fn refusal(findings: &[Finding]) -> Option<String> {
    findings
        .iter()
        .find(|finding| finding.level == Level::Refusal)
        .map(|finding| format!("{}. Fix: {}", finding.what, finding.fix))
}
