//! Makes a failing scenario smaller as long as it still fails, so that what is left explains the failure.

use super::{Scenario, SocketPlan, judge};
use airtcp_link::LinkSettings;
use airtcp_tcp::Config;

/// Most runs that shrinking takes.
const MAX_RUNS: usize = 400;

/// The smallest failing scenario found, and what fails in it.
///
/// `fails` judges a candidate; [`fails`] for what the swarm itself asks.
pub fn shrink(scenario: &Scenario, fails: &dyn Fn(&Scenario) -> Option<String>) -> Option<(Scenario, String)> {
    let mut best = (scenario.clone(), fails(scenario)?);
    let mut runs = 1;
    loop {
        let smaller = candidates(&best.0).into_iter().take(MAX_RUNS - runs).find_map(|candidate| {
            runs += 1;
            fails(&candidate).map(|failure| (candidate, failure))
        });
        match smaller {
            Some(smaller) if runs < MAX_RUNS => best = smaller,
            Some(smaller) => return Some(smaller),
            None => return Some(best),
        }
    }
}

/// What the swarm asks of a scenario.
pub fn fails(scenario: &Scenario) -> Option<String> {
    crate::quietly(|| judge::run(scenario)).err()
}

/// Scenarios that are smaller by one thing each, the largest cuts first.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario) -> bool| {
        let mut candidate = scenario.clone();
        if change(&mut candidate) {
            found.push(candidate);
        }
    };
    if scenario.flows.len() > 1 {
        (0..scenario.flows.len()).for_each(|index| {
            add(&|s| {
                s.flows.remove(index);
                true
            });
        });
    }
    add(&|s| s.trunk.take().is_some());
    for key in 0..scenario.trunk.as_ref().map_or(0, |trunk| trunk.scheme.settings.len()) {
        add(&|s| s.trunk.as_mut().map(|trunk| trunk.scheme.settings.remove(key)).is_some());
    }
    for index in 0..scenario.links.len() {
        add(&|s| s.links[index].scheme.take().is_some());
        for direction in 0..2 {
            add(&|s| calm(&mut s.links[index].directions[direction]));
        }
    }
    for index in 0..scenario.links.len() {
        let settings = scenario.links[index].scheme.as_ref().map_or(0, |scheme| scheme.settings.len());
        for key in 0..settings {
            add(&|s| s.links[index].scheme.as_mut().map(|scheme| scheme.settings.remove(key)).is_some());
        }
        for direction in 0..2 {
            for part in PARTS {
                add(&|s| change(&mut s.links[index].directions[direction], part));
            }
        }
    }
    for index in 0..scenario.flows.len() {
        add(&|s| {
            let flow = &mut s.flows[index];
            let controller = flow.tcp.controller.clone();
            let plain = Config { mtu: flow.tcp.mtu, controller, ..Config::without_habits() };
            std::mem::replace(&mut flow.tcp, plain.clone()) != plain
        });
        add(&|s| !std::mem::replace(&mut s.flows[index].socket, SocketPlan::tcp()).choice.is_tcp());
        add(&|s| std::mem::take(&mut s.flows[index].ipv6));
    }
    add(&|s| std::mem::take(&mut s.near_wrap));
    found
}

/// Takes one impairment away.
type Part = fn(&mut LinkSettings, LinkSettings);
const PARTS: [Part; 6] = [
    |link, plain| link.loss = plain.loss,
    |link, plain| link.jitter = plain.jitter,
    |link, plain| link.reorder = plain.reorder,
    |link, plain| link.duplicate = plain.duplicate,
    |link, plain| link.corrupt = plain.corrupt,
    |link, plain| link.outage = plain.outage,
];

fn change(link: &mut LinkSettings, part: Part) -> bool {
    let before = link.clone();
    part(link, LinkSettings::default());
    *link != before
}

/// Takes all impairments away.
fn calm(link: &mut LinkSettings) -> bool {
    let before = link.clone();
    PARTS.iter().for_each(|part| part(link, LinkSettings::default()));
    *link != before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::scenario::scenario;

    #[test]
    fn shrinking_keeps_what_the_failure_needs_and_drops_the_rest() {
        let large = (0..).map(|seed| scenario(seed, &Tables::built_in())).find(|s| s.flows.len() > 4).unwrap();
        let wanted = large.flows[2].start;
        let fails = |s: &Scenario| s.flows.iter().any(|flow| flow.start == wanted).then(|| "late".to_owned());
        let (small, failure) = shrink(&large, &fails).unwrap();
        assert_eq!((small.flows.len(), failure.as_str()), (1, "late"));
        assert_eq!(small.flows[0].start, wanted);
        assert!(small.links.iter().all(|link| link.scheme.is_none()));
    }

    #[test]
    fn what_does_not_fail_is_not_shrunk() {
        assert!(shrink(&scenario(1, &Tables::built_in()), &|_| None).is_none());
    }
}
