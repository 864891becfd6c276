//! G-Snoop's paper mode on the paper's network (GSN-E1): five senders and five receivers, 5 Mbit/s before gateway A,
//! 10 Mbit/s and 5 ms (GSN-X3) through the air, 512-byte packets (GSN-U4), Reno without SACK.

use crate::common::{NO_HABITS, bulk, demo, essence, events, link, owned, tcp};
use airtcp_core::Duration;
use airtcp_schemes::papers::gsnoop;
use airtcp_sim::{Flow, Outcome, RunSettings, Topology};

const FLOWS: usize = 5;

/// What is varied: everything else is the paper's or SPEC 3.U's default.
#[derive(Clone, Copy)]
struct Case<'a> {
    loss: &'a str,
    /// `None` for plain forwarding.
    gsnoop: Option<&'a [(&'a str, &'a str)]>,
    size: Option<u64>,
    near_wrap: bool,
}

impl Case<'_> {
    fn run(self, seed: u64, seconds: u64) -> Outcome {
        let mut topology = Topology::new();
        let [first, a, b, second] = ["first", "a", "b", "second"].map(|name| topology.node(name));
        let queue = ("queue", "140packets");
        let fast = |delay| link(&[("rate", "10Mbit"), ("delay", delay), queue]);
        // GSN-U1: as far upstream as downstream.
        let upstream = link(&[("rate", "5Mbit"), ("delay", "30ms"), queue]);
        topology.link("upstream", first, a, upstream, fast("30ms"));
        let air = link(&[("rate", "10Mbit"), ("delay", "5ms"), queue, ("loss", self.loss)]);
        let air = topology.link("air", a, b, air, fast("5ms"));
        topology.link("downstream", b, second, fast("30ms"), fast("30ms"));
        let host = tcp(&[
            NO_HABITS,
            ("controller", "reno"),
            ("recovery", "newreno"),
            ("sack", "false"),
            ("timestamps", "false"),
            ("mtu", "512"),
            ("initial_window", "1"),
            ("initial_ssthresh", "64"),
            ("max_cwnd", "64"), // GSN-U3
            ("delayed_ack_segments", "1"),
        ]);
        for number in 0..FLOWS {
            let sender = topology.node(&format!("sender{number}"));
            let receiver = topology.node(&format!("receiver{number}"));
            topology.link(&format!("in{number}"), sender, first, fast("1ms"), fast("1ms"));
            topology.link(&format!("out{number}"), second, receiver, fast("1ms"), fast("1ms"));
            let start = Duration::from_millis(100 * number as u64);
            let flow = bulk(&format!("flow{number}"), sender, receiver, host.clone());
            topology.flow(Flow { start, size: self.size, ..flow });
        }
        if let Some(settings) = self.gsnoop {
            let settings = owned(&[&[("mode", "paper")], settings].concat());
            topology.scheme("repair", air, gsnoop::ENTRY.with(settings).unwrap());
        }
        let settings = RunSettings {
            seed,
            duration: Duration::from_secs(seconds),
            near_wrap: self.near_wrap,
            digests: self.size.is_some(),
            ..RunSettings::default()
        };
        let outcome = topology.run(&settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    }
}

const PLAIN: Case<'static> = Case { loss: "0%", gsnoop: None, size: None, near_wrap: false };

/// GSN-18: packets received per second.
fn goodput(outcome: &Outcome) -> f64 {
    outcome.flows.iter().map(|flow| flow.measured_bytes as f64 / f64::from(flow.segment_bytes)).sum::<f64>()
        / (outcome.measured.as_nanos() as f64 / 1e9)
}

