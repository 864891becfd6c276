//! Peers that are gone, to the microsecond: probes of a closed window, keepalive, and what is left of a connection that
//! the application has closed. The kernel's part is in crates/drill/scripts, with short times.

use crate::harness::{Fate, From, Net, Path, ms, sink};
use airtcp_core::{Duration, Instant, Packet, SeqNum};
use airtcp_tcp::{CloseReason, Config, State};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const RTT_MS: u64 = 100;
/// RTO after a handshake of 100 ms: the round trip, and the least variance.
const RTO_MS: u64 = 300;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What A sent, and when.
type Sent = Rc<RefCell<Vec<(Instant, Packet)>>>;

/// From the moment that the switch is on, B is gone: nothing reaches it.
fn to_b(gone: &Rc<Cell<bool>>, sent: &Sent) -> Path {
    let (gone, sent) = (Rc::clone(gone), Rc::clone(sent));
    Box::new(move |now, from, packet| {
        if from == From::A {
            sent.borrow_mut().push((now, packet.clone()));
        }
        if gone.get() { Fate::Drop } else { Fate::Deliver }
    })
}

struct Bench {
    net: Net,
    gone: Rc<Cell<bool>>,
    sent: Sent,
}

impl Bench {
    fn new(a: &Config, b: &Config) -> Bench {
        let (gone, sent) = (Rc::new(Cell::new(false)), Sent::default());
        let mut net = Net::new(a, b, RTT_MS, to_b(&gone, &sent));
        net.establish();
        net.run_for(ms(10));
        sent.borrow_mut().clear();
        Bench { net, gone, sent }
    }

    /// A has a byte more to send than B's buffer takes, and all else is acknowledged.
    fn with_closed_window(a: &Config) -> Bench {
        let reader =
            Config { receive_buffer: airtcp_core::ByteSize(2000), window_scaling: false, ..Config::without_habits() };
        let mut bench = Bench::new(a, &reader);
        bench.net.a.write_virtual(2001);
        bench.net.run_until(seconds(2), |net| net.a.stats().bytes_acknowledged == 2000);
        bench.sent.borrow_mut().clear();
        bench
    }

    fn waits_ms(&self, from: Instant) -> Vec<u64> {
        let mut before = from;
        let sent = self.sent.borrow();
        sent.iter().map(|(at, _)| at.saturating_since(core::mem::replace(&mut before, *at)).as_millis()).collect()
    }

    /// When A gives up, after now.
    fn end(&mut self) -> (Duration, Option<CloseReason>) {
        let start = self.net.now;
        self.net.run_until(seconds(100_000), |net| net.a.is_closed());
        (self.net.now.saturating_since(start), self.net.a.close_reason())
    }
}

/// Waits that double from `first` ms on, up to two minutes.
fn doubling(first: u64, count: usize) -> Vec<u64> {
    (0..count).map(|n| (first << n).min(120_000)).collect()
}

#[test]
fn fifteen_probes_of_a_closed_window_without_answer_end_the_connection() {
    let mut bench = Bench::with_closed_window(&sink());
    let (start, last) = (bench.net.now, bench.net.a.rto());
    assert_eq!(last, ms(RTO_MS));
    bench.gone.set(true);
    let (after, reason) = bench.end();
    assert_eq!(bench.waits_ms(start), doubling(RTO_MS, 15));
    assert_eq!(after, ms(doubling(RTO_MS, 16).iter().sum()));
    assert_eq!((reason, bench.net.a.stats().window_probes), (Some(CloseReason::TimedOut), 15));
    assert!(bench.net.a.poll_timeout().is_none());
}

#[test]
fn a_window_that_stays_closed_does_not_end_a_connection_whose_peer_answers() {
    let mut bench = Bench::with_closed_window(&Config { max_retries: 3, ..sink() });
    bench.net.run_for(seconds(600));
    assert_eq!(bench.net.a.state(), State::Established);
    let probes = bench.net.a.stats().window_probes;
    assert!(probes > 200, "{probes}");
    // It counts from the last answer.
    bench.gone.set(true);
    let (_, reason) = bench.end();
    let unanswered = bench.net.a.stats().window_probes - probes;
    assert_eq!((reason, unanswered), (Some(CloseReason::TimedOut), 3));
}

#[test]
fn probes_whose_waits_do_not_double_last_as_long() {
    let mut bench = Bench::with_closed_window(&Config { rto_backoff: false, max_retries: 4, ..sink() });
    bench.gone.set(true);
    let (after, reason) = bench.end();
    // From the first probe on five waits, from 0.2 s to 3.2 s: the next of those that leave each 0.3 s is the 21st.
    assert_eq!((after, reason), (ms(RTO_MS + 21 * RTO_MS), Some(CloseReason::TimedOut)));
}

