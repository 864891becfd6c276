//! Checks whether a gateway can run on this machine; each finding is one sentence and one fix.

use super::command::{self, CommandError};
use super::config::Config;
use super::control::Key;
use super::divert;
use super::firewall::Firewall;
use crate::finding::{Finding, Level};
use std::path::Path;

/// All that matters for a gateway with this configuration, good and bad.
pub fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = config.validate() {
        findings.push(Finding::refusal(error.to_string(), "correct the gateway file"));
        return findings;
    }
    findings.extend(machine());
    findings.push(link(&config.link));
    findings.extend(firewall(Some(config)));
    findings.extend(config.key.as_deref().map(key));
    findings.extend(peer(config));
    findings
}

/// What every gateway needs from the machine.
pub fn machine() -> Vec<Finding> {
    let mut findings = vec![privilege(), tun_driver()];
    findings.extend(["ip", "nft"].into_iter().map(tool));
    findings.push(forwarding());
    findings
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
    let state = Path::new("/sys/class/net").join(name);
    // /sys may show another network namespace; /proc follows this one.
    let exists = std::fs::read_to_string("/proc/net/dev")
        .is_ok_and(|devices| devices.lines().any(|l| l.trim().starts_with(&format!("{name}:"))))
        || state.exists();
    if exists {
        Finding::good(format!("the interface {name} exists"))
    } else {
        Finding::refusal(
            format!("there is no interface {name}"),
            "set `link` to one of those that `ip -brief link` shows",
        )
    }
}

/// What the packet filter says; device names are checked where there is a configuration.
pub fn firewall(config: Option<&Config>) -> Vec<Finding> {
    let firewall = match Firewall::read() {
        Ok(firewall) => firewall,
        Err(error) => {
            return vec![Finding::refusal(error.to_string(), "run as root, with nftables installed")];
        }
    };
    let mut findings = Vec::new();
    match firewall.translation() {
        Some(rule) => findings.push(Finding::refusal(
            format!(
                "this router translates addresses (`{rule}`), and a connection would be bound \
                 before it reaches the gateway: everything would be lost"
            ),
            "move the gateway, or the translation, to another router on the path",
        )),
        None => findings.push(Finding::good("no address translation on this router")),
    }
    let name = config.map(|config| config.name.as_str());
    if firewall.may_drop_forwarded(name) {
        let device = name.unwrap_or("NAME");
        findings.push(Finding::warning(
            "the firewall drops forwarded packets that no rule accepts, and no rule names the \
             gateway's devices",
            format!(
                "accept them in the forward chain: iifname {{ \"{device}-out\", \"{device}-in\" }} \
                 accept; oifname {{ \"{device}-out\", \"{device}-in\" }} accept"
            ),
        ));
    }
    if firewall.filters_reverse_path() {
        findings.push(Finding::warning(
            "the firewall has a reverse path filter, which may drop what leaves the gateway",
            "exempt the gateway's devices, or set IPv6_rpfilter=no in firewalld.conf",
        ));
    }
    if firewall.tracks_connections() {
        findings.push(Finding::warning(
            "connections are tracked here, so the kernel joins fragments before they are forwarded",
            "nothing to do; without tracking, fragments pass byte-identical",
        ));
    }
    findings
}

fn key(path: &Path) -> Finding {
    match Key::read(path) {
        Ok(_) => Finding::good(format!("the key {} can be read", path.display())),
        Err(error) => Finding::refusal(error.to_string(), Key::HOW_TO_MAKE),
    }
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
    let plan = divert::make_plan(config, divert::slot::preferred(&config.link))?;
    Ok(plan.describe(&config.pid_path().display().to_string()))
}

/// The first reason not to start, as one sentence with its fix.
pub fn refusal(findings: &[Finding]) -> Option<String> {
    findings
        .iter()
        .find(|finding| finding.level == Level::Refusal)
        .map(|finding| format!("{}. Fix: {}", finding.what, finding.fix))
}
