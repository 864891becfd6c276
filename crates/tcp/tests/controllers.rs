//! What sets controllers apart on a path that loses data at random, and how a paced sender sends.

use crate::harness::*;

use airtcp_core::{Duration, Instant};
use airtcp_tcp::{ByteCounting, Config, congestion};
use std::cell::RefCell;
use std::rc::Rc;

const RATE: u64 = 10_000_000;

fn config(controller: &str) -> Config {
    Config {
        controller: congestion::find(controller, &[]).unwrap().into(),
        auto_read: true,
        ..Config::without_habits()
    }
}

/// Goodput in kbit/s over 10 Mbit/s, 100 ms, and `loss` of the data, after 10 s.
fn goodput_kbit(config: &Config, loss: &str, seed: u64) -> u64 {
    let mut net = Net::new(config, config, 100, bottleneck(RATE, 0, 83, loss, seed));
    net.a.write_virtual(u64::MAX);
    net.run_for(Duration::from_secs(10));
    let before = net.b().stats().bytes_delivered;
    net.run_for(Duration::from_secs(40));
    assert_eq!(net.b().stream_check(), Ok(()));
    (net.b().stats().bytes_delivered - before) * 8 / 40 / 1000
}

#[test]
fn bbr_fills_a_path_that_loses_one_in_a_hundred_and_westwood_keeps_more_of_it_than_veno_and_reno() {
    let of = |controller: &str| goodput_kbit(&config(controller), "1%", 7);
    let (bbr, westwood, veno, reno) = (of("bbr"), of("westwood"), of("veno"), of("reno"));
    assert!(bbr > 8500, "bbr {bbr}");
    assert!(bbr > westwood && westwood > 2 * veno && veno > reno * 5 / 4, "{westwood} {veno} {reno}");
}

#[test]
fn bbr3_keeps_four_fifths_of_a_path_that_loses_one_in_a_hundred() {
    // Probes that restore what losses took are 25 round trips apart or more: 1 % each leaves 0.88 on average.
    let of = |loss| goodput_kbit(&config("bbr3"), loss, 7);
    let (clean, lossy) = (of("0%"), of("1%"));
    assert!(lossy * 5 > clean * 4, "{lossy} of {clean}");
}

#[test]
fn every_controller_fills_a_path_without_loss() {
    // Without control the queue overflows all the time.
    for entry in congestion::CONTROLLERS.iter().filter(|entry| entry.slug != "unlimited") {
        let got = goodput_kbit(&config(entry.slug), "0%", 3);
        assert!(got > 8900, "{}: {got}", entry.slug);
    }
}

#[test]
fn a_paced_sender_sends_a_few_segments_at_a_time() {
    let times: Rc<RefCell<Vec<Instant>>> = Rc::default();
    let seen = Rc::clone(&times);
    let mut under = bottleneck(RATE, 0, 83, "0%", 1);
    let path: Path = Box::new(move |now, from, packet| {
        if from == From::A && packet.payload_len() > 0 {
            seen.borrow_mut().push(now);
        }
        under(now, from, packet)
    });
    let mut net = Net::new(&config("bbr"), &config("bbr"), 100, path);
    net.a.write_virtual(u64::MAX);
    net.run_for(Duration::from_secs(8));
    let times = times.borrow();
    let longest = times[10..].chunk_by(|one, other| one == other).map(<[Instant]>::len).max().unwrap();
    // Two segments are a burst at rates where a millisecond holds less.
    assert!(longest <= 2, "{longest} segments at once");
    assert!(times.len() > 5000, "{} segments", times.len());
}

#[test]
fn counting_acknowledgments_halves_growth_beside_a_receiver_that_delays() {
    // Goodput under loss goes with the root of the growth: 0.71.
    let with = |counting| goodput_kbit(&Config { byte_counting: counting, ..config("reno") }, "0.5%", 5);
    let (delivered, acks) = (with(ByteCounting::Delivered), with(ByteCounting::Off));
    assert!((55..85).contains(&(acks * 100 / delivered)), "{acks} of {delivered}");
}

#[test]
fn counting_what_is_acknowledged_leaves_the_window_alone_at_the_first_progress_after_a_timeout() {
    for (counting, expected) in [(ByteCounting::Delivered, 2), (ByteCounting::Acknowledged, 1)] {
        let sender = Config { byte_counting: counting, tail_loss_probe: false, frto: Some(false), ..config("reno") };
        // The first segment of 20 and all that follow it, once; then its retransmission arrives.
        let lost: Vec<u64> = (20..60).collect();
        let mut net = Net::new(&sender, &config("reno"), 100, drop_segments(&lost, 1448));
        net.a.write_virtual(60 * 1448);
        net.run_until(Duration::from_secs(20), |net| net.a.stats().rtos == 1);
        assert_eq!(net.a.sock().snd_cwnd, 1);
        let una = net.a.stats().bytes_acknowledged;
        net.run_until(Duration::from_secs(20), |net| net.a.stats().bytes_acknowledged > una);
        assert_eq!(net.a.sock().snd_cwnd, expected, "{counting:?}");
    }
}