#[test]
fn an_orphan_is_probed_eight_times_and_not_at_all_once_its_wait_is_the_longest() {
    let mut bench = Bench::with_closed_window(&sink());
    bench.gone.set(true);
    bench.net.a.close(bench.net.now);
    let (after, reason) = bench.end();
    assert_eq!((after, reason), (ms(doubling(RTO_MS, 9).iter().sum()), Some(CloseReason::TimedOut)));
    assert_eq!(bench.net.a.stats().window_probes, 8);

    // An answer makes the count begin anew, but not the waits: the tenth is two minutes, and the last.
    let mut bench = Bench::with_closed_window(&sink());
    bench.net.a.close(bench.net.now);
    let (after, reason) = bench.end();
    let waits: u64 = doubling(RTO_MS, 10).iter().sum();
    assert_eq!((after, reason), (ms(waits + 9 * RTT_MS), Some(CloseReason::TimedOut)));
}

#[test]
fn an_orphan_whose_data_nobody_acknowledges_ends_sooner() {
    let end = |closes: bool, retries| {
        let mut bench = Bench::new(&Config { tail_loss_probe: false, ..sink() }, &sink());
        bench.gone.set(true);
        bench.net.a.write_virtual(1000);
        if closes {
            bench.net.a.close_with(bench.net.now, airtcp_tcp::Patience { retries, ..Default::default() });
        }
        let (after, reason) = bench.end();
        assert_eq!(reason, Some(CloseReason::TimedOut));
        // From the first timeout on.
        after.saturating_sub(ms(RTO_MS)).as_millis()
    };
    // At the first timeout after 102.2 s: nine, from 0.2 s on.
    assert_eq!(end(true, None), doubling(2 * RTO_MS, 8).iter().sum::<u64>());
    // After 1.4 s: three.
    assert_eq!(end(true, Some(2)), 600 + 1200);
    // After 924.6 s: sixteen, of two minutes at most.
    assert_eq!(end(false, None), doubling(2 * RTO_MS, 15).iter().sum::<u64>());
}

#[test]
fn a_peer_that_closes_its_window_behind_data_and_says_no_more_is_given_up_after_four_minutes() {
    let (last, gone) = (Rc::new(RefCell::new(None)), Rc::new(Cell::new(false)));
    let (kept, switch) = (Rc::clone(&last), Rc::clone(&gone));
    let path: Path = Box::new(move |_, from, packet| {
        if from == From::B {
            kept.replace(Some(packet.clone()));
        }
        if switch.get() { Fate::Drop } else { Fate::Deliver }
    });
    let mut net = Net::new(&Config { tail_loss_probe: false, max_retries: 1, ..sink() }, &sink(), RTT_MS, path);
    net.establish();
    net.a.write_virtual(1000);
    net.run_until(seconds(1), |net| net.a.all_acknowledged());
    gone.set(true);
    net.a.write_virtual(1000);
    net.run_for(ms(0));
    let mut acknowledgment: Packet = last.take().unwrap();
    acknowledgment.set_window(0);
    net.a.handle_segment(net.now, &acknowledgment);
    let start = net.now;
    net.run_until(seconds(1000), |net| net.a.is_closed());
    // From the first timeout on, twice the longest RTO: far longer than `max_retries` alone would allow.
    assert_eq!(net.now.saturating_since(start), ms(doubling(RTO_MS, 10).iter().sum()));
    assert_eq!((net.a.close_reason(), net.a.stats().rtos), (Some(CloseReason::TimedOut), 9));
}

#[test]
fn an_orphan_waits_a_minute_for_the_peer_to_close_and_a_half_closed_end_for_ever() {
    // Closed at once.
    let mut bench = Bench::new(&sink(), &sink());
    bench.net.a.close(bench.net.now);
    bench.net.run_until(seconds(1), |net| net.a.state() == State::FinWait2);
    assert_eq!(bench.end(), (seconds(60), Some(CloseReason::TimedOut)));

    // Closed after a half-close.
    let mut bench = Bench::new(&sink(), &sink());
    bench.net.a.shutdown();
    bench.net.run_for(seconds(1000));
    assert_eq!(bench.net.a.state(), State::FinWait2);
    bench.net.a.close(bench.net.now);
    assert_eq!(bench.end(), (seconds(60), Some(CloseReason::TimedOut)));

    // The peer closes in time: TIME-WAIT, whose time is its own.
    let mut bench = Bench::new(&sink(), &sink());
    bench.net.a.close(bench.net.now);
    bench.net.run_for(seconds(59));
    bench.net.b().shutdown();
    bench.net.run_until(seconds(1), |net| net.a.state() == State::TimeWait);
    assert_eq!(bench.end(), (sink().time_wait, Some(CloseReason::Finished)));
}

