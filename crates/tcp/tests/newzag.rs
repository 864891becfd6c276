//! What NewZag sees of losses in a connection: n, and one decision for each recovery.

use crate::harness::*;

use airtcp_core::{Duration, Packet};
use airtcp_tcp::congestion::{CaState, find};
use airtcp_tcp::{Config, Connection, RecoveryKind};
use std::collections::BTreeMap;

const MSS: u64 = 1448;

fn newzag(settings: &[(&str, &str)], recovery: RecoveryKind) -> Config {
    let controller = find("newzag", &[]).unwrap().with(settings.iter().copied()).unwrap();
    Config { controller, recovery, initial_window: 40, initial_ssthresh: Some(40), ..sink() }
}

fn counts(connection: &Connection) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    connection.controller_info(&mut |name, count| {
        counts.insert(name, count);
    });
    counts.retain(|_, count| *count > 0);
    counts
}

/// A file of 1000 segments, of which those at `lost` are lost once.
fn transfer(config: &Config, path: Path) -> Net {
    let mut net = Net::new(config, &sink(), 100, path);
    net.a.write_virtual(1000 * MSS);
    net.run_until(Duration::from_secs(600), |net| net.a.all_acknowledged() && net.a.is_established());
    assert_eq!(net.b().stream_check(), Ok(()));
    net
}

#[test]
fn nzg_7_n_is_the_number_of_segments_lost_in_a_row() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        for (lost, name) in [(1, "n_1"), (2, "n_2"), (3, "n_3"), (5, "n_more")] {
            let lost: Vec<u64> = (200..200 + lost).collect();
            let net = transfer(&newzag(&[], recovery), drop_segments(&lost, MSS));
            let counts = counts(&net.a);
            assert_eq!((counts["loss_events"], counts.get(name)), (1, Some(&1)), "{recovery:?} {lost:?}: {counts:?}");
        }
    }
}

#[test]
fn nzg_7_n_is_one_without_sack_and_for_a_second_hole_not_yet_known_when_recovery_begins() {
    let config = Config { sack: false, ..newzag(&[], RecoveryKind::NewReno) };
    assert_eq!(counts(&transfer(&config, drop_segments(&[200, 201, 202], MSS)).a)["n_1"], 1);
    let counts = counts(&transfer(&newzag(&[], RecoveryKind::Sack), drop_segments(&[200, 210], MSS)).a);
    // One decision for both (NZG-U8).
    assert_eq!((counts["loss_events"], counts["n_1"]), (1, 1));
}

#[test]
fn nzg_c15_segments_that_are_overtaken_are_no_losses_and_do_not_count_into_n() {
    // In a window of three, every 40th segment comes 3 ms late: at most two overtake it.
    for (lost, expected) in [(vec![], 0), (vec![500], 1), (vec![300, 500, 800], 3)] {
        let mut drop_some = drop_segments(&lost, MSS);
        let mut number = 0u64;
        let path: Path = Box::new(move |now, from, packet: &Packet| {
            number += u64::from(from == From::A);
            match drop_some(now, from, packet) {
                Fate::Deliver if from == From::A && number.is_multiple_of(40) => Fate::Late(ms(3)),
                fate => fate,
            }
        });
        let config = Config { initial_window: 3, max_cwnd: Some(3), ..newzag(&[], RecoveryKind::Rack) };
        let counts = counts(&transfer(&config, path).a);
        let of = |name| counts.get(name).copied().unwrap_or(0);
        assert_eq!((of("loss_events"), of("n_1")), (expected, expected), "{lost:?}: {counts:?}");
    }
}

#[test]
fn nzg_8_a_timeout_leaves_two_segments_in_paper_mode_and_otherwise_what_the_stack_makes_it() {
    for (settings, expected) in [(&[("timeout_leaves_two", "true")][..], 2), (&[], 1)] {
        // A whole window is lost: nothing tells of it but the timer.
        let lost: Vec<u64> = (200..400).collect();
        let config = Config { tail_loss_probe: false, frto: Some(false), ..newzag(settings, RecoveryKind::Sack) };
        let mut net = Net::new(&config, &sink(), 100, drop_segments(&lost, MSS));
        net.a.write_virtual(1000 * MSS);
        net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Loss);
        let sk = net.a.sock();
        assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (expected, sk.prior_cwnd / 2));
        assert_eq!(counts(&net.a), BTreeMap::from([("timeouts", 1)]));
    }
}
