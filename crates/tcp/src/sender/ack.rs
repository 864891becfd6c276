//! One acknowledgment, in the order of Linux's `tcp_ack()`: window, SACK blocks, cumulative part,
//! round-trip time, recovery, timers, congestion window.

use super::delivery::Delivery;
use super::{Sender, Step};
use crate::congestion::{AckEvent, AckSample, CaState, RxOpt, TcpSock};
use crate::recovery::AckView;
use crate::sent::mark;
use airtcp_core::{Duration, TcpHeader, count_one};

/// What a segment says to the sender, in offsets.
#[derive(Clone, Copy, Debug)]
pub struct AckInput<'a> {
    /// Its header.
    pub tcp: &'a TcpHeader,
    /// Offset acknowledged: between `una` and `nxt`, or below.
    pub ack: u64,
    /// Where the segment lies in the peer's sequence.
    pub sequence: i64,
    /// It carries payload or FIN.
    pub has_data: bool,
    /// Our timestamp clock now and as echoed, if timestamps are on and the segment has them.
    pub clock: u32,
    /// See `clock`.
    pub echo: Option<u32>,
}

/// What an acknowledgment turned out to be (Linux's `FLAG_*`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFacts {
    /// It is the first after a timeout, if it makes progress.
    pub after_timeout: bool,
    pub una_advanced: bool,
    /// Segments cumulatively acknowledged.
    pub acked: u32,
    pub data_sacked: bool,
    pub dsack: bool,
    /// A duplicate was reported that ends where the tail loss probe did.
    pub dsack_of_probe: bool,
    pub ece: bool,
    pub duplicates: u32,
    /// Data sent before the state began, and only once, arrived.
    pub original_delivered: bool,
    pub echo: Option<u32>,
    pub prior_una: u64,
    /// Highest offset SACKed before this acknowledgment.
    pub highest_before: u64,
    /// A retransmission was found lost again.
    pub lost_again: bool,
    /// The timer for what is in flight starts anew.
    pub restarts_timer: bool,
}

/// Counts before an acknowledgment.
#[derive(Clone, Copy)]
pub(super) struct Prior {
    delivered: u32,
    lost: u32,
    packets: u32,
}

impl Prior {
    #[inline]
    pub(super) fn of(sk: &TcpSock) -> Prior {
        Prior { delivered: sk.delivered, lost: sk.lost, packets: sk.packets_out }
    }

    /// How many segments it was until now that were delivered, and that were lost.
    #[inline]
    pub(super) fn until(self, sk: &TcpSock) -> (u32, u32) {
        (sk.delivered.wrapping_sub(self.delivered), sk.lost.wrapping_sub(self.lost))
    }
}

impl Sender {
    /// True if a segment that acknowledges up to `ack` reports nothing but its window, as every segment of a peer that only
    /// sends.
    #[inline]
    pub fn hears_window_only(&self, ack: i64, tcp: &TcpHeader) -> bool {
        self.board.is_empty() && ack == self.una as i64 && tcp.options.sack.is_empty()
    }

    /// Takes the window of such a segment, which lies at `sequence` of the peer's.
    #[inline]
    pub fn handle_window(&mut self, tcp: &TcpHeader, sequence: i64, step: &mut Step) {
        self.tso.look_again();
        self.sk.tcp_mstamp = step.now;
        self.peer.update(tcp.window, sequence, self.una, self.una);
        self.note_heard(step);
    }

    /// Takes an acknowledgment at or above `una`.
    #[inline]
    pub fn handle_ack(&mut self, input: &AckInput, step: &mut Step) {
        self.tso.look_again();
        let is_progress = input.ack > self.una;
        let is_taken =
            if is_progress { self.take_progress(input, step) } else { self.take_plain_duplicate(input, step) };
        if !is_taken {
            self.handle_any_ack(*input, step);
        }
    }