#[test]
fn no_orphan_ends_before_three_and_a_half_timeouts() {
    let mut bench = Bench::new(&Config { min_rto: seconds(100), ..sink() }, &sink());
    bench.net.a.close(bench.net.now);
    bench.net.run_until(seconds(1), |net| net.a.state() == State::FinWait2);
    let rto = bench.net.a.rto();
    assert_eq!(bench.end(), (rto * 7 / 2, Some(CloseReason::TimedOut)));
}

fn watchful() -> Config {
    Config { keepalive: true, ..sink() }
}

#[test]
fn keepalive_asks_after_two_hours_and_gives_up_after_nine_probes() {
    let mut bench = Bench::new(&watchful(), &sink());
    bench.net.a.write_virtual(1000);
    bench.net.run_until(seconds(1), |net| net.a.all_acknowledged());
    bench.sent.borrow_mut().clear();
    let heard = bench.net.now;
    bench.gone.set(true);
    let (after, reason) = bench.end();
    assert_eq!((after, reason), (seconds(7200 + 9 * 75), Some(CloseReason::TimedOut)));
    let waits: Vec<u64> = [7_200_000].into_iter().chain([75_000; 9]).collect();
    assert_eq!(bench.waits_ms(heard), waits);
    let sent = bench.sent.borrow();
    let (reset, probes) = sent.split_last().unwrap();
    // SYN and 1000 bytes are behind it.
    let next = SeqNum(u32::MAX - 20_000) + 1001;
    for (_, probe) in probes {
        let tcp = probe.tcp().unwrap();
        assert_eq!((tcp.sequence + 1, probe.payload_len(), tcp.flags.rst()), (next, 0, false));
    }
    let tcp = reset.1.tcp().unwrap();
    assert_eq!((tcp.sequence, tcp.flags.rst(), tcp.flags.ack()), (next, true, true));
    assert_eq!((bench.net.a.stats().keepalive_probes, bench.net.a.stats().window_probes), (9, 0));
}

#[test]
fn answered_probes_keep_a_silent_connection_alive() {
    let mut bench = Bench::new(&watchful(), &sink());
    bench.net.run_for(seconds(100 * 7200));
    assert_eq!((bench.net.a.state(), bench.net.b().state()), (State::Established, State::Established));
    // Each silence begins when the answer is there, a round trip after the probe; the first with the handshake.
    let probes = bench.net.a.stats().keepalive_probes;
    assert_eq!(probes, 99);
    bench.gone.set(true);
    let (_, reason) = bench.end();
    assert_eq!((reason, bench.net.a.stats().keepalive_probes), (Some(CloseReason::TimedOut), probes + 9));
}

#[test]
fn keepalive_is_off_unless_asked_for() {
    let mut bench = Bench::new(&sink(), &sink());
    assert_eq!((bench.net.a.poll_timeout(), bench.net.b().poll_timeout()), (None, None));
}

#[test]
fn data_that_nobody_acknowledges_need_no_keepalive() {
    let short = Config { keepalive_time: seconds(1), keepalive_interval: seconds(1), ..watchful() };
    let mut bench = Bench::new(&short, &sink());
    bench.gone.set(true);
    bench.net.a.write_virtual(1000);
    let (_, reason) = bench.end();
    assert_eq!((reason, bench.net.a.stats().keepalive_probes), (Some(CloseReason::TimedOut), 0));
    assert!(bench.net.a.stats().rtos >= 14, "{:?}", bench.net.a.stats());
}

#[test]
fn what_arrives_puts_the_next_probe_off_and_a_close_ends_keepalive() {
    let short = Config { keepalive_time: seconds(10), ..watchful() };
    let mut bench = Bench::new(&short, &sink());
    for _ in 0..5 {
        bench.net.run_for(seconds(9));
        bench.net.b().write_virtual(1000);
        bench.net.run_for(ms(RTT_MS));
    }
    assert_eq!(bench.net.a.stats().keepalive_probes, 0);
    // FIN-WAIT-2 of an orphan has a time of its own, though the peer would answer.
    bench.net.a.close(bench.net.now);
    bench.net.run_until(seconds(1), |net| net.a.state() == State::FinWait2);
    assert_eq!(bench.end(), (seconds(60), Some(CloseReason::TimedOut)));
    assert_eq!(bench.net.a.stats().keepalive_probes, 0);
}

#[test]
fn times_of_nothing_are_refused() {
    for config in [
        Config { keepalive_time: Duration::ZERO, ..watchful() },
        Config { keepalive_interval: Duration::ZERO, ..watchful() },
    ] {
        let (key, reason) = config.check(true).unwrap_err();
        assert!(key.starts_with("keepalive_") && reason.contains("1s"), "{key}: {reason}");
    }
}
