//! What diverting a link's forwarded traffic takes, as text: devices, routes, rules, nft table.
//!
//! ```text
//!   wire ─► prerouting: mark "leaves through the link" ─► rule ─► table ─► NAME-out ─► worker
//!   link ◄─ main table, not marked again ◄──────────────────────── NAME-out ◄───────── worker
//!   link ─► prerouting: mark "arrived on the link" ────► rule ─► table ─► NAME-in ──► worker
//! ```
//!
//! - The *tables* hold nothing but a default route to the device. When the process dies the
//!   device goes, its routes go, the rule finds an empty table and the lookup falls through
//!   to the main table: plain forwarding, within the same packet.
//! - The *nft table* has `flags owner`: it is gone with the process that loaded it, and a
//!   `nft flush ruleset` by a firewall leaves it alone.
//! - A *dead man's switch* in the kernel covers a process that is stopped or hangs: packets
//!   are marked only while the set `alive` has its element, which lives for
//!   [`ALIVE_MS`] and is renewed by a heartbeat packet that the worker writes into its own
//!   device. No heartbeat, no diversion, whatever became of the processes.
//! - The device needs an IPv4 address: with reverse path filtering in loose mode (2) the
//!   kernel drops what comes from a device that has none. 192.0.0.8 is the IPv4 dummy address
//!   (RFC 7600), of scope link, so it is never chosen as a source.

use super::super::device::{DEVICE_QUEUE_PACKETS, Way};
use super::super::step::{Step, run};
use std::net::Ipv4Addr;

/// Gateways that can run in one network namespace.
pub const SLOTS: u8 = 7;
/// Marks our routing rules and routes, as `protocol` in `ip rule` and `ip route`.
pub const PROTOCOL: u8 = 167;
/// First of the 14 rule priorities: after the local table, before anybody's policy routing.
pub const PRIORITY_BASE: u32 = 70;
/// First of the 14 routing tables.
pub const TABLE_BASE: u32 = 416_700;
/// How long the kernel diverts without a heartbeat.
pub const ALIVE_MS: u64 = 1_000;
/// The devices' address, and both addresses of a heartbeat.
pub const DUMMY_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);
/// IP protocol of a heartbeat (RFC 3692: for experiments).
pub const HEARTBEAT_PROTOCOL: u8 = 253;
/// Larger than any link's MTU, so that it is the link that fragments or complains.
const DEVICE_MTU: u32 = 65_535;
/// Where the four bits of our marks may lie, best first: bits that other software rarely uses.
const SHIFTS: [u32; 8] = [24, 20, 28, 4, 8, 12, 16, 0];

/// Everything that diverting one link takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The gateway's name.
    pub name: String,
    /// The link.
    pub link: String,
    /// Which of the [`SLOTS`]; decides marks, priorities and tables.
    pub slot: u8,
    /// The four bits of the packet mark that are ours.
    pub mask: u32,
    /// False where the kernel has no IPv6 or it is switched off.
    pub ipv6: bool,
}

impl Plan {
    /// The device of one direction.
    pub fn device(&self, way: Way) -> String {
        way.device(&self.name)
    }

    /// The nft table.
    pub fn nft_table(&self) -> String {
        format!("airtcp_{}", self.name.replace('-', "_"))
    }

    /// The routing table of one direction.
    pub fn route_table(&self, way: Way) -> u32 {
        TABLE_BASE + 2 * u32::from(self.slot) + way as u32
    }

    fn priority(&self, way: Way) -> u32 {
        PRIORITY_BASE + 2 * u32::from(self.slot) + way as u32
    }

    fn mark(&self, way: Way) -> u32 {
        (2 * u32::from(self.slot) + way as u32 + 1) << self.mask.trailing_zeros()
    }

