//! The in-path baselines on the demo path: what each one is good for, and that it disturbs nothing.

use crate::common::{Demo, NO_HABITS, bulk, demo, essence, events, tcp};
use airtcp_core::{Duration, Event};
use airtcp_schemes::SchemeEntry;
use airtcp_schemes::baselines::{delayed_dupacks, eln, snoop};
use airtcp_sim::{Drop, Outcome, RunSettings};

/// A sender of the papers' time; an acknowledgment per packet.
const RENO: &[(&str, &str)] = &[NO_HABITS, ("controller", "reno"), ("recovery", "reno"), ("delayed_ack_segments", "1")];
/// A Linux sender of today.
const CUBIC: &[(&str, &str)] = &[("controller", "cubic")];

fn network(air: &[(&str, &str)], scheme: Option<&SchemeEntry>, sender: &[(&str, &str)]) -> Demo {
    let mut network = demo(air);
    if let Some(entry) = scheme {
        network.topology.scheme("box", network.air, entry);
    }
    let flow = bulk("bulk", network.ends[0], network.ends[1], tcp(sender));
    network.topology.flow(flow);
    network
}

/// Application bytes per second, mean of three seeds; every check holds in each run.
fn goodput(air: &[(&str, &str)], scheme: Option<&SchemeEntry>, sender: &[(&str, &str)]) -> u64 {
    let network = network(air, scheme, sender);
    let bytes: u64 = (1..=3).map(|seed| network.run(seed).flows[0].measured_bytes).sum();
    bytes * 1_000_000_000 / 3 / network.run(1).measured.as_nanos()
}

fn count(outcome: &Outcome, event: Event) -> u64 {
    events(&outcome.schemes[0], event)
}

#[test]
fn snoop_gives_reno_several_times_the_goodput_under_loss() {
    for (loss, times) in [("5%", 5), ("10%", 4)] {
        let loss = [("loss", loss)];
        let (plain, snooped) = (goodput(&loss, None, RENO), goodput(&loss, Some(&snoop::ENTRY), RENO));
        println!("{loss:?}: plain {plain} B/s, Snoop {snooped} B/s");
        assert!(snooped > times * plain, "{loss:?}: plain {plain} B/s, Snoop {snooped} B/s");
    }
}

#[test]
fn snoop_keeps_every_loss_of_the_link_from_the_sender() {
    // A window that the queue has room for: whatever is lost, the link lost.
    let sender = [RENO, &[("max_cwnd", "45")]].concat();
    let outcome = network(&[("loss", "5%")], Some(&snoop::ENTRY), &sender).run(1);
    let lost = |drop: &&Drop| drop.place == "links.air.forward";
    let lost: u64 = outcome.drops.iter().filter(lost).map(|drop| drop.packets).sum();
    let (repairs, sent_again) = (count(&outcome, Event::REPAIR), outcome.flows[0].retransmitted_segments);
    println!("{lost} lost, {repairs} repairs, {sent_again} sent again by the sender");
    assert!(lost > 300 && repairs.abs_diff(lost) * 20 < lost, "{repairs} repairs, {lost} lost");
    assert!(sent_again * 100 < lost, "{sent_again} sent again, {lost} lost");
}

#[test]
fn without_loss_snoop_changes_next_to_nothing() {
    let (plain, snooped) = (goodput(&[], None, CUBIC), goodput(&[], Some(&snoop::ENTRY), CUBIC));
    assert!(plain.abs_diff(snooped) * 50 < plain, "plain {plain} B/s, Snoop {snooped} B/s");
}

#[test]
fn a_sender_that_heeds_notices_keeps_its_window_under_loss() {
    let loss = [("loss", "2%")];
    let newreno = |eln| [("controller", "reno"), ("recovery", "newreno"), ("sack", "false"), ("eln", eln)];
    let blind = goodput(&loss, Some(&eln::ENTRY), &newreno("false"));
    let heeding = goodput(&loss, Some(&eln::ENTRY), &newreno("true"));
    println!("blind {blind} B/s, heeding {heeding} B/s");
    assert!(heeding > 3 * blind, "blind {blind} B/s, heeding {heeding} B/s");
}

