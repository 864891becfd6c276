//! A gateway changes nothing of what a router does by its rules: the same packets pass, in the same way, and the same
//! counters count, whether the rules come before the gateway or after it.

mod gateway_support;
mod router_support;

use airtcp_linux::gateway::Config;
use airtcp_test_support::skip;
use gateway_support::{Gateway, Net, can_run};
use router_support::conversation::{Story, Taps};
use router_support::rules::{self, Rules};

/// A router between hosts that exist on the wire only.
struct Router {
    net: Net,
    taps: Taps,
    /// Conversations so far.
    turns: std::cell::Cell<u16>,
}

/// What is compared: the stories of IPv4 and IPv6, and all rules with their counters.
#[derive(PartialEq)]
struct Effect {
    stories: [Story; 2],
    rules: String,
}

impl Router {
    fn new() -> Router {
        let net = Net::new();
        net.meet();
        let taps = Taps::open(&net);
        Router { net, taps, turns: 0.into() }
    }

    /// Loads rules, with all counters at zero; says why not.
    fn set(&self, rules: &Rules) -> Result<(), String> {
        rules.set.iter().for_each(|line| drop(self.net.exec("a", line)));
        let file = std::env::temp_dir().join(format!("{}.nft", self.net.ns("a")));
        std::fs::write(&file, rules.nft).unwrap();
        let command = ["netns", "exec", &self.net.ns("a"), "nft", "-f", &file.display().to_string()];
        let output = std::process::Command::new("ip").args(command).output().unwrap();
        std::fs::remove_file(&file).unwrap();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    fn unset(&self, rules: &Rules) {
        self.net.exec("a", "nft flush ruleset");
        rules.unset.iter().for_each(|line| drop(self.net.exec("a", line)));
    }

    fn effect(&self) -> Effect {
        let stories = [false, true].map(|ipv6| {
            self.turns.set(self.turns.get() + 1);
            self.taps.talk(ipv6, self.turns.get())
        });
        Effect { stories, rules: self.net.exec("a", "nft list ruleset") }
    }

    /// Each packet of a story that passed was taken by the gateway and given back.
    fn assert_taken(&self, gateway: &Gateway, effect: &Effect) {
        let passed =
            effect.stories.iter().flatten().filter(|(_, fate)| format!("{fate:?}").starts_with("Arrived")).count();
        let status = gateway.status().expect("it runs");
        let count = |names: [&str; 2]| names.map(|name| status.link_packets[name]).iter().sum::<u64>();
        assert!(count(["taken_out", "taken_in"]) >= passed as u64, "{passed} of {:?}", status.link_packets);
        assert_eq!(count(["taken_out", "taken_in"]), count(["back_out", "back_in"]));
        assert_eq!((status.link_packets["homeless"], status.conserved), (0, true));
    }
}

fn assert_equal(rules: &Rules, when: &str, wanted: &Effect, found: &Effect) {
    for (wanted, found) in wanted.stories.iter().zip(&found.stories) {
        let difference = wanted.iter().zip(found).find(|(wanted, found)| wanted != found);
        assert!(wanted == found, "{}, {when}: {difference:?}", rules.name);
    }
    assert!(wanted.rules == found.rules, "{}, {when}:\n{}\nnot\n{}", rules.name, found.rules, wanted.rules);
}

#[test]
fn live_the_same_packets_pass_and_the_same_counters_count_with_and_without_a_gateway() {
    if !can_run() {
        return;
    }
    let router = Router::new();
    let mut distinct: Vec<[Story; 2]> = Vec::new();
    for rules in rules::ALL {
        if let Err(why) = router.set(rules) {
            assert!(rules.name == "flowtable", "{}: {why}", rules.name);
            skip(&format!("this kernel has no {}: {}", rules.name, why.lines().next().unwrap_or_default()));
            continue;
        }
        let plain = router.effect();
        router.unset(rules);
        router.set(rules).unwrap();
        // Without a peer, so that its own messages are not counted by rules on what the router sends.
        let config = Config { peer: None, ..router.net.config("a") };
        let gateway = router.net.gateway_with("a", config, "");
        let with = router.effect();
        assert_equal(rules, "rules before the gateway", &plain, &with);
        router.assert_taken(&gateway, &with);
        router.unset(rules);
        router.set(rules).unwrap();
        let later = router.effect();
        assert_equal(rules, "rules after the gateway", &plain, &later);
        router.assert_taken(&gateway, &later);
        gateway.stop();
        router.unset(rules);
        distinct.push(plain.stories);
    }
    // The rules are not for show.
    distinct.dedup();
    assert!(distinct.len() >= 8, "{} different effects", distinct.len());
}
