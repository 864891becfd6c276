//! The acknowledgments that nearly all are: one covers segments that were sent once, and nothing is lost, reported or sent again;
//! the other says nothing but that one more segment has arrived behind a hole. Van Jacobson's header prediction, for a sender
//! (Linux has it in `tcp_rcv_established()`).

use super::ack::{AckFacts, Prior};
use super::{AckInput, Sender, Step};
use crate::congestion::{AckEvent, AckSample, CaState};
use crate::recovery::Newest;
use airtcp_core::count_one;

impl Sender {
    /// Takes an acknowledgment above `una` that makes progress and does nothing else; false, and nothing has happened, if it is
    /// another.
    ///
    /// This is what [`Sender::handle_ack`] does then, step by step, without what cannot matter: no segment is marked, so no
    /// count of marks changes; the state is Open, so nothing is alerted, reduced or undone; no closed window is probed, so it does
    /// not matter that the segments are gone before the window is seen; a controller that does not set its
    /// window by delivery rates does not see the sample of the rate. A test compares the two.
    #[inline]
    pub(super) fn take_progress(&mut self, input: &AckInput, step: &mut Step) -> bool {
        if !self.is_plain_progress(input) {
            return false;
        }
        let in_flight = self.sk.packets_out;
        let Some(plain) = self.board.pop_plain(input.ack, &mut self.sk) else { return false };
        self.sk.tcp_mstamp = step.now;
        self.note_stamps(input);
        let window_update = self.take_window(input, step);
        self.head_due = false;
        let prior_una = core::mem::replace(&mut self.una, input.ack);
        self.sk.delivered = self.sk.delivered.wrapping_add(plain.count);
        self.release_buffer(prior_una, step);
        self.probe.due &= !self.board.is_empty();
        let newest = step.now.saturating_since(plain.last_sent_at);
        self.detector.on_delivered(Newest { order: plain.order, rtt: newest });
        self.sync_sequence();
        self.take_sample(step.now.saturating_since(plain.first_sent_at), newest, step);
        let rtt_us = newest.as_micros().max(1) as i64;
        self.controller.pkts_acked(&mut self.sk, &AckSample { pkts_acked: plain.count, rtt_us, in_flight });
        self.end_round(plain.delivered);
        self.controller.in_ack_event(&mut self.sk, AckEvent { slow_path: false, window_update, ece: false });
        self.notice.on_progress();
        self.restart_timer(step);
        self.sk.forget_app_limited();
        self.sk.delivered_mstamp = step.now;
        // Without the order the long way does not know which segment was sent last, either.
        if plain.order > 0 {
            self.sk.first_tx_mstamp = plain.last_sent_at;
        }
        self.grow_window(plain.count, plain.count);
        self.update_pacing_rate();
        self.tune_buffer();
        true
    }

    /// Whether an acknowledgment can be no more than progress; what it covers may yet tell otherwise.
    fn is_plain_progress(&self, input: &AckInput) -> bool {
        let sk = &self.sk;
        sk.icsk_ca_state == CaState::Open
            && sk.sacked_out | sk.lost_out | sk.retrans_out | self.retransmits == 0
            && self.is_plain(input)
    }

    /// Takes one at `una` that is a duplicate and says nothing more, as most that come while a loss is repaired; false, and nothing has happened,
    /// if the acknowledgment is another.
    ///
    /// It delivers nothing that is known of, so nothing is measured; what it does to the state of recovery it does as any other.
    #[inline]
    pub(super) fn take_plain_duplicate(&mut self, input: &AckInput, step: &mut Step) -> bool {
        if !self.is_plain_duplicate(input) {
            return false;
        }
        let prior = Prior::of(&self.sk);
        self.sk.tcp_mstamp = step.now;
        self.note_stamps(input);
        let mut facts = AckFacts { duplicates: 1, ..self.facts_of(input) };
        self.controller.in_ack_event(&mut self.sk, AckEvent::default());
        count_one(&mut step.stats.dupacks_received);
        self.notice.on_ack(self.una, &facts, false);
        self.alert_of_duplicate(&mut facts, step);
        self.sk.forget_app_limited();
        let (delivered, lost) = prior.until(&self.sk);
        if delivered > 0 {
            self.sk.delivered_mstamp = step.now;
        }
        self.tell_losses();
        if self.sk.tcp_in_cwnd_reduction() {
            self.reduce_window(delivered, lost, false);
        }
        self.update_pacing_rate();
        self.tune_buffer();
        true
    }

