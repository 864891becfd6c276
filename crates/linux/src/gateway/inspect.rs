//! What stands in the way of a gateway on this machine: each finding one sentence and one fix.

use super::command::{self, CommandError};
use super::config::Config;
use super::control::Key;
use super::divert;
use crate::doctor::{Finding, Level};
use std::path::Path;

/// The packet filter's rules, as far as they matter here.
#[derive(Clone, Debug, Default)]
pub struct Firewall {
    text: String,
}

/// Statements that rewrite addresses; each makes conntrack bind a connection at its first pass.
const TRANSLATIONS: [&str; 4] = ["masquerade", "snat", "dnat", "redirect"];

impl Firewall {
    /// Reads all rules of this network namespace: nft (with iptables-nft) and legacy iptables.
    ///
    /// # Errors
    /// `nft` is missing or failed.
    pub fn read() -> Result<Firewall, CommandError> {
        let mut text = command::output(&["nft", "list", "ruleset"])?;
        for (names, save) in [
            ("/proc/net/ip_tables_names", "iptables-legacy-save"),
            ("/proc/net/ip6_tables_names", "ip6tables-legacy-save"),
        ] {
            let in_use = std::fs::read_to_string(names).is_ok_and(|names| !names.trim().is_empty());
            if in_use && let Ok(rules) = command::output(&[save]) {
                text.push_str(&rules);
            }
        }
        Ok(Firewall { text })
    }

    /// Rules without comments, element by element: words, with quotes kept on targets only.
    fn rules(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.text.lines().map(str::trim).filter(|line| !line.starts_with('#')).map(|line| {
            let code = line.split(" comment \"").next().unwrap_or(line);
            (line, code.split_whitespace().collect())
        })
    }

    /// The first rule that rewrites addresses.
    pub fn translation(&self) -> Option<&str> {
        self.rules()
            .find(|(_, words)| {
                !matches!(words.first(), Some(&("chain" | "table" | "set" | "map")))
                    && words.iter().any(|word| {
                        let word = word.trim_matches('"').to_ascii_lowercase();
                        TRANSLATIONS.contains(&word.as_str())
                    })
            })
            .map(|(line, _)| line)
    }

    /// Bits of the packet mark that rules mention.
    pub fn mark_bits(&self) -> u32 {
        self.rules()
            .filter(|(_, words)| words.iter().any(|word| word.to_ascii_lowercase().contains("mark")))
            .flat_map(|(_, words)| words)
            .filter_map(|word| {
                let hex = word.split('/').next()?.trim_end_matches(',').strip_prefix("0x")?;
                u32::from_str_radix(hex, 16).ok()
            })
            // A complement (0xf0ffffff: "clear these bits") tells by its zeros.
            .map(|value| if value.count_ones() > 16 { !value } else { value })
            .fold(0, |bits, value| bits | value)
    }

    /// True if a forward chain drops what no rule accepts, and no rule mentions the devices
    /// of the gateway `name`.
    pub fn may_drop_forwarded(&self, name: Option<&str>) -> bool {
        let drops = self.rules().any(|(line, _)| {
            (line.contains("hook forward") && line.contains("policy drop")) || line.starts_with(":FORWARD DROP")
        });
        drops && !name.is_some_and(|name| self.text.contains(&format!("\"{name}-")))
    }

    /// True if a rule drops packets that could not have come in by the way back (firewalld's
    /// `IPv6_rpfilter`): what comes out of our device looks like that.
    pub fn filters_reverse_path(&self) -> bool {
        self.rules().any(|(line, _)| line.contains("fib saddr") && line.contains("iif") || line.contains("rpfilter"))
    }

    /// True if connections are tracked: the kernel then joins fragments before we see them.
    pub fn tracks_connections(&self) -> bool {
        self.rules()
            .any(|(line, words)| words.contains(&"ct") || line.contains("conntrack") || line.contains("-m state"))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn firewall(text: &str) -> Firewall {
        Firewall { text: text.to_owned() }
    }

    #[test]
    fn every_form_of_address_translation_is_seen() {
        for rule in [
            "oifname \"eth0\" masquerade",
            "ip saddr 10.0.0.0/8 snat to 192.0.2.1",
            "tcp dport 80 dnat ip to 10.0.0.2:8080",
            "tcp dport 80 redirect to :8080",
            "oifname \"eth0\" counter packets 0 bytes 0 xt target \"MASQUERADE\"",
            "-A POSTROUTING -o eth0 -j MASQUERADE",
        ] {
            assert!(firewall(rule).translation().is_some(), "{rule}");
        }
    }

    #[test]
    fn names_and_comments_are_no_address_translation() {
        for rule in
            ["# masquerade is off", "chain masquerade {", "accept comment \"no snat here\"", "iifname \"eth0\" accept"]
        {
            assert!(firewall(rule).translation().is_none(), "{rule}");
        }
    }

    #[test]
    fn marks_of_other_software_are_seen_as_the_bits_they_use() {
        let text = "meta mark set meta mark & 0xff00ffff | 0x00040000\nip daddr 10.0.0.1 accept";
        assert_eq!(firewall(text).mark_bits(), 0x00ff_0000);
        assert_eq!(firewall("-j MARK --set-xmark 0x4000/0x4000").mark_bits(), 0x4000);
        assert_eq!(firewall("ether type 0x0800 accept").mark_bits(), 0);
    }

    #[test]
    fn a_forward_chain_that_drops_is_fine_once_it_names_the_devices() {
        let chain = "type filter hook forward priority filter; policy drop;";
        assert!(firewall(chain).may_drop_forwarded(Some("air")));
        let exempt = format!("{chain}\niifname \"air-out\" accept");
        assert!(!firewall(&exempt).may_drop_forwarded(Some("air")));
    }
}