    fn families(&self) -> &'static [&'static str] {
        if self.ipv6 { &["-4", "-6"] } else { &["-4"] }
    }

    /// Brings the devices up and points routes and rules at them; the devices exist already.
    /// Nothing is diverted before the nft table is loaded.
    pub fn up(&self) -> Vec<Step> {
        Way::ALL.into_iter().flat_map(|way| self.up_way(way)).collect()
    }

    fn up_way(&self, way: Way) -> Vec<Step> {
        let device = self.device(way);
        let table = self.route_table(way);
        let sysctl = |family: &str, key: &str, value| Step::Write {
            path: format!("/proc/sys/net/{family}/conf/{device}/{key}"),
            value,
        };
        // A router joins and reports multicast groups on a device that can multicast; ours is to
        // carry nothing but diverted packets. It cannot from the start, so IPv6 is taken off
        // it (a smaller MTU than IPv6's least does that) and comes back below without groups.
        let mut steps = vec![
            run(&format!("ip link set dev {device} mtu 1000 multicast off")),
            run(&format!("ip link set dev {device} mtu {DEVICE_MTU} txqueuelen {DEVICE_QUEUE_PACKETS}")),
            sysctl("ipv4", "rp_filter", "2"),
            sysctl("ipv4", "forwarding", "1"),
        ];
        if self.ipv6 {
            steps.push(sysctl("ipv6", "accept_ra", "0"));
            steps.push(sysctl("ipv6", "addr_gen_mode", "1"));
        }
        steps.push(run(&format!("ip addr add {DUMMY_ADDRESS}/32 dev {device} scope link")));
        steps.push(run(&format!("ip link set dev {device} up")));
        for family in self.families() {
            steps.push(run(&format!("ip {family} route add default dev {device} table {table} protocol {PROTOCOL}")));
            steps.push(run(&format!("ip {family} rule add {}", self.rule(way))));
        }
        steps
    }

    /// Removes the rules; the routes and addresses go with the devices.
    pub fn down(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for way in Way::ALL {
            for family in self.families() {
                steps.push(run(&format!("ip {family} rule del {}", self.rule(way))));
            }
        }
        steps
    }

    fn rule(&self, way: Way) -> String {
        format!(
            "priority {} fwmark {:#x}/{:#x} lookup {} protocol {PROTOCOL}",
            self.priority(way),
            self.mark(way),
            self.mask,
            self.route_table(way)
        )
    }

    /// The nft table, one statement a line.
    pub fn nft(&self) -> String {
        let chain = |name: &str, priority: i32, rules: Vec<String>| {
            let rules: String = rules.iter().map(|rule| format!("    {rule}\n")).collect();
            format!(
                "  chain {name} {{\n    type filter hook prerouting priority {priority}; \
                 policy accept;\n{rules}  }}\n"
            )
        };
        // Arriving first: if two gateways run on a machine, a packet from the link of one to the link of the other
        // passes both, in this order.
        format!(
            "table inet {} {{\n  flags owner;\n  set alive {{\n    type mark; \
             flags dynamic,timeout; timeout {ALIVE_MS}ms; size 4;\n  }}\n{}{}}}\n",
            self.nft_table(),
            chain("arriving", -156, self.arriving()),
            chain("leaving", -155, self.leaving()),
        )
    }

    /// The same on one line, as an interactive `nft` wants it.
    pub fn nft_command(&self) -> String {
        let mut command = String::new();
        for line in self.nft().lines() {
            let line = line.trim();
            command.push_str(line);
            command.push_str(if line.ends_with(['{', ';']) { " " } else { "; " });
        }
        command.push('\n');
        command
    }

    fn arriving(&self) -> Vec<String> {
        let (link, out) = (&self.link, self.device(Way::Out));
        let heartbeat = format!(
            "iifname \"{out}\" ip protocol {HEARTBEAT_PROTOCOL} ip saddr {DUMMY_ADDRESS} \
             ip daddr {DUMMY_ADDRESS} update @alive {{ meta mark & 0 }} drop"
        );
        let mut rules = vec![heartbeat, format!("iifname != \"{link}\" return")];
        rules.extend(self.never_diverted());
        // A packet that leaves through the link that it came from does not cross this router and is not diverted.
        rules.push(format!("fib daddr . mark oifname {{ \"{link}\", \"lo\" }} return"));
        rules.push(self.set_mark(Way::In));
        rules
    }

    fn leaving(&self) -> Vec<String> {
        let (link, out, r#in) = (&self.link, self.device(Way::Out), self.device(Way::In));
        let mut rules = vec![format!("iifname {{ \"{link}\", \"{out}\", \"{in}\" }} return")];
        rules.extend(self.never_diverted());
        rules.push(format!("fib daddr . mark oifname != \"{link}\" return"));
        rules.push(self.set_mark(Way::Out));
        rules
    }

    fn never_diverted(&self) -> Vec<String> {
        let text = [
            // Taken by another gateway of ours: it comes back, then it is our turn.
            format!("meta mark & {:#010x} != 0 return", self.mask),
            // The dead man's switch; a constant key, written as the only constant nft allows here.
            "meta mark & 0 != @alive return".to_owned(),
            // Addressed to the router itself, to everybody, or to nobody.
            "fib daddr type != unicast return".to_owned(),
            "ip6 saddr fe80::/10 return".to_owned(),
            "ip6 daddr fe80::/10 return".to_owned(),
            "ip saddr 169.254.0.0/16 return".to_owned(),
            "ip daddr 169.254.0.0/16 return".to_owned(),
            // Neighbour discovery and router advertisements.
            "icmpv6 type { 133, 134, 135, 136, 137 } return".to_owned(),
        ];
        text.into()
    }

    fn set_mark(&self, way: Way) -> String {
        format!("meta mark set meta mark | {:#010x}", self.mark(way))
    }

    /// Everything as an operator would type it, with the undo.
    pub fn describe(&self, pid_path: &str) -> String {
        let mut text = String::new();
        let mut line = |words: String| {
            text.push_str(&words);
            text.push('\n');
        };
        line("# the process makes these devices; they are gone when it ends:".into());
        for way in Way::ALL {
            line(format!("#   ip tuntap add dev {} mode tun", self.device(way)));
        }
        self.up().iter().for_each(|step| line(step.to_string()));
        line("nft -i <<'EOF'   # held open: the table is gone when this ends".into());
        line(format!("{}EOF", self.nft()));
        line(format!("# undo: kill $(cat {pid_path})   # which also runs:"));
        self.down().iter().for_each(|step| line(format!("#   {step}")));
        text
    }
}