    /// Whether an acknowledgment is a duplicate and nothing else.
    fn is_plain_duplicate(&self, input: &AckInput) -> bool {
        input.ack == self.una
            && !input.has_data
            && self.sk.packets_out > 0
            && !self.peer.is_news(input.tcp.window, input.sequence)
            && self.is_plain(input)
    }

    /// Whether an acknowledgment reports nothing selectively and no mark, answers no probe, and is for no controller that sets
    /// its window by delivery rates.
    #[inline]
    fn is_plain(&self, input: &AckInput) -> bool {
        #[cfg(test)]
        if self.is_thorough {
            return false;
        }
        input.tcp.options.sack.is_empty()
            && !(input.tcp.flags.ece() || input.tcp.flags.eln())
            && self.probe.outstanding().is_none()
            && !self.probing.is_active
            && !self.has_cong_control
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::connection::{Connection, Endpoint, Opening};
    use crate::stream::Stream;
    use airtcp_core::parameters::Parameters;
    use airtcp_core::{Duration, Ecn, Instant, Packet, Rng, SeqNum};
    use std::collections::VecDeque;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    const CONTROLLERS: [&str; 6] = ["reno", "cubic", "dctcp", "westwood", "vegas", "bbr"];
    const RECOVERIES: [&str; 4] = ["newreno", "sack", "rack", "reno"];

    fn config(rng: &mut Rng) -> Config {
        let mut config = if rng.below(2) == 0 { Config::default() } else { Config::without_habits() };
        let mut set = |key: &str, value: &str| config.set(key, &value.into()).unwrap();
        set("controller", CONTROLLERS[rng.below(6) as usize]);
        set("recovery", RECOVERIES[rng.below(4) as usize]);
        set("byte_counting", ["delivered", "acknowledged", "off"][rng.below(3) as usize]);
        for key in ["sack", "timestamps", "ecn", "tail_loss_probe"] {
            set(key, if rng.below(2) == 0 { "true" } else { "false" });
        }
        set("delayed_ack_segments", if rng.below(2) == 0 { "1" } else { "2" });
        set("receive_buffer", ["6MiB", "4kB"][rng.below(2) as usize]);
        config
    }

    /// Both ends of a connection and what is on its way from each to the other.
    struct Pair {
        ends: [Connection; 2],
        ways: [VecDeque<(Instant, Packet)>; 2],
        is_thorough: bool,
    }

    impl Pair {
        fn new(config: &Config, is_thorough: bool) -> Pair {
            let at = |last| Endpoint { address: std::net::Ipv4Addr::new(10, 0, 0, last).into(), port: 1000 };
            let opening = |local, remote, id| Opening {
                config: config.clone(),
                local: at(local),
                remote: at(remote),
                initial_sequence: SeqNum(u32::MAX - 20_000),
                timestamp_offset: 7,
                source: Stream::Virtual { id },
            };
            let mut client = Connection::connect(&opening(1, 2, 0), Instant::ZERO);
            let syn = client.poll_transmit(Instant::ZERO).unwrap();
            let mut server = Connection::accept(&opening(2, 1, 1), &syn, Instant::ZERO).unwrap();
            // What the server gets it reads now and then, so that its window closes.
            client.set_auto_read(true);
            for end in [&mut client, &mut server] {
                end.set_thorough(is_thorough);
            }
            Pair { ends: [client, server], ways: Default::default(), is_thorough }
        }

        /// Everything that leaves by `now` gets on its way, where some is lost, marked, doubled or overtaken.
        fn send(&mut self, now: Instant, rng: &mut Rng) {
            // Now and then all is lost, so that a timer runs out.
            let is_out = rng.below(150) == 0;
            for (end, way) in self.ends.iter_mut().zip(&mut self.ways) {
                let mut packets = Vec::new();
                if self.is_thorough {
                    packets.extend(core::iter::from_fn(|| end.poll_transmit(now)));
                } else {
                    end.transmit(now, &mut |packet| packets.push(packet));
                }
                for mut packet in packets {
                    let fate = if is_out { 0 } else { rng.below(100) };
                    if fate == 0 {
                        continue;
                    }
                    if fate == 1 && packet.ip().ecn() != Ecn::NotEct {
                        packet.set_ecn(Ecn::Ce);
                    }
                    let at = now + Duration::from_millis(10 + if fate == 2 { 7 } else { 0 });
                    way.extend((fate == 3).then(|| (at, packet.clone())));
                    let place = way.partition_point(|(other, _)| *other <= at);
                    way.insert(place, (at, packet));
                }
            }
        }

        /// The next time at which something arrives or runs out.
        fn next(&self) -> Option<Instant> {
            let arrivals = self.ways.iter().filter_map(|way| way.front().map(|(at, _)| *at));
            arrivals.chain(self.ends.iter().filter_map(Connection::poll_timeout)).min()
        }

        fn step(&mut self, now: Instant) {
            for (from, to) in [(0, 1), (1, 0)] {
                if let Some((_, packet)) = self.ways[from].pop_front_if(|(at, _)| *at <= now) {
                    self.ends[to].handle_segment(now, &packet);
                }
                if self.ends[to].poll_timeout().is_some_and(|at| at <= now) {
                    self.ends[to].handle_timeout(now);
                }
            }
        }

        fn state(&self) -> String {
            format!("{:?} {:?}", self.ends, self.ways).replace("is_thorough: true", "is_thorough: false")
        }
    }

    #[test]
    fn the_short_way_and_the_long_one_come_to_the_same() {
        let (mut acknowledged, mut probes) = (0, 0);
        for seed in 0..50 {
            let mut rng = Rng::derive(seed, "progress");
            let config = config(&mut rng);
            let mut pairs = [Pair::new(&config, false), Pair::new(&config, true)];
            let mut draws = [rng.clone(), rng.clone()];
            let mut now = Instant::ZERO;
            for step in 0..700 {
                let [short, long] = [0, 1].map(|which: usize| {
                    let (pair, rng) = (&mut pairs[which], &mut draws[which]);
                    // In a sixth of the time there is nothing to send.
                    let offered = if step % 120 < 100 { [0, 100, 3000, 100_000][rng.below(4) as usize] } else { 0 };
                    pair.ends[0].write_virtual(offered);
                    pair.ends[1].write_virtual(if seed % 2 == 0 && rng.below(10) == 0 {
                        [500, 30_000][rng.below(2) as usize]
                    } else {
                        0
                    });
                    while rng.below(3) == 0 && pair.ends[1].read(30_000).is_some() {}
                    if step == 650 {
                        pair.ends[0].shutdown();
                    }
                    pair.send(now, rng);
                    pair.next()
                });
                assert_eq!(short, long);
                now = now.max(short.unwrap_or(now + Duration::from_secs(2)));
                pairs.iter_mut().for_each(|pair| pair.step(now));
                if step % 4 == 0 {
                    let [short, long] = [0, 1].map(|which: usize| pairs[which].state());
                    assert_eq!(short, long, "seed {seed}, step {step}");
                }
            }
            let stats = pairs[0].ends[0].stats();
            (acknowledged, probes) = (acknowledged + stats.bytes_acknowledged, probes + stats.window_probes);
        }
        assert!(acknowledged > 1_000_000 && probes > 100, "{acknowledged} bytes, {probes} probes");
    }
}
