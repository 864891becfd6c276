use super::super::evidence::Bytes;
use super::*;

/// A minute of a long flow that leaves: 20 Mbit/s, 50 ms, so many segments lost for no queue and in one, carried in Mbit/s.
fn way(lost: u64, in_queue: u64, mbit: f64) -> Way {
    let segments = (mbit * 1e6 * 60.0 / 8.0 / 1448.0) as u64;
    Way {
        bytes: Bytes { tcp: segments * 1500, ..Bytes::default() },
        segments,
        lost: lost + in_queue,
        lost_in_queue: in_queue,
        events: lost,
        events_in_queue: in_queue,
        path_ms: Some(50.0),
        round_trip_ms: Some(50.0),
        wait_ms: 20.0,
        segment_bytes: 1448,
        busy_seconds: 60.0,
        flow_seconds: 60.0,
        busy_bps: mbit * 1e6,
        peak_bps: 20e6,
        ..Way::default()
    }
}

fn seen(out: Way) -> Evidence {
    Evidence { seconds: 60.0, peer: Peer::Silent, out, ..Evidence::default() }
}

fn of(seen: &Evidence) -> (Answer, &'static str) {
    let verdict = judge(seen);
    assert!(verdict.sentence.starts_with(verdict.answer.words()), "{}", verdict.sentence);
    (verdict.answer, verdict.reason)
}

fn probes(sent: u64, lost: u64) -> Hop {
    Hop { sent, lost, bursts: [lost, 0, 0, 0, 0, 0, 0, 0], round_trip_ms: 30.0, rate_bps: Some(20e6), ..Hop::default() }
}

#[test]
fn losses_that_hold_senders_back_are_a_yes_with_the_gain_that_is_possible() {
    // 1 % of 2.9 Mbit/s: what RFC 9438 has.
    let verdict = judge(&seen(way(150, 5, 2.9)));
    assert_eq!((verdict.answer, verdict.reason), (Answer::Yes, "losses"));
    assert!(verdict.gain.is_some_and(|gain| (6.0..7.5).contains(&gain)), "{verdict:?}");
    assert!(verdict.sentence.contains("nothing answers at its other end"));
}

#[test]
fn who_fills_the_link_needs_no_repair_whatever_is_lost() {
    assert_eq!(of(&seen(way(1000, 0, 19.0))), (Answer::No, "filled"));
}

#[test]
fn losses_in_a_queue_are_congestion() {
    assert_eq!(of(&seen(way(50, 500, 12.0))), (Answer::No, "congestion"));
    // The few that are lost just when the queue has gone are no reason either.
    assert_eq!(of(&seen(way(120, 480, 3.0))), (Answer::No, "congestion"));
}

#[test]
fn senders_that_do_not_care_are_told_from_those_that_do() {
    // 1 % of 9 Mbit/s: three times what one that cares would carry.
    assert_eq!(of(&seen(way(466, 0, 9.0))), (Answer::No, "indifferent"));
    // At a fifth lost it is the link that holds them back.
    assert_eq!(of(&seen(way(9323, 0, 9.0))).0, Answer::Yes);
}

#[test]
fn who_is_held_back_by_something_else_gains_nothing() {
    // 0.1 % each, over 50 ms.
    let windowed = way(13, 0, 2.5);
    assert_eq!(of(&seen(windowed.clone())), (Answer::No, "held_back"));
    assert_eq!(of(&seen(way(46, 0, 9.0))), (Answer::Yes, "losses"));
    // Where a part of the path is not seen, it may be that long; and timeouts, of which the model knows nothing, hold back as well.
    assert_eq!(of(&seen(Way { path_ms: None, ..windowed })).0, Answer::Yes);
    assert_eq!(of(&seen(way(600, 0, 0.9))).0, Answer::Yes);
}

#[test]
fn few_losses_are_little_only_if_enough_was_seen() {
    assert_eq!(of(&seen(way(0, 0, 12.0))), (Answer::No, "nothing_lost"));
    let short = Way { segments: 2000, ..way(4, 0, 12.0) };
    assert_eq!(of(&seen(short)), (Answer::Unknown, "too_short"));
    assert_eq!(of(&seen(Way::default())), (Answer::Unknown, "too_little"));
}

