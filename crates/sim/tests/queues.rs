//! Managed queues under real TCP: short waits on a busy link, and marks instead of losses.

use crate::common::{bulk, link, tcp};
use airtcp_core::{DropReason, Duration};
use airtcp_sim::{Flow, NodeId, Outcome, RunSettings, Topology};

/// Round trip of the path below without any queue, a full segment on the way out.
const BASE_RTT_NS: u64 = 41_500_000;

/// sender - router - receiver: 10 Mbit/s behind the router, 40 ms, and there `queue`, ten times as long as the path.
fn path(queue: &str) -> (Topology, [NodeId; 2]) {
    let mut topology = Topology::new();
    let [sender, router, receiver] = ["sender", "router", "receiver"].map(|name| topology.node(name));
    let wire = link(&[("rate", "100Mbit"), ("delay", "10ms")]);
    topology.link("wire", sender, router, wire.clone(), wire);
    let slow = link(&[("rate", "10Mbit"), ("delay", "10ms"), ("queue", queue)]);
    topology.link("slow", router, receiver, slow.clone(), slow);
    (topology, [sender, receiver])
}

fn run(topology: &Topology) -> Outcome {
    let settings =
        RunSettings { duration: Duration::from_secs(60), warmup: Duration::from_secs(5), ..Default::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

fn flows(count: u32, queue: &str, config: &[(&str, &str)]) -> Outcome {
    let (mut topology, [sender, receiver]) = path(queue);
    for index in 0..count {
        topology.flow(bulk(&format!("bulk{index}"), sender, receiver, tcp(config)));
    }
    run(&topology)
}

/// Share of the time in which the slow link was busy with data that the application got.
fn utilisation(outcome: &Outcome) -> f64 {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.measured_bytes).sum();
    bytes as f64 * 8e9 / outcome.measured.as_nanos() as f64 / (10e6 * 1448.0 / 1500.0)
}

/// Median time that packets wait in the queue, in ms.
fn wait_ms(outcome: &Outcome) -> f64 {
    outcome.flows[0].rtt.p50.saturating_sub(BASE_RTT_NS) as f64 / 1e6
}

fn lost(outcome: &Outcome) -> u64 {
    outcome.drops.iter().map(|drop| drop.packets).sum()
}

const CODEL: &str = "{ kind = \"codel\", limit = \"333packets\" }";
const FQ_CODEL: &str = "{ kind = \"fq-codel\", limit = \"333packets\", ecn = false }";

#[test]
fn codel_keeps_the_wait_near_its_target_on_a_busy_link() {
    let full = flows(1, "333packets", &[("controller", "cubic")]);
    assert!(wait_ms(&full) > 100.0, "the queue would be long without it: {} ms", wait_ms(&full));
    for (count, controller) in [(1, "cubic"), (4, "cubic"), (4, "reno")] {
        for queue in [CODEL, FQ_CODEL] {
            let outcome = flows(count, queue, &[("controller", controller)]);
            let (wait, busy) = (wait_ms(&outcome), utilisation(&outcome));
            println!("{count} {controller} {queue}: median wait {wait:.1} ms, utilisation {busy:.3}");
            assert!(wait < 15.0, "{count} {controller} {queue}: {wait} ms");
            assert!(busy > 0.93, "{count} {controller} {queue}: {busy}");
        }
    }
}

/// One Reno flow that is halved soon after the queue begins to grow falls below the path's 35 packets: it grows from 21
/// to 42, of which the link carries 7/8.
#[test]
fn one_reno_flow_through_codel_reaches_what_halving_leaves_it() {
    let busy = utilisation(&flows(1, CODEL, &[("controller", "reno")]));
    assert!((0.82..0.92).contains(&busy), "{busy}");
}

#[test]
fn red_keeps_the_queue_between_its_thresholds() {
    // 10 to 30 packets of 1.2 ms each.
    let red = "{ kind = \"red\", limit = \"333packets\", min = \"10packets\", max = \"30packets\" }";
    for controller in ["reno", "cubic"] {
        let outcome = flows(4, red, &[("controller", controller)]);
        let (wait, busy) = (wait_ms(&outcome), utilisation(&outcome));
        println!("{controller}: median wait {wait:.1} ms, utilisation {busy:.3}");
        assert!((12.0..36.0).contains(&wait), "{controller}: {wait} ms");
        assert!(busy > 0.93, "{controller}: {busy}");
    }
}

#[test]
fn with_ecn_nothing_is_lost() {
    for queue in ["kind = \"red\", min = \"10packets\", max = \"30packets\"", "kind = \"codel\"", "kind = \"fq-codel\""]
    {
        for controller in ["reno", "cubic"] {
            let queue = format!("{{ {queue}, limit = \"333packets\", ecn = true }}");
            let outcome = flows(4, &queue, &[("controller", controller), ("ecn", "true")]);
            let retransmitted: u64 = outcome.flows.iter().map(|flow| flow.retransmitted_segments).sum();
            println!("{controller} {queue}: {:?}, utilisation {:.3}", outcome.marks, utilisation(&outcome));
            assert_eq!((lost(&outcome), retransmitted), (0, 0), "{controller} {queue}");
            assert_eq!(outcome.marks.len(), 1, "{:?}", outcome.marks);
            assert!(outcome.marks[0].place == "links.slow.forward" && outcome.marks[0].packets > 100);
            assert!(utilisation(&outcome) > 0.93, "{controller} {queue}");
        }
    }
}

#[test]
fn a_queue_that_does_not_mark_drops_what_an_ecn_sender_sends() {
    let outcome = flows(1, CODEL, &[("ecn", "true")]);
    assert!(outcome.marks.is_empty() && outcome.drops.iter().any(|drop| drop.reason == DropReason::AQM));
}

#[test]
fn fq_codel_gives_flows_equal_shares_whatever_their_controllers_and_start() {
    let (mut topology, [sender, receiver]) = path(FQ_CODEL);
    for (index, controller) in ["reno", "cubic", "cubic", "cubic"].into_iter().enumerate() {
        let flow = bulk(&format!("f{index}"), sender, receiver, tcp(&[("controller", controller)]));
        topology.flow(Flow { start: Duration::from_millis(900 * index as u64), ..flow });
    }
    let outcome = run(&topology);
    let shares: Vec<u64> = outcome.flows.iter().map(|flow| flow.measured_bytes).collect();
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(*least as f64 > 0.9 * *most as f64, "{shares:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace_through_every_queue() {
    for queue in ["{ kind = \"red\", ecn = true }", "{ kind = \"codel\" }", "{ kind = \"fq-codel\", flows = 8 }"] {
        let run = |seed: u64| {
            let (mut topology, [sender, receiver]) = path(queue);
            for index in 0..5 {
                topology.flow(bulk(&format!("f{index}"), sender, receiver, tcp(&[])));
            }
            topology.run(&RunSettings { seed, duration: Duration::from_secs(10), ..Default::default() }).unwrap()
        };
        assert_eq!(run(7), run(7), "{queue}");
        assert_ne!(run(7).trace_hash, run(8).trace_hash, "{queue}");
    }
}
