use super::*;
use airtcp_core::{Duration, Instant, Rng};
use alloc::collections::BTreeMap;

/// A NewZag behind a mean of about 100 ms, whose latest round trip is `last_ms`, and a window of 50.
fn after(settings: Settings, last_ms: i64) -> (Newzag, TcpSock) {
    let mut sk = TcpSock::new(Rng::derive(1, "newzag"));
    (sk.snd_cwnd, sk.snd_ssthresh, sk.prior_cwnd, sk.is_cwnd_limited) = (50, 10, 50, true);
    sk.tcp_mstamp = Instant::ZERO + Duration::from_secs(1000);
    let mut newzag = Newzag::new(settings);
    for ms in (0..200).map(|round| if round % 2 == 0 { 80 } else { 120 }).chain([last_ms]) {
        newzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: ms * 1000, in_flight: 50 });
    }
    (newzag, sk)
}

/// As in the paper, whatever waits in queues.
fn adjusted() -> Settings {
    Settings { max_backlog: 0, ..Settings::default() }
}

/// As the stack does on entry to recovery with `lost` segments: the threshold.
fn recover(newzag: &mut Newzag, sk: &mut TcpSock, lost: u32) -> u32 {
    sk.lost_out = lost;
    sk.prior_cwnd = sk.snd_cwnd;
    sk.snd_ssthresh = newzag.ssthresh(sk);
    newzag.set_state(sk, CaState::Recovery);
    sk.snd_ssthresh
}

/// As the stack does after a timeout.
fn time_out(newzag: &mut Newzag, sk: &mut TcpSock) {
    sk.lost_out = 1;
    sk.prior_cwnd = sk.snd_cwnd;
    sk.snd_ssthresh = newzag.ssthresh(sk);
    newzag.cwnd_event(sk, CaEvent::Loss);
    sk.snd_cwnd = 1;
    newzag.set_state(sk, CaState::Loss);
}

fn counts(newzag: &Newzag) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    newzag.get_info(&mut |name, count| {
        counts.insert(name, count);
    });
    counts.retain(|_, count| *count > 0);
    counts
}

#[test]
fn nzg_1_growth_is_renos_and_only_the_decrease_differs() {
    let (mut newzag, mut sk) = after(adjusted(), 60);
    for _ in 0..50 {
        newzag.cong_avoid(&mut sk, 1);
    }
    assert_eq!(sk.snd_cwnd, 51);
    assert_eq!(recover(&mut newzag, &mut sk, 1), 40);
}

#[test]
fn nzg_6_the_threshold_is_four_fifths_when_the_round_trip_is_short_and_half_when_it_is_long() {
    let (mut newzag, mut sk) = after(adjusted(), 60);
    assert_eq!(recover(&mut newzag, &mut sk, 1), 40);
    let (mut newzag, mut sk) = after(adjusted(), 140);
    assert_eq!(recover(&mut newzag, &mut sk, 1), 25);
}

#[test]
fn nzg_7_n_is_what_the_stack_holds_for_lost_when_recovery_begins() {
    let original = Settings { lda: Lda::Original, ..adjusted() };
    // 87 ms is between mean - dev and mean - dev/2: random if two segments are lost, not if one is.
    for (lost, threshold, name) in
        [(1, 25, "n_1"), (2, 40, "n_2"), (3, 40, "n_3"), (4, 40, "n_more"), (9, 40, "n_more")]
    {
        let (mut newzag, mut sk) = after(original.clone(), 87);
        assert_eq!(recover(&mut newzag, &mut sk, lost), threshold, "n = {lost}");
        assert_eq!(counts(&newzag)[name], 1, "n = {lost}");
    }
}

#[test]
fn nzg_7_the_four_situations_are_told_apart() {
    let (mut newzag, mut sk) = after(adjusted(), 60);
    // (1) and (4): recovery. (2): timeout. (3): a full queue, nothing lost.
    recover(&mut newzag, &mut sk, 1);
    time_out(&mut newzag, &mut sk);
    (sk.lost_out, sk.snd_cwnd) = (0, 50);
    assert_eq!(newzag.ssthresh(&mut sk), 25);
    newzag.set_state(&mut sk, CaState::Cwr);
    let expected =
        [("loss_events", 1), ("n_1", 1), ("random", 1), ("below_mean", 1), ("timeouts", 1), ("other_reductions", 1)];
    assert_eq!(counts(&newzag), BTreeMap::from(expected));
}

