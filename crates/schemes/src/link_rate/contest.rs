//! The rate of a link that somebody else fills: what as many TCP connections would get there as have something to send here.
//!
//! Whoever keeps the link's queue short beside a TCP that fills it gets nothing. Nimbus (SIGCOMM 2022) and Copa (NSDI 2018)
//! therefore change over to a law that competes. Ours is CUBIC, the controller of the simulated hosts, whose window is of
//! packets in the link, for each flow that waits here: the pace is the sum of the windows over the round trip of the hop. What the link loses
//! usually is repaired and no sign of congestion; what it loses beyond that is, and a window is then cut for
//! each loss, as that of the connection that it hits. The window's constants are CUBIC's (RFC 9438, `airtcp_tcp`); those below are
//! ours, argued and not swept.

use super::departures::Sample;
use super::usual_loss::{UsualLoss, excess};
use airtcp_core::{Duration, Instant, Rate, Rng};
use airtcp_tcp::congestion::{Controller, Cubic, TcpSock};

/// Full-size packet, in bytes: Ethernet's.
const PACKET: u64 = 1500;
/// Flows that waited in this time or in the one before are there: one whose window was cut may send nothing for a
/// while. RFC 6298's least timeout.
const FLOWS_TIME: Duration = Duration::from_secs(1);
/// More connections than this are a crowd, whose share is as large as it gets. FQ-CoDel has as many queues (RFC 8290, section 5.2.2).
const MOST_FLOWS: u32 = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Contest {
    flows: Flows,
    /// One connection of them.
    sock: TcpSock,
    cubic: Cubic,
    /// Bytes that had come when whole packets were last acknowledged.
    acknowledged: Option<u64>,
    round: Option<Round>,
    /// What the link lost before somebody else filled it, in millionths. What it loses now is of no use: most of that may be theirs
    /// and ours that find no room.
    usual: Option<u64>,
}

/// The hop at the time of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// With what waits in it.
    pub round_trip: Duration,
    /// In bit/s.
    pub carried: u64,
}

/// From a report to one of a packet that left after that came.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Instant,
    packets: u64,
    received: u64,
    /// What is lost in it follows from the window before the last cut.
    is_late: bool,
    /// Packets waited here, so the window was all in use.
    is_limited: bool,
}

impl Contest {
    /// For flows that had `rate` until somebody else came, whose window is then cut as by a loss.
    pub fn new(now: Instant, rate: Rate, round_trip: Duration, flows: Flows, loss: &UsualLoss) -> Contest {
        let (mut sock, mut cubic) = (TcpSock::new(Rng::derive(0, "contest")), Cubic::default());
        sock.tcp_mstamp = now;
        sock.snd_cwnd =
            u32::try_from(rate.bytes_in(round_trip) / PACKET / u64::from(flows.count())).unwrap_or(u32::MAX);
        cubic.init(&mut sock);
        sock.snd_cwnd = cubic.ssthresh(&mut sock);
        sock.snd_ssthresh = sock.snd_cwnd;
        // No loss has told yet how large a window may be.
        cubic.init(&mut sock);
        Contest { flows, sock, cubic, acknowledged: None, round: None, usual: loss.middle() }
    }

    /// It goes on after a pause, or with another end that counts anew, with the same window.
    pub fn resume(&mut self) {
        (self.acknowledged, self.round) = (None, None);
    }

    /// A packet was seen at both ends; `flows` wait here, so there was enough to send, or none does.
    pub fn on_report(&mut self, now: Instant, sample: &Sample, hop: Hop, loss: &UsualLoss, flows: Flows) {
        self.flows = flows;
        self.sock.tcp_mstamp = now;
        let round = *self.round.get_or_insert(Round::new(now, sample, false));
        if sample.left >= round.since {
            let (sent, received) =
                (sample.packets.saturating_sub(round.packets), sample.received.saturating_sub(round.received));
            let hits = if round.is_late || !round.is_limited {
                0
            } else {
                excess(self.usual.unwrap_or(loss.usual()), sent, received, PACKET)
            };
            if hits > 0 {
                self.cut(hits);
            }
            self.round = Some(Round::new(now, sample, hits > 0));
        }
        if let Some(round) = &mut self.round {
            round.is_limited |= flows.now > 0;
        }
        let before = *self.acknowledged.get_or_insert(sample.received);
        let packets = sample.received.saturating_sub(before) / PACKET / u64::from(flows.count());
        if packets > 0 {
            self.acknowledged = Some(before + packets * PACKET * u64::from(flows.count()));
            // A window that is not used may not grow.
            self.sock.is_cwnd_limited = flows.now > 0 && self.pace(hop.round_trip) / 2 <= hop.carried;
            self.cubic.cong_avoid(&mut self.sock, u32::try_from(packets).unwrap_or(u32::MAX));
        }
    }

    /// So many packets were lost: no flow notices more than one in a round trip.
    fn cut(&mut self, hits: u64) {
        let (flows, window) = (u64::from(self.flows.count()), self.sock.snd_cwnd);
        let lower = self.cubic.ssthresh(&mut self.sock).min(window);
        let cut = u64::from(window - lower) * hits.min(flows) / flows;
        self.sock.snd_cwnd = window.saturating_sub(u32::try_from(cut).unwrap_or(window)).max(2);
        self.sock.snd_ssthresh = self.sock.snd_cwnd;
    }

