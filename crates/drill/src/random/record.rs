//! Makes a trace: our TCP on both ends of a [`Path`], in virtual time.

use super::host::{Cause, Host, Sender, To, opening};
use super::path::Path;
use super::setting::{Setting, Traffic};
use super::trace::Trace;
use airtcp_core::{Duration, Instant, Packet, Rng};
use airtcp_tcp::congestion::find;
use airtcp_tcp::{Config, Connection};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Full payload without and with timestamps, so that what is written fills its segments.
const FULL: (u64, u64) = (1460, 1448);
/// A trace ends with its data, or so long after it began.
const LONGEST: Duration = Duration::from_secs(4);
/// How long after its last event a trace waits for more.
const REST: Duration = Duration::from_millis(60);

/// Makes the trace of `setting` as `host` sends it.
pub fn record(setting: &Setting, host: Host) -> Trace {
    let mut recorder = Recorder::new(setting, host);
    recorder.run();
    recorder.sender.trace
}

/// How our sender is configured for `setting`: it sends segments one by one, and what acknowledges is no part of a trace.
pub fn config_of(setting: &Setting, host: Host) -> Config {
    let mut config = Config { auto_read: true, jiffy: host.jiffy, ..Config::without_habits() };
    (config.timestamps, config.sack, config.ecn) = (setting.timestamps, setting.sack, setting.ecn);
    if let Ok(controller) = find(setting.controller, &[]) {
        config.controller = controller.into();
    }
    config
}

struct Recorder {
    sender: Sender,
    peer: Connection,
    path: Path,
    flying: BinaryHeap<Reverse<(Instant, usize, To)>>,
    packets: Vec<Option<Packet>>,
    /// When who writes how much; the last first.
    writes: Vec<(Instant, To, u64)>,
}

impl Recorder {
    fn new(setting: &Setting, host: Host) -> Recorder {
        let config = config_of(setting, host);
        let peer = Config { controller: Config::default().controller, jiffy: None, ..config.clone() };
        Recorder {
            sender: Sender::new(&config, host, Trace::of(setting, host.jiffy.unwrap_or(Duration::ZERO))),
            peer: Connection::connect(&opening(&peer, To::Peer), Instant::ZERO),
            path: Path::new(setting),
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            writes: writes(setting),
        }
    }

    fn run(&mut self) {
        self.flush(Cause::Arrival);
        while let Some((at, is_timer)) = self.next() {
            let is_over = self.writes.is_empty() && self.sender.is_idle();
            let end = if is_over { self.sender.last_event + REST } else { Instant::ZERO + LONGEST };
            if at > end {
                return;
            }
            self.sender.now = self.sender.now.max(at);
            if is_timer {
                self.handle_timeouts();
            } else if self.flying.peek().is_some_and(|Reverse((arrival, ..))| *arrival == at) {
                self.arrive(at);
            } else if let Some((_, to, bytes)) = self.writes.pop() {
                self.write(to, bytes);
            }
        }
    }

    /// When something happens next, and whether that is a timer.
    fn next(&self) -> Option<(Instant, bool)> {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let write = self.writes.last().map(|(at, ..)| *at);
        let timer = self.sender.deadline().into_iter().chain(self.peer.poll_timeout()).min();
        let event = arrival.into_iter().chain(write).min();
        match (event, timer) {
            (Some(event), Some(timer)) if timer < event => Some((timer, true)),
            (Some(event), _) => Some((event, false)),
            (None, timer) => timer.map(|timer| (timer, true)),
        }
    }

    fn handle_timeouts(&mut self) {
        self.peer.handle_timeout(self.sender.now);
        let acts = self.sender.handle_timeout();
        self.flush(Cause::Timer);
        if acts {
            self.sender.note_state();
        }
    }

    fn write(&mut self, to: To, bytes: u64) {
        if to == To::Peer {
            self.peer.write_virtual(bytes);
        } else if !self.sender.write(bytes) {
            self.writes.push((self.sender.now + REST, To::Sender, bytes));
        }
        self.flush(Cause::Write);
    }

    /// Everything that arrives at `at`: at the peer before it answers, at the sender one by one.
    fn arrive(&mut self, at: Instant) {
        while let Some(Reverse((arrival, index, to))) = self.flying.peek().copied().filter(|next| next.0.0 == at) {
            self.flying.pop();
            let Some(packet) = self.packets[index].take() else { continue };
            match to {
                To::Peer => self.peer.handle_segment(arrival, &packet),
                To::Sender => {
                    self.sender.arrive(packet);
                    self.flush(Cause::Arrival);
                    self.sender.note_arrived();
                }
            }
        }
        self.flush(Cause::Arrival);
    }

    /// Sends what both ends have to send.
    fn flush(&mut self, cause: Cause) {
        while let Some((now, mut packet)) = self.sender.poll(cause) {
            for at in self.path.data(now, &mut packet) {
                self.fly(at, packet.clone(), To::Peer);
            }
        }
        while let Some(packet) = self.peer.poll_transmit(self.sender.now) {
            if let Some(at) = self.path.answer(self.sender.now, &packet) {
                self.fly(at, packet, To::Sender);
            }
        }
    }

    fn fly(&mut self, at: Instant, packet: Packet, to: To) {
        self.flying.push(Reverse((at, self.packets.len(), to)));
        self.packets.push(Some(packet));
    }
}

/// When who writes how much, the last first.
fn writes(setting: &Setting) -> Vec<(Instant, To, u64)> {
    let mut rng = Rng::derive(setting.seed, "writes");
    let full = if setting.timestamps { FULL.1 } else { FULL.0 };
    let begin = Instant::ZERO + setting.round_trip.saturating_mul(2);
    let mut writes = vec![(begin, To::Sender, setting.segments * full)];
    match setting.traffic {
        Traffic::Bulk => {}
        Traffic::Short => {
            let mut at = begin;
            for _ in 0..3 {
                at += Duration::from_millis(5 + rng.below(500));
                writes.push((at, To::Sender, (1 + rng.below(setting.segments)) * full));
            }
        }
        Traffic::Both => {
            for _ in 0..3 {
                let at = begin + setting.round_trip.saturating_mul(rng.below(5)) + Duration::from_millis(1);
                writes.push((at, To::Peer, (1 + rng.below(10)) * full));
            }
        }
    }
    writes.sort_by_key(|(at, ..)| Reverse(*at));
    writes
}
