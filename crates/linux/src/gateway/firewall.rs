//! The packet filter of this machine: what in its rules matters to a gateway.

use super::command::{self, CommandError};

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

    /// True if a rule drops packets that arrive through another interface than the route back to their source
    /// (firewalld's `IPv6_rpfilter`). Packets from our device look like that.
    pub fn filters_reverse_path(&self) -> bool {
        self.rules().any(|(line, _)| line.contains("fib saddr") && line.contains("iif") || line.contains("rpfilter"))
    }

    /// True if connections are tracked: the kernel then joins fragments before we see them.
    pub fn tracks_connections(&self) -> bool {
        self.rules()
            .any(|(line, words)| words.contains(&"ct") || line.contains("conntrack") || line.contains("-m state"))
    }
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