/// GSN-18: Jain's index of the flows' shares.
fn fairness(outcome: &Outcome) -> f64 {
    let shares: Vec<f64> = outcome.flows.iter().map(|flow| flow.measured_bytes as f64).collect();
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

#[test]
fn gsn_c1_five_reno_flows_gain_much_at_one_percent() {
    let lossy = Case { loss: "1%", ..PLAIN };
    let plain = goodput(&lossy.run(1, 30));
    let paper = goodput(&Case { gsnoop: Some(&[]), ..lossy }.run(1, 30));
    assert!(paper > 1.5 * plain, "{paper:.0} against {plain:.0} packets/s");
}

#[test]
fn gsn_c2_a_larger_cache_gains_ever_less() {
    let with_cache = |packets| {
        let settings = [("cache_packets", packets), ("icn", "false")];
        goodput(&Case { loss: "1%", gsnoop: Some(&settings), ..PLAIN }.run(1, 60))
    };
    let [small, medium, large] = ["25", "50", "75"].map(with_cache);
    assert!(small < medium && medium < large, "{small:.0} {medium:.0} {large:.0}");
    assert!(large - medium < medium - small, "{small:.0} {medium:.0} {large:.0}");
}

#[test]
fn no_byte_is_lost_or_changed_by_the_paper_mode() {
    for settings in [&[][..], &[("cache_packets", "75"), ("repair_place", "tail"), ("ask_again", "true")]] {
        let case = Case { loss: "3%", gsnoop: Some(settings), size: Some(500_000), near_wrap: false };
        for flow in case.run(1, 120).flows {
            assert!(flow.completed_at.is_some() && flow.sent_sha256.is_some());
            assert_eq!(flow.sent_sha256, flow.received_sha256);
        }
    }
}

/// Below a loss of 1e-3 both are limited by the bottleneck, and the notifications of its drops cost a little.
#[test]
fn spec_8_15_with_icn_off_the_deficit_at_little_loss_disappears() {
    let little = Case { loss: "0.001%", ..PLAIN };
    let plain = goodput(&little.run(1, 60));
    let with_icn = Case { gsnoop: Some(&[]), ..little }.run(1, 60);
    let without = Case { gsnoop: Some(&[("icn", "false")]), ..little }.run(1, 60);
    let icns =
        |outcome: &Outcome| events(&outcome.schemes[0], airtcp_schemes::papers::gsnoop::events::INCIPIENT_CONGESTION);
    assert!(icns(&with_icn) > 0 && icns(&without) == 0);
    assert!(goodput(&with_icn) < 0.998 * plain, "{:.1} against {plain:.1}", goodput(&with_icn));
    assert!(goodput(&without) > 0.999 * plain, "{:.1} against {plain:.1}", goodput(&without));
}

#[test]
fn gsn_x7_notifications_cost_retransmissions_and_duplicate_acks_that_are_counted() {
    let outcome = Case { gsnoop: Some(&[]), ..PLAIN }.run(1, 60);
    let count = |event| events(&outcome.schemes[0], event);
    let (icns, spurious) = (
        count(airtcp_schemes::papers::gsnoop::events::INCIPIENT_CONGESTION),
        count(airtcp_schemes::papers::gsnoop::events::ICN_RETRANSMISSION),
    );
    assert!(icns > 0 && spurious > 0 && spurious <= icns, "{spurious} of {icns}");
    assert!(count(airtcp_schemes::papers::gsnoop::events::ICN_DUPLICATE_ACK) <= spurious);
}

#[test]
fn gsn_18_fairness_of_five_flows_is_above_seven_tenths() {
    for loss in ["0.1%", "3%"] {
        let index = fairness(&Case { loss, gsnoop: Some(&[]), ..PLAIN }.run(1, 60));
        assert!((0.7..=1.0).contains(&index), "{loss}: {index:.3}");
    }
}

#[test]
fn sequence_numbers_just_below_the_wrap_change_nothing() {
    let case = Case { loss: "1%", gsnoop: Some(&[]), ..PLAIN };
    let (middle, wrap) = (case.run(1, 20), Case { near_wrap: true, ..case }.run(1, 20));
    assert!(middle.flows.iter().zip(&wrap.flows).all(|(a, b)| essence(a) == essence(b)));
    assert_eq!(middle.schemes, wrap.schemes);
}

#[test]
fn both_directions_of_a_link_are_repaired_at_the_same_time() {
    let network = demo(&[("loss", "1%")]);
    let run = |settings: Option<&[(&str, &str)]>| {
        let mut topology = network.topology.clone();
        let host = tcp(&[
            NO_HABITS,
            ("controller", "reno"),
            ("recovery", "newreno"),
            ("sack", "false"),
            ("receive_buffer", "64kB"),
        ]);
        let [left, right] = network.ends;
        topology.flow(bulk("there", left, right, host.clone()));
        topology.flow(bulk("back", right, left, host));
        if let Some(settings) = settings {
            topology.scheme("repair", network.air, gsnoop::ENTRY.with(owned(settings)).unwrap());
        }
        let outcome = topology.run(&RunSettings::default()).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    };
    let (plain, paper) = (run(None), run(Some(&[("mode", "paper"), ("cache_packets", "75")])));
    for (plain, paper) in plain.flows.iter().zip(&paper.flows) {
        let (plain, paper) = (plain.measured_bytes, paper.measured_bytes);
        assert!(paper > plain, "{paper} against {plain} bytes");
    }
}
