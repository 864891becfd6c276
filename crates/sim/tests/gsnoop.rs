//! G-Snoop on the demo path: what it must reach, and what it must not disturb.

use crate::common;
use crate::common::{demo, events, of_ceiling};
use airtcp_core::{Duration, Event};
use airtcp_sim::RunSettings;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn reaches_the_ceiling_under_loss() {
    for (text, loss, target) in [("1%", 0.01, 0.98), ("5%", 0.05, 0.98), ("10%", 0.10, 0.97)] {
        let network = demo(&[("loss", text)]).with_gsnoop().with_bulk("cubic");
        let share = median((1..=5).map(|seed| of_ceiling(&network.run(seed), loss)).collect());
        assert!(share >= target, "{text}: {share:.4} of the ceiling");
    }
}

#[test]
fn without_it_loss_starves_the_sender() {
    let network = demo(&[("loss", "5%")]).with_bulk("cubic");
    assert!(of_ceiling(&network.run(1), 0.05) < 0.3);
}

#[test]
fn without_loss_it_changes_next_to_nothing() {
    let plain = demo(&[]).with_bulk("cubic").run(1);
    let repaired = demo(&[]).with_gsnoop().with_bulk("cubic").run(1);
    let (plain, repaired) = (of_ceiling(&plain, 0.0), of_ceiling(&repaired, 0.0));
    assert!((repaired / plain - 1.0).abs() < 0.02, "{plain:.4} {repaired:.4}");
}

#[test]
fn repairs_about_as_often_as_the_link_loses() {
    let outcome = demo(&[("loss", "5%")]).with_gsnoop().with_bulk("cubic").run(1);
    let lost: u64 = outcome.drops.iter().filter(|d| d.place == "links.air.forward").map(|d| d.packets).sum();
    let repairs = events(&outcome.schemes[0], Event::REPAIR);
    assert!(repairs * 100 > lost * 90 && repairs * 100 < lost * 115, "{repairs} repairs, {lost} lost");
}

#[test]
fn hiding_acknowledgments_repairs_most_but_hiding_the_gap_more() {
    let share = |network: common::Demo, loss| {
        let network = network.with_bulk("cubic");
        median((1..=15).map(|seed| of_ceiling(&network.run(seed), loss)).collect())
    };
    // At 10 % both are at the ceiling. Of 5 seeds at 20 % chance decides: single runs of suppression have 0.73 to 0.97.
    for (text, loss, more) in [("10%", 0.10, -0.01), ("20%", 0.20, 0.02)] {
        let lossy = || demo(&[("loss", text)]);
        let (plain, modern) = (share(lossy(), loss), share(lossy().with_gsnoop(), loss));
        let suppression = share(lossy().with_gsnoop_set(&[("mode", "suppression")]), loss);
        let figures = format!("{text}: {plain:.3} {suppression:.3} {modern:.3}");
        assert!(10.0 * plain < suppression && suppression + more < modern, "{figures}");
    }
}

#[test]
fn suppression_loses_and_changes_no_byte() {
    let impairments = [("loss", "5%"), ("reorder", "{ probability = \"2%\", delay = \"8ms\" }"), ("duplicate", "2%")];
    for near_wrap in [false, true] {
        let network = demo(&impairments).with_gsnoop_set(&[("mode", "suppression")]).with_file(5_000_000, near_wrap);
        let settings =
            RunSettings { duration: Duration::from_secs(120), near_wrap, digests: true, ..RunSettings::default() };
        let outcome = network.run_with(&settings);
        let flow = &outcome.flows[0];
        assert!(flow.completed_at.is_some() && flow.sent_sha256.is_some());
        assert_eq!(flow.sent_sha256, flow.received_sha256);
    }
}