    /// In bit/s, where a packet takes so long there and back.
    pub fn pace(&self, round_trip: Duration) -> u64 {
        let bits = u128::from(self.sock.snd_cwnd) * u128::from(self.flows.count()) * u128::from(PACKET * 8);
        u64::try_from(bits * 1_000_000_000 / u128::from(round_trip.as_nanos().max(1))).unwrap_or(u64::MAX)
    }
}

impl Round {
    fn new(since: Instant, sample: &Sample, is_late: bool) -> Round {
        Round { since, packets: sample.packets, received: sample.received, is_late, is_limited: false }
    }
}

/// How many flows there are to send for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flows {
    /// That wait now.
    now: u32,
    /// The most in this span and in the one before, and when this one began.
    most: [u32; 2],
    since: Instant,
}

impl Flows {
    /// So many wait.
    pub fn note(&mut self, now: Instant, waiting: usize) {
        self.now = u32::try_from(waiting).unwrap_or(MOST_FLOWS).min(MOST_FLOWS);
        if now.saturating_since(self.since) >= FLOWS_TIME {
            (self.most, self.since) = ([0, self.most[0]], now);
        }
        self.most[0] = self.most[0].max(self.now);
    }

    /// At least one.
    fn count(&self) -> u32 {
        self.most.into_iter().max().unwrap_or(1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const ROUND_TRIP: Duration = Duration::from_millis(100);

    /// A link that carries what it is given but for one packet in so many.
    struct Run {
        now: Instant,
        contest: Contest,
        loss: UsualLoss,
        sample: Sample,
        flows: usize,
        /// Bytes of a packet that is not sent yet.
        credit: u64,
    }

    impl Run {
        fn new(flows: usize) -> Run {
            let (now, mut waiting) = (Instant::ZERO + Duration::from_secs(1), Flows::default());
            waiting.note(now, flows);
            let loss = UsualLoss::default();
            let contest = Contest::new(now, Rate::from_bps(12_000_000), ROUND_TRIP, waiting, &loss);
            let (left, pause) = (now, Duration::ZERO);
            let sample = Sample { left, came: 0, sent: 0, packets: 0, received: 0, bytes: 1500, pause };
            Run { now, contest, loss, sample, flows, credit: 0 }
        }

        fn run(&mut self, time: Duration, lost_one_in: u64) {
            for _ in 0..time.as_nanos() / MS.as_nanos() / 10 {
                self.now += MS * 10;
                let pace = self.contest.pace(ROUND_TRIP);
                self.credit += pace / 800;
                let bytes = self.credit / PACKET * PACKET;
                self.credit -= bytes;
                let packets = (self.sample.packets + bytes) / PACKET;
                let lost = packets / lost_one_in - self.sample.packets / PACKET / lost_one_in;
                self.sample.packets += bytes;
                self.sample.received += bytes - (lost * PACKET).min(bytes);
                (self.sample.left, self.sample.came) = (self.now - ROUND_TRIP, self.now.as_nanos());
                self.loss.add(&self.sample, true);
                let mut flows = self.contest.flows;
                flows.note(self.now, self.flows);
                self.contest.on_report(
                    self.now,
                    &self.sample,
                    Hop { round_trip: ROUND_TRIP, carried: pace },
                    &self.loss,
                    flows,
                );
            }
        }

        fn pace(&self) -> u64 {
            self.contest.pace(ROUND_TRIP)
        }
    }

    #[test]
    fn it_begins_as_after_a_loss_and_grows_until_the_next() {
        let mut run = Run::new(1);
        assert_eq!(run.pace(), 8_400_000, "seven tenths of 100 packets");
        run.run(Duration::from_secs(1), u64::MAX);
        let before = run.pace();
        assert!(before > 9_000_000, "{before}");
        run.run(ROUND_TRIP * 2, 100);
        assert!(run.pace() < before * 8 / 10 && run.pace() > before * 6 / 10, "{before} {}", run.pace());
    }

    #[test]
    fn one_loss_hits_one_flow_of_four() {
        let mut run = Run::new(4);
        run.run(Duration::from_secs(1), u64::MAX);
        let before = run.pace();
        run.contest.cut(1);
        assert!(run.pace() < before * 95 / 100 && run.pace() > before * 88 / 100, "{before} {}", run.pace());
    }

    #[test]
    fn what_the_link_loses_anyway_cuts_no_window_and_twice_as_much_does() {
        let mut run = Run::new(1);
        // 2 %, known before others come.
        run.run(Duration::from_secs(12), 50);
        run.contest = Contest::new(run.now, Rate::from_bps(12_000_000), ROUND_TRIP, run.contest.flows, &run.loss);
        let before = run.pace();
        run.run(Duration::from_secs(3), 50);
        assert!(run.pace() > before, "{before} {}", run.pace());
        let before = run.pace();
        run.run(Duration::from_secs(1), 8);
        assert!(run.pace() < before, "{before} {}", run.pace());
    }

    #[test]
    fn a_window_that_is_not_used_is_neither_cut_nor_grown() {
        let mut run = Run::new(1);
        run.run(Duration::from_secs(1), u64::MAX);
        run.flows = 0;
        run.run(ROUND_TRIP * 2, u64::MAX);
        let before = run.contest.sock.snd_cwnd;
        run.run(Duration::from_secs(1), 10);
        assert_eq!(run.contest.sock.snd_cwnd, before);
    }
}
