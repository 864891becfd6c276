//! Probes between the two ends of a hop, and what became of them: sends them, takes the answers, keeps the count.
//!
//! The other end is a running gateway, or `airtcp probe --listen`; both answer [`Probe`]s. An answer says how many probes came
//! there before, so what was lost on the way out is told from answers that were lost on the way back.

use super::evidence::{Hop, count_burst};
use super::waiting::Waiting;
use crate::gateway::control::{Key, Probe, Secret};
use crate::sys::hop_limit_socket::HopLimitSocket;
use crate::sys::{clock, entropy, interface};
use airtcp_core::{Duration, Instant};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of UDP's content in a short probe.
pub const SHORT: usize = 56;
/// The same in a long one.
pub const LONG: usize = 1200;
/// Headers of IP and UDP.
const HEADERS: [u64; 2] = [28, 48];
/// An answer that has not come by then was lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// Probes whose fate is open; of more the oldest is given up.
const OPEN: usize = 4096;
/// A train that came in within less tells no rate: clocks and schedulers are no better.
const LEAST_SPREAD_NS: u64 = 500_000;

/// Sends probes to one peer.
pub struct Prober {
    socket: HopLimitSocket,
    peer: SocketAddr,
    test: u64,
    key: Option<Key>,
    /// Number of the first that is open.
    first: u32,
    open: VecDeque<Sent>,
    log: Log,
    /// Rates of trains, in bit/s.
    rates: Vec<f64>,
    train: Option<Train>,
    is_answered: bool,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Sent {
    at: Instant,
    answer: Option<Answer>,
    /// It was in a train, which makes a queue of its own: it tells a rate, not a loss.
    is_train: bool,
}

#[derive(Clone, Copy)]
struct Answer {
    round_trip: Duration,
    order: u32,
}

/// Long probes that left at once: their numbers, and when the first and the last came in by the other end's clock.
struct Train {
    from: u32,
    to: u32,
    came: Option<(u64, u64)>,
    count: u64,
}

impl Prober {
    /// Opens a socket for probes to `peer`, through the interface `link` if it is given.
    ///
    /// # Errors
    /// No such interface, or the system's.
    pub fn start(peer: SocketAddr, secret: Option<&Secret>, link: Option<&str>) -> io::Result<Prober> {
        let any: IpAddr = if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = HopLimitSocket::bind(SocketAddr::new(any, 0))?;
        socket.bind_device(link.and_then(interface::ip_interface).as_deref())?;
        let test = u64::from_be_bytes(entropy::bytes()?);
        let key = secret.map(|secret| secret.test_key(test));
        let (open, log, rates) = (VecDeque::new(), Log::default(), Vec::new());
        Ok(Prober { socket, peer, test, key, first: 0, open, log, rates, train: None, is_answered: false, bytes: 0 })
    }

    /// Sends a probe of so many bytes of UDP's content. What cannot be sent is not answered.
    pub fn send(&mut self, length: usize) {
        self.send_one(length, false);
    }

    fn send_one(&mut self, length: usize, is_train: bool) {
        let probe = Probe { test: self.test, number: self.next(), ..Probe::default() };
        let datagram = probe.encode(self.key.as_ref(), length);
        if self.open.len() == OPEN {
            self.settle_first();
        }
        self.open.push_back(Sent { at: clock::now(), answer: None, is_train });
        self.bytes += datagram.len() as u64 + HEADERS[usize::from(self.peer.is_ipv6())];
        let _ = self.socket.send_to(&datagram, self.peer);
    }

    /// Sends so many long probes at once.
    pub fn send_train(&mut self, count: usize) {
        self.end_train();
        let from = self.next();
        (0..count).for_each(|_| self.send_one(LONG, true));
        self.train = Some(Train { from, to: self.next(), came: None, count: 0 });
    }

    fn next(&self) -> u32 {
        self.first.wrapping_add(self.open.len() as u32)
    }

