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

    /// What of the rules packets would meet differently if they passed the router twice; `None` if nothing: rules about
    /// forwarded packets, address translation, flow tables, a reverse path filter.
    pub fn in_the_way(&self) -> Option<String> {
        if let Some(rule) = self.translation() {
            return Some(format!("this router translates addresses (`{rule}`)"));
        }
        self.forwarding().map(|rule| format!("this router filters what it forwards (`{rule}`)"))
    }

    /// The first rule about forwarded packets, or about where packets come from.
    fn forwarding(&self) -> Option<&str> {
        let mut is_forward_chain = false;
        for (line, words) in self.rules() {
            let starts_block = line.ends_with('{');
            if starts_block {
                is_forward_chain = false;
            }
            if line.starts_with("flowtable ") || line.starts_with("-A FORWARD") || line.starts_with(":FORWARD DROP") {
                return Some(line);
            }
            let checks_sources = line.contains("fib saddr") && line.contains("iif") || line.contains("rpfilter");
            if checks_sources && !starts_block {
                return Some(line);
            }
            if line.contains("hook forward") {
                is_forward_chain = true;
                if line.contains("policy drop") {
                    return Some(line);
                }
            } else if is_forward_chain && !matches!(words.first(), None | Some(&"}")) {
                return Some(line);
            }
        }
        None
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
    fn any_rule_about_forwarded_packets_is_in_the_way() {
        let chain = |rules: &str| format!("chain c {{\ntype filter hook forward priority filter; {rules}\n}}\n}}");
        assert!(firewall(&chain("policy drop;")).in_the_way().is_some());
        assert!(firewall(&chain("policy accept;\niifname \"guest\" oifname \"air\" drop")).in_the_way().is_some());
        assert!(firewall(&chain("policy accept;\nct state new drop")).in_the_way().is_some());
        assert_eq!(firewall(&chain("policy accept;")).in_the_way(), None);
        assert!(firewall("-A FORWARD -j REJECT").in_the_way().is_some());
        assert!(firewall("flowtable f {\nhook ingress priority filter\n}").in_the_way().is_some());
        assert!(firewall("fib saddr . mark . iif oif missing drop").in_the_way().is_some());
        assert_eq!(
            firewall("chain c {\ntype filter hook input priority 0; policy drop;\ntcp dport 22 accept\n}").in_the_way(),
            None
        );
    }
}