#[test]
fn one_decision_is_counted_for_a_recovery_however_often_its_state_is_set() {
    let (mut newzag, mut sk) = after(adjusted(), 60);
    recover(&mut newzag, &mut sk, 1);
    for state in [CaState::Recovery, CaState::Open, CaState::Disorder] {
        newzag.set_state(&mut sk, state);
    }
    assert_eq!(counts(&newzag)["loss_events"], 1);
}

#[test]
fn nzg_8_a_timeout_is_congestion_and_the_window_is_the_stacks_unless_told() {
    // The round trip looks random.
    let (mut newzag, mut sk) = after(adjusted(), 60);
    time_out(&mut newzag, &mut sk);
    assert_eq!((sk.snd_ssthresh, sk.snd_cwnd), (25, 1));
    let (mut newzag, mut sk) = after(Settings { timeout_leaves_two: true, ..adjusted() }, 60);
    time_out(&mut newzag, &mut sk);
    assert_eq!((sk.snd_ssthresh, sk.snd_cwnd), (25, 2));
    let (mut newzag, mut sk) = after(Settings { judges_timeouts: true, ..adjusted() }, 60);
    time_out(&mut newzag, &mut sk);
    assert_eq!((sk.snd_ssthresh, sk.snd_cwnd), (40, 1));
}

#[test]
fn after_a_timeout_two_segments_may_leave_beside_retransmissions_that_were_not_needed() {
    let (mut newzag, mut sk) = after(Settings { timeout_leaves_two: true, ..adjusted() }, 60);
    // The peer has three of four segments, each sent again after it had them: they count until they are acknowledged.
    (sk.packets_out, sk.sacked_out, sk.retrans_out, sk.lost_out) = (4, 3, 3, 1);
    sk.snd_cwnd = sk.tcp_packets_in_flight() + 1;
    newzag.set_state(&mut sk, CaState::Loss);
    assert_eq!(sk.snd_cwnd, sk.tcp_packets_in_flight() + 2);
    // As many as the stack leaves, if no more may be in flight.
    sk.snd_cwnd_clamp = sk.snd_cwnd;
    newzag.set_state(&mut sk, CaState::Loss);
    assert_eq!(sk.snd_cwnd, sk.tcp_packets_in_flight() + 2);
}

#[test]
fn nzg_5_the_senders_own_clock_measures_round_trips() {
    let (mut newzag, mut sk) = after(adjusted(), 140);
    // Whatever the peer's clock says.
    sk.rx_opt.rcv_tsval = 1;
    newzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: 60_000, in_flight: 50 });
    assert_eq!(recover(&mut newzag, &mut sk, 1), 40);
    // No sample: the latest counts (NZG-U1).
    newzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: -1, in_flight: 50 });
    sk.snd_cwnd = 50;
    assert_eq!(recover(&mut newzag, &mut sk, 1), 40);
}

#[test]
fn nzg_9_integers_of_linux_on_every_window() {
    let (mut newzag, mut sk) = after(adjusted(), 60);
    for (cwnd, kept) in [(1, 2), (2, 2), (3, 2), (4, 3), (69, 55), (u32::MAX, 3_435_973_836)] {
        sk.snd_cwnd = cwnd;
        assert_eq!(recover(&mut newzag, &mut sk, 1), kept);
    }
}

#[test]
fn nzg_10_a_clock_of_ten_milliseconds_cannot_tell_what_one_of_one_can() {
    let tells = |clock: Duration, last_ms: i64| {
        let (mut newzag, mut sk) = after(Settings { clock, ..adjusted() }, 100);
        // Long at 104 ms, then 4 ms less: the same tick of 10 ms.
        for _ in 0..500 {
            newzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: 104_000, in_flight: 50 });
        }
        newzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: last_ms * 1000, in_flight: 50 });
        recover(&mut newzag, &mut sk, 1) == 40
    };
    assert!(tells(Duration::from_millis(1), 101));
    assert!(!tells(Duration::from_millis(10), 101));
    assert!(tells(Duration::from_millis(10), 94));
}

#[test]
fn before_any_round_trip_a_loss_is_congestion() {
    let mut sk = TcpSock::new(Rng::derive(1, "newzag"));
    let mut newzag = Newzag::default();
    assert_eq!(recover(&mut newzag, &mut sk, 1), 5);
    assert!(!counts(&newzag).contains_key("below_mean"));
}