    /// Takes the answers that have come, and settles what is too old.
    pub fn take(&mut self) {
        let mut buffer = [0; 2048];
        loop {
            match self.socket.receive(&mut buffer) {
                Ok(arrival) => self.answer(&buffer[..arrival.length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An ICMP error: nobody is there.
                Err(_) => {}
            }
        }
        let now = clock::now();
        while let Some(sent) = self.open.front() {
            if sent.answer.is_none() && now.saturating_since(sent.at) < PATIENCE {
                break;
            }
            self.settle_first();
        }
    }

    fn answer(&mut self, datagram: &[u8]) {
        let Some(answer) = Probe::decode(datagram).filter(|one| one.is_answer && one.test == self.test) else { return };
        if self.key.as_ref().is_some_and(|key| !Probe::is_authentic(datagram, key)) {
            return;
        }
        let place = answer.number.wrapping_sub(self.first) as usize;
        let Some(sent) = self.open.get_mut(place).filter(|sent| sent.answer.is_none()) else { return };
        let round_trip = clock::now().saturating_since(sent.at);
        sent.answer = Some(Answer { round_trip, order: answer.order });
        self.is_answered = true;
        if let Some(train) = self.train.as_mut().filter(|train| (train.from..train.to).contains(&answer.number)) {
            let at = answer.at_ns;
            train.came = Some(train.came.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
            train.count += 1;
        }
    }

    fn settle_first(&mut self) {
        if let Some(sent) = self.open.pop_front() {
            self.first = self.first.wrapping_add(1);
            match sent.is_train {
                true => self.log.pass_over(sent.answer),
                false => self.log.settle(sent.answer),
            }
        }
    }

    fn end_train(&mut self) {
        let Some(Train { came: Some((first, last)), count, .. }) = self.train.take() else { return };
        if last - first >= LEAST_SPREAD_NS && count >= 2 {
            let bits = (count - 1) * (LONG as u64 + HEADERS[usize::from(self.peer.is_ipv6())]) * 8;
            self.rates.push(bits as f64 * 1e9 / (last - first) as f64);
        }
    }

    /// True once an answer came.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// What became of the probes that are settled; `None` if nobody answers.
    pub fn hop(&mut self) -> Option<Hop> {
        self.end_train();
        let rate_bps = median(&mut self.rates);
        self.is_answered.then(|| Hop { rate_bps, bytes: self.bytes, ..self.log.hop() })
    }
}

impl AsFd for Prober {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn median(rates: &mut [f64]) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}

/// What became of probes, one after the other.
#[derive(Default)]
struct Log {
    hop: Hop,
    waiting: Waiting,
    waits: (f64, u64),
    /// The order of the last that was answered, and how many were not since.
    last: Option<u32>,
    missing: u32,
}

impl Log {
    /// One whose fate is not counted.
    fn pass_over(&mut self, answer: Option<Answer>) {
        if let Some(Answer { order, .. }) = answer {
            (self.last, self.missing) = (Some(order), 0);
        }
    }

    fn settle(&mut self, answer: Option<Answer>) {
        let Some(Answer { round_trip, order }) = answer else {
            self.missing = self.missing.saturating_add(1);
            return;
        };
        if let Some(wait) = self.waiting.take(round_trip) {
            let ms = wait.as_nanos() as f64 / 1e6;
            self.waits = (self.waits.0 + ms, self.waits.1 + 1);
            self.hop.longest_wait_ms = self.hop.longest_wait_ms.max(ms);
        }
        let (missing, last) = (std::mem::take(&mut self.missing), self.last.replace(order));
        // Before the first answer nobody may have listened.
        let Some(last) = last else { return };
        // What came there in another order says nothing of what did not come.
        let came = order.wrapping_sub(last).wrapping_sub(1);
        let came = if came > u32::MAX / 2 { 0 } else { came.min(missing) };
        let lost = missing - came;
        self.hop.sent += u64::from(missing) + 1;
        self.hop.lost += u64::from(lost);
        self.hop.answers_lost += u64::from(came);
        if self.waiting.is_queue() {
            self.hop.lost_in_queue += u64::from(lost);
        }
        count_burst(&mut self.hop.bursts, lost);
    }

    fn hop(&self) -> Hop {
        let shortest = self.waiting.shortest().map_or(0.0, |shortest| shortest.as_nanos() as f64 / 1e6);
        Hop { round_trip_ms: shortest, wait_ms: self.waits.0 / self.waits.1.max(1) as f64, ..self.hop.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settled(orders: &[Option<u32>]) -> Hop {
        let mut log = Log::default();
        let round_trip = Duration::from_millis(20);
        orders.iter().for_each(|order| log.settle(order.map(|order| Answer { round_trip, order })));
        log.hop()
    }

    #[test]
    fn probes_that_are_lost_are_told_from_answers_that_are() {
        // Two did not come; the answers to two that came did not; and one that is open at the end is not counted.
        let hop = settled(&[None, Some(7), None, None, Some(8), None, None, Some(11), None]);
        assert_eq!((hop.sent, hop.lost, hop.answers_lost), (6, 2, 2));
        assert_eq!((hop.bursts[1], hop.round_trip_ms), (1, 20.0));
    }

    #[test]
    fn what_a_train_loses_is_not_counted() {
        let mut log = Log::default();
        let answer = |order| Some(Answer { round_trip: Duration::from_millis(20), order });
        [answer(1), None, answer(3), None].into_iter().for_each(|answer| log.pass_over(answer));
        [answer(4), None, answer(5)].into_iter().for_each(|answer| log.settle(answer));
        assert_eq!((log.hop().sent, log.hop().lost), (3, 1));
    }

    #[test]
    fn a_rate_is_the_median_of_trains() {
        assert_eq!(median(&mut [3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(median(&mut []), None);
    }

    proptest! {
        /// Whatever the other end claims.
        #[test]
        fn no_orders_are_too_strange(orders in prop::collection::vec(any::<Option<u32>>(), 0..100)) {
            let hop = settled(&orders);
            prop_assert!(hop.lost + hop.answers_lost <= hop.sent && hop.sent <= orders.len() as u64);
        }
    }
}