    /// The long way, for any acknowledgment. What it says comes as a copy, so that it need not be put together in memory for
    /// those that take a short way.
    #[inline(never)]
    fn handle_any_ack(&mut self, input: AckInput, step: &mut Step) {
        let input = &input;
        let prior = Prior::of(&self.sk);
        self.sk.tcp_mstamp = step.now;
        self.note_stamps(input);
        let mut facts = self.facts_of(input);
        let mut delivery = self.delivery_of(&facts, input, step);
        delivery.rate.prior_in_flight = self.sk.tcp_packets_in_flight();
        delivery.rate.is_ece = facts.ece;
        let window_updated = self.take_window(input, step);
        if facts.una_advanced {
            self.retransmits = 0;
            self.head_due = false;
            self.una = input.ack;
        }
        let reports = self.has_sack && !input.tcp.options.sack.is_empty();
        let reported = if reports { self.take_blocks(input, &mut facts, &mut delivery, step) } else { 0 };
        self.sk.delivered = self.sk.delivered.wrapping_add(reported);
        self.take_cumulative(&mut facts, &mut delivery, step);
        // A probe that was due and could not leave has nothing left to ask about.
        self.probe.due &= !self.board.is_empty();
        facts.original_delivered = self.is_original_delivered(&delivery);
        if let Some(newest) = delivery.newest {
            self.detector.on_delivered(newest);
        }
        self.sync_sequence();
        facts.restarts_timer = self.take_round_trip(input, &facts, &mut delivery, step);
        self.end_round(delivery.rate.prior_delivered);
        let event = AckEvent { slow_path: facts.data_sacked, window_update: window_updated, ece: facts.ece };
        self.controller.in_ack_event(&mut self.sk, event);

        let is_plain_duplicate = !facts.una_advanced && !input.has_data && !window_updated && prior.packets > 0;
        facts.duplicates = u32::from(is_plain_duplicate && !facts.dsack);
        step.stats.dupacks_received += u64::from(is_plain_duplicate);
        self.notice.on_ack(self.una, &facts, input.tcp.flags.eln());
        self.process_tail_probe_ack(input.ack, &facts, is_plain_duplicate, step);
        let is_dubious = is_plain_duplicate
            || facts.data_sacked
            || facts.dsack
            || facts.ece
            || self.sk.icsk_ca_state != CaState::Open;
        if is_dubious && (prior.packets > 0 || facts.dsack) {
            self.alert(&mut facts, step);
        }
        if facts.restarts_timer {
            self.restart_timer(step);
        }
        self.conclude(&facts, &mut delivery, prior);
    }

    /// What the controller sees of the timestamps.
    pub(super) fn note_stamps(&mut self, input: &AckInput) {
        if let (Some(stamps), Some(_)) = (input.tcp.options.timestamps, input.echo) {
            self.sk.rx_opt = RxOpt { saw_tstamp: true, rcv_tsval: stamps.value, rcv_tsecr: stamps.echo };
        }
    }

    /// The controller hears what was delivered and lost.
    fn conclude(&mut self, facts: &AckFacts, delivery: &mut Delivery, prior: Prior) {
        let (newly_delivered, newly_lost) = prior.until(&self.sk);
        if facts.ece {
            self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(newly_delivered);
        }
        let sample = delivery.finish(&mut self.sk, newly_delivered, newly_lost);
        self.tell_losses();
        if prior.packets > 0 {
            self.control_window(&sample, facts, newly_lost);
        }
        self.tune_buffer();
    }

    /// Takes an acknowledgment below `una`, which another one has overtaken: only what it reports selectively counts.
    #[cold]
    pub fn handle_old_ack(&mut self, input: AckInput, step: &mut Step) {
        let input = &input;
        if !self.follows_linux || !self.has_sack || input.tcp.options.sack.is_empty() {
            return;
        }
        self.sk.tcp_mstamp = step.now;
        let mut facts = self.facts_of(input);
        facts.ece = false;
        let mut delivery = self.delivery_of(&facts, input, step);
        self.take_blocks(input, &mut facts, &mut delivery, step);
        facts.original_delivered = self.is_original_delivered(&delivery);
        if let Some(newest) = delivery.newest {
            self.detector.on_delivered(newest);
        }
        self.alert(&mut facts, step);
        self.tell_losses();
    }

    fn delivery_of(&self, facts: &AckFacts, input: &AckInput, step: &Step) -> Delivery {
        let echo_age = facts.echo.map(|echo| input.clock.wrapping_sub(echo));
        Delivery::new(step.now, self.sk.rtt_min_us, facts.highest_before, echo_age)
    }

    /// Tells the detector of the round in which a duplicate was reported.
    pub(super) fn end_round(&mut self, prior_delivered: u32) {
        if self.round_due && prior_delivered != 0 {
            self.round_due = false;
            self.detector.on_round(prior_delivered, self.sk.delivered);
        }
    }

    /// What is known before anything is taken.
    pub(super) fn facts_of(&self, input: &AckInput) -> AckFacts {
        AckFacts {
            after_timeout: self.retransmits > 0,
            una_advanced: input.ack > self.una,
            ece: input.tcp.flags.ece() && self.ecn,
            echo: input.echo.filter(|echo| *echo != 0),
            prior_una: self.una,
            highest_before: self.board.highest_sacked(),
            ..AckFacts::default()
        }
    }