#[test]
fn losses_too_few_for_the_round_trip_hold_nobody_back() {
    // 0.1 % over 5 ms: a window of 38 segments is more than 20 Mbit/s carry in that time.
    let short = Way { path_ms: Some(5.0), ..way(60, 0, 12.0) };
    assert_eq!(of(&seen(short)), (Answer::No, "too_few"));
}

#[test]
fn requests_wait_for_losses_from_one_percent_on() {
    let short =
        |lost| Way { busy_seconds: 0.0, flow_seconds: 0.0, busy_bps: 0.0, segments: 10_000, ..way(lost, 0, 2.0) };
    assert_eq!(of(&seen(short(120))).0, Answer::Yes);
    assert_eq!(of(&seen(short(50))), (Answer::No, "requests"));
}

#[test]
fn without_a_peer_or_with_the_loss_elsewhere_it_is_not_here() {
    let lossy = seen(way(150, 5, 2.9));
    assert_eq!(of(&Evidence { peer: Peer::None, ..lossy.clone() }), (Answer::NotHere, "no_peer"));
    // The other end answers, and the hop loses nothing: it is beyond.
    let beyond = Evidence { peer: Peer::Answers, hop: Some(probes(3000, 1)), ..lossy.clone() };
    assert_eq!(of(&beyond), (Answer::NotHere, "lost_beyond"));
    let here = Evidence { peer: Peer::Answers, hop: Some(probes(3000, 28)), ..lossy };
    assert_eq!(of(&here), (Answer::Yes, "losses"));
    let near = Way { lost_elsewhere: 1000, ..way(0, 0, 12.0) };
    assert_eq!(of(&seen(near)), (Answer::NotHere, "lost_elsewhere"));
}

#[test]
fn what_is_hidden_is_known_from_probes_only_and_repaired_by_some_schemes_only() {
    let hidden = Way { bytes: Bytes { quic: 20_000_000, ..Bytes::default() }, segments: 0, ..way(0, 0, 2.0) };
    let alone = seen(Way { path_ms: None, ..hidden });
    assert_eq!(of(&alone), (Answer::Unknown, "hidden"));
    let probed = Evidence { peer: Peer::Answers, hop: Some(probes(3000, 60)), ..alone.clone() };
    assert_eq!(of(&probed), (Answer::Yes, "losses"));
    assert_eq!(of(&Evidence { repairs: Repairs::Tcp, ..probed.clone() }), (Answer::No, "not_repaired"));
    // Too few to tell are not none.
    let few = |lost| Evidence { hop: Some(probes(735, lost)), ..probed.clone() };
    assert_eq!([of(&few(8)), of(&few(0))], [(Answer::Unknown, "too_short"), (Answer::No, "nothing_lost")]);
    let in_queue = Hop { lost_in_queue: 55, ..probes(3000, 60) };
    assert_eq!(of(&Evidence { hop: Some(in_queue), ..probed.clone() }).0, Answer::No);
    let full = Way { busy_bps: 19e6, ..probed.out.clone() };
    assert_eq!(of(&Evidence { out: full, ..probed }), (Answer::No, "filled"));
}

#[test]
fn probes_alone_give_the_sentence_of_a_download() {
    let of_hop = |hop| of(&Evidence { peer: Peer::Answers, hop: Some(hop), ..Evidence::default() });
    assert_eq!(of_hop(probes(2500, 25)), (Answer::Yes, "losses"));
    assert_eq!(of_hop(probes(2500, 0)), (Answer::No, "nothing_lost"));
    assert_eq!(of_hop(probes(2500, 5)), (Answer::Unknown, "too_short"));
    assert_eq!(of_hop(Hop { lost_in_queue: 20, ..probes(2500, 25) }), (Answer::No, "congestion"));
    assert_eq!(of_hop(Hop { rate_bps: None, ..probes(2500, 25) }), (Answer::Unknown, "no_rate"));
    // A slow link carries less than a window at 1 % anyway.
    assert_eq!(of_hop(Hop { rate_bps: Some(2e6), ..probes(2500, 25) }), (Answer::No, "too_few"));
}

#[test]
fn links_with_gateways_on_them_are_not_judged() {
    let ours = Evidence { own_bytes: 9_000_000, ..Evidence::default() };
    assert_eq!(of(&ours), (Answer::Unknown, "gateways_run"));
}