#[test]
fn with_rack_notices_bring_the_ceiling_within_reach() {
    let heeding = [("controller", "cubic"), ("eln", "true")];
    let (loss, ceiling) = ([("loss", "5%")], 10_000_000 / 8 * 95 / 100 * 1448 / 1500);
    // A host with the habits of Linux sends fewer acknowledgments that can carry a notice.
    for (sender, percent) in [([&heeding[..], &[NO_HABITS]].concat(), 95), (heeding.to_vec(), 90)] {
        let (plain, noticed) = (goodput(&loss, None, &sender), goodput(&loss, Some(&eln::ENTRY), &sender));
        println!("plain {plain} B/s, noticed {noticed} B/s, ceiling {ceiling} B/s");
        assert!(plain * 3 < ceiling && noticed * 100 > ceiling * percent, "plain {plain} B/s, noticed {noticed} B/s");
    }
}

#[test]
fn notices_are_given_for_the_links_losses_and_not_for_congestion() {
    let heeding = [("controller", "reno"), ("recovery", "newreno"), ("sack", "false"), ("eln", "true")];
    let congested = network(&[], Some(&eln::ENTRY), &heeding).run(1);
    assert!(congested.drops.iter().any(|drop| drop.place.starts_with("schemes.box")), "{:?}", congested.drops);
    assert_eq!(count(&congested, airtcp_schemes::baselines::eln::LOSS_NOTIFIED), 0);
    let lossy = network(&[("loss", "2%")], Some(&eln::ENTRY), &heeding).run(1);
    assert!(count(&lossy, airtcp_schemes::baselines::eln::LOSS_NOTIFIED) > 0);
}

#[test]
fn delayed_duplicates_hide_a_link_that_delivers_late() {
    // As a link does that retransmits and does not restore the order: later by its round trip.
    let late = [("reorder", "{ probability = \"3%\", delay = \"15ms\" }")];
    let (plain, delayed) = (goodput(&late, None, RENO), goodput(&late, Some(&delayed_dupacks::ENTRY), RENO));
    println!("plain {plain} B/s, delayed {delayed} B/s");
    assert!(delayed > 2 * plain, "plain {plain} B/s, delayed {delayed} B/s");
}

#[test]
fn delayed_duplicates_alone_repair_nothing() {
    let loss = [("loss", "2%")];
    let (plain, delayed) = (goodput(&loss, None, RENO), goodput(&loss, Some(&delayed_dupacks::ENTRY), RENO));
    println!("plain {plain} B/s, delayed {delayed} B/s");
    assert!(delayed * 10 < plain * 11, "plain {plain} B/s, delayed {delayed} B/s");
}

#[test]
fn nothing_depends_on_where_numbers_begin() {
    let air = [("loss", "3%"), ("reorder", "{ probability = \"1%\", delay = \"3ms\" }"), ("duplicate", "1%")];
    let settings = RunSettings { duration: Duration::from_secs(10), ..RunSettings::default() };
    for entry in [&snoop::ENTRY, &eln::ENTRY, &delayed_dupacks::ENTRY] {
        for sender in [RENO, CUBIC] {
            let network = network(&air, Some(entry), sender);
            let middle = network.run_with(&settings);
            let wrapping = network.run_with(&RunSettings { near_wrap: true, ..settings.clone() });
            assert_eq!(essence(&middle.flows[0]), essence(&wrapping.flows[0]), "{}", entry.slug);
            assert_eq!(middle.schemes, wrapping.schemes, "{}", entry.slug);
        }
    }
}

#[test]
fn files_arrive_whole_through_each_of_them() {
    let air = [
        ("loss", "3%"),
        ("reorder", "{ probability = \"2%\", delay = \"8ms\" }"),
        ("duplicate", "2%"),
        ("corrupt", "1%"),
        ("outage", "{ start = \"2s\", duration = \"1s\" }"),
    ];
    for entry in [&snoop::ENTRY, &eln::ENTRY, &delayed_dupacks::ENTRY] {
        for ipv6 in [false, true] {
            let mut network = demo(&air);
            network.topology.scheme("box", network.air, entry);
            let settings = RunSettings { duration: Duration::from_secs(120), digests: true, ..RunSettings::default() };
            let outcome = network.with_file(2_000_000, ipv6).run_with(&settings);
            let flow = &outcome.flows[0];
            assert!(flow.completed_at.is_some(), "{} ipv6 {ipv6}: not complete", entry.slug);
            assert_eq!(flow.sent_sha256, flow.received_sha256, "{}", entry.slug);
        }
    }
}