    /// The window the peer allows; says whether it changed.
    pub(super) fn take_window(&mut self, input: &AckInput, step: &mut Step) -> bool {
        let has_changed = self.peer.update(input.tcp.window, input.sequence, input.ack, self.una);
        self.note_heard(step);
        has_changed
    }

    /// Removes what is cumulatively acknowledged.
    fn take_cumulative(&mut self, facts: &mut AckFacts, delivery: &mut Delivery, step: &mut Step) {
        if !facts.una_advanced {
            return;
        }
        while let Some((sent, rate)) = self.board.pop_acknowledged(self.una, &mut self.sk) {
            if self.has_sack && !sent.has(mark::DELIVERED) {
                self.sk.delivered = self.sk.delivered.wrapping_add(1);
            }
            delivery.on_acked(&sent, &rate);
        }
        facts.acked = delivery.acked;
        self.board.forget_below(self.una);
        if !self.has_sack && delivery.acked > 0 {
            self.remove_reno_sacks(delivery.acked);
        }
        if let Some(lowest) = delivery.lowest_acked.filter(|lowest| *lowest < facts.highest_before && self.has_sack) {
            self.check_reordering(lowest);
        }
        self.release_buffer(facts.prior_una, step);
    }

    /// Everything from `prior_una` up to `una` is acknowledged: the buffer need not hold it.
    pub(super) fn release_buffer(&mut self, prior_una: u64, step: &mut Step) {
        let before = (prior_una - 1).min(self.buffer.written);
        let after = (self.una - 1).min(self.buffer.written);
        step.stats.bytes_acknowledged += after - before;
        self.buffer.acknowledge(after);
    }

    /// Without SACK, an acknowledgment that covers a retransmission does not say which part had arrived before.
    fn is_original_delivered(&self, delivery: &Delivery) -> bool {
        let is_known = self.has_sack || !delivery.resent_acked;
        is_known && delivery.lowest_original.is_some_and(|start| start < self.high_seq)
    }

    /// Feeds the estimator; returns true if the retransmission timer starts anew.
    fn take_round_trip(
        &mut self,
        input: &AckInput,
        facts: &AckFacts,
        delivery: &mut Delivery,
        step: &mut Step,
    ) -> bool {
        let (mut oldest, mut newest) = delivery.round_trips(step.now);
        // A SACK of data sent after the head says nothing for the head: its timer keeps running.
        let restarts = delivery.acked > 0
            || match (delivery.sack_times, self.board.head()) {
                (Some((first, _)), Some(head)) => first < head.sent_at,
                _ => false,
            };
        if oldest.is_none() && facts.una_advanced && delivery.acked > 0 {
            // Only retransmissions were acknowledged: the echoed clock tells which copy (RFC 7323 section 4).
            let echoed = facts.echo.map(|echo| input.clock.wrapping_sub(echo)).filter(|ms| (*ms as i32) >= 0);
            oldest = echoed.map(|ms| Duration::from_millis(u64::from(ms.max(1))));
            newest = newest.or(oldest);
        }
        delivery.rate.rtt_us = newest.map_or(-1, |rtt| rtt.as_micros().max(1) as i64);
        if let Some(rtt) = oldest {
            self.take_sample(rtt, newest.unwrap_or(rtt), step);
        }
        let pkts_acked = delivery.acked + delivery.sacked;
        if pkts_acked > 0 {
            let sample =
                AckSample { pkts_acked, rtt_us: delivery.rate.rtt_us, in_flight: delivery.rate.prior_in_flight };
            self.controller.pkts_acked(&mut self.sk, &sample);
        }
        restarts
    }

    /// Round trips of the oldest and the newest segment that was acknowledged.
    pub(super) fn take_sample(&mut self, oldest: Duration, newest: Duration, step: &mut Step) {
        self.rtt.on_sample(&mut self.sk, oldest, newest, self.una, self.nxt);
        count_one(&mut step.stats.rtt_samples);
        step.stats.latest_rtt = newest;
    }

    /// The view a loss detector gets.
    pub(super) fn ack_view(&self, facts: &AckFacts, step: &Step) -> AckView {
        AckView {
            now: step.now,
            una_advanced: facts.una_advanced,
            duplicate: !facts.una_advanced && (facts.duplicates > 0 || facts.data_sacked),
            repeat_after: self.repeat_after.unwrap_or(self.sk.snd_cwnd),
        }
    }
}
