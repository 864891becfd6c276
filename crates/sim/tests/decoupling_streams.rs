//! Streams of datagrams over a circuit (DEC-29), and without one.

use crate::common::decoupling::*;
use airtcp_core::Duration;
use airtcp_schemes::socket::SocketChoice;
use airtcp_sim::{Outcome, RunSettings};

fn lost_on_the_air(outcome: &Outcome) -> u64 {
    let forward = outcome.drops.iter().filter(|drop| drop.place == "links.air.forward");
    forward.map(|drop| drop.packets).sum()
}

#[test]
fn dec_29_a_stream_loses_what_the_link_loses_and_keeps_its_order() {
    let paper = Paper { socket: streaming(&[]), flows: 1, ..Paper::default() };
    let outcome = paper.run_with(&RunSettings { warmup: Duration::ZERO, ..settings(1, 60) });
    let of = |name| control(&outcome, 0, name);
    let received = outcome.flows[0].total_bytes / 1472;
    let lost = of("datagrams_lost");
    // What is on its way at the end has neither arrived nor been missed.
    let under_way = of("datagrams") - received - lost;
    assert!(under_way < 150, "{under_way} of {}", of("datagrams"));
    // A header packet is lost about thirty times less often than the data before it.
    assert!(lost > 100 && (lost..lost + lost / 4 + 20).contains(&lost_on_the_air(&outcome)), "{lost} lost");
    assert_eq!((of("datagrams_misordered"), of("tunnel_drops")), (0, 0));
    assert!(of("header_packets").abs_diff(received + lost) < 100, "{} header packets", of("header_packets"));
}

#[test]
fn dec_29_a_stream_shares_a_link_with_reno() {
    // DEC-C27: the control TCP, not the source, sets the rate.
    let tcp = [BSD, &[("recovery", "reno")]].concat().leak();
    let paper = Paper { air: LOSSLESS, rtt_ms: 20, jitter: "2ms", tcp, ..Paper::default() };
    let mut topology = Paper { socket: streaming(&[]), flows: 1, ..paper }.topology();
    Paper { socket: SocketChoice::default(), tcp, ..Paper::default() }.add_flow(&mut topology, 1);
    let outcome = topology.run(&settings(2, 200)).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    let [stream, reno] = [0, 1].map(|flow| outcome.flows[flow].measured_bytes);
    println!("stream {stream}, Reno {reno} bytes");
    assert!(reno * 3 > stream && stream * 3 > reno, "stream {stream}, Reno {reno} bytes");
}

#[test]
fn a_stream_with_a_rate_below_its_share_is_sent_whole() {
    let socket = streaming(&[("rate", "2Mbit"), ("packet", "1000")]);
    let outcome = Paper { air: LOSSLESS, socket, flows: 1, ..Paper::default() }.run(1, 60);
    // 250 datagrams a second of 972 bytes.
    assert!(outcome.flows[0].measured_bytes.abs_diff(50 * 250 * 972) < 50 * 972, "{}", outcome.flows[0].measured_bytes);
    assert_eq!((control(&outcome, 0, "tunnel_drops"), control(&outcome, 0, "datagrams_lost")), (0, 0));
}

#[test]
fn a_stream_faster_than_its_circuit_is_cut_in_front_of_it() {
    let outcome = Paper { socket: streaming(&[("rate", "9Mbit")]), flows: 1, ..Paper::default() }.run(1, 60);
    let of = |name| control(&outcome, 0, name);
    assert!(of("tunnel_drops") > of("datagrams") / 3, "{} of {}", of("tunnel_drops"), of("datagrams"));
}

#[test]
fn a_call_has_the_delay_of_its_path_and_loses_what_the_link_loses() {
    let socket = datagram(&[("every", "20ms"), ("packet", "200"), ("data_dscp", "46")]);
    let paper = Paper { air: &[("loss", "2%")], socket, flows: 1, ..Paper::default() };
    let outcome = paper.run_with(&RunSettings { warmup: Duration::from_secs(10), ..settings(1, 110) });
    let of = |name| control(&outcome, 0, name);
    assert!(of("datagrams").abs_diff(5000) <= 1, "{}", of("datagrams"));
    assert_eq!((of("datagrams_misordered"), of("datagrams_repeated")), (0, 0));
    // What the link dropped, the warm-up's aside.
    let (lost, dropped) = (of("datagrams_lost"), lost_on_the_air(&outcome));
    assert!(lost > 50 && lost <= dropped && dropped - lost <= dropped / 5, "{lost} lost, {dropped} dropped");
    let delay = outcome.flows[0].delay.expect("datagrams say how long they took");
    // Alone on the path nothing waits, so that all took the same but for the jitter of the links.
    let path = paper.rtt_ms * 1_000_000 / 2;
    assert!(delay.p50 >= path && delay.p99 < path + 5_000_000, "{delay:?} over a path of {path} ns");
}

#[test]
fn datagrams_without_a_circuit_come_at_their_rate() {
    let socket = datagram(&[("rate", "4Mbit")]);
    let outcome = Paper { air: LOSSLESS, socket, ipv6: true, ..Paper::default() }.run(1, 40);
    for flow in &outcome.flows {
        // 333 1/3 datagrams a second of 1452 bytes.
        assert!(flow.measured_bytes.abs_diff(30 * 484_000) < 2 * 1452, "{}", flow.measured_bytes);
    }
}