/// Four bits of the mark that nobody else uses; the last choice if all are in use.
pub fn choose_mask(foreign_bits: u32) -> u32 {
    SHIFTS.iter().map(|shift| 0xf << shift).find(|mask| mask & foreign_bits == 0).unwrap_or(0xf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { name: "air".into(), link: "wlan0".into(), slot: 0, mask: 0x0f00_0000, ipv6: true }
    }

    #[test]
    fn marks_of_all_gateways_and_directions_differ_and_stay_within_the_mask() {
        let mut marks = std::collections::BTreeSet::new();
        for slot in 0..SLOTS {
            for way in Way::ALL {
                let plan = Plan { slot, ..plan() };
                assert_eq!(plan.mark(way) & !plan.mask, 0);
                assert_ne!(plan.mark(way), 0);
                marks.insert(plan.mark(way));
            }
        }
        assert_eq!(marks.len(), 2 * usize::from(SLOTS));
    }

    #[test]
    fn the_mask_avoids_bits_that_others_use() {
        assert_eq!(choose_mask(0), 0x0f00_0000);
        assert_eq!(choose_mask(0xff00_0000), 0x00f0_0000);
        assert_eq!(choose_mask(0xffff_fff0), 0xf);
    }

    #[test]
    fn every_rule_that_is_added_is_removed() {
        let rules = |steps: Vec<Step>, verb: &str| -> Vec<String> {
            let lines = steps.iter().map(Step::to_string);
            lines.filter(|line| line.contains("rule")).map(|l| l.replace(verb, "")).collect()
        };
        assert_eq!(rules(plan().up(), "rule add"), rules(plan().down(), "rule del"));
    }

    #[test]
    fn the_one_line_form_has_no_line_break_but_its_last() {
        let command = plan().nft_command();
        assert_eq!(command.matches('\n').count(), 1);
        assert!(!command.contains("{;") && !command.contains(";;"), "{command}");
    }

    #[test]
    fn ipv6_is_left_alone_where_there_is_none() {
        let plan = Plan { ipv6: false, ..plan() };
        assert!(plan.up().iter().all(|step| !step.to_string().contains("-6")));
        assert!(plan.up().iter().all(|step| !step.to_string().contains("ipv6")));
    }
}
