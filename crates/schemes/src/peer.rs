//! The other end of a two-ended scheme: is it there, is it still the same one, how far is it?

use airtcp_core::parameters::ParameterError;
use airtcp_core::{Acquaintance, Context, Duration, Event, Instant, Peer as PeerId};
use alloc::format;
use alloc::vec::Vec;

/// Distance of the first two HELLOs; doubles up to the configured one while nobody answers.
const FIRST_SEARCH: Duration = Duration::from_millis(5);
/// Round-trip samples kept for the minimum filter.
const SAMPLES: usize = 16;

/// HELLOs closer together are a mistake; without any distance they would never end.
const SHORTEST_HELLO: Duration = Duration::from_millis(1);
/// Where a link's rate keeps HELLOs apart, the other end counts as gone after so many that were not heard.
/// Argued, not swept: a link that loses a tenth loses so many in a row once in ten thousand.
const MISSED: u64 = 4;

/// Refuses parameters `hello` and `peer_timeout` that stop time, or take the other end for gone between two HELLOs.
///
/// # Errors
/// What to write instead.
pub(crate) fn check_distance(hello: Duration, peer_timeout: Duration) -> Result<(), ParameterError> {
    if hello < SHORTEST_HELLO {
        return Err(ParameterError::bad(
            "hello",
            format!("{hello} leaves no time for anything else; write {SHORTEST_HELLO} or more"),
        ));
    }
    if peer_timeout < hello * 2 {
        return Err(ParameterError::bad(
            "peer_timeout",
            format!("{peer_timeout} ends between two HELLOs, {hello} apart; write {} or more", hello * 2),
        ));
    }
    Ok(())
}

/// What one end knows of the other.
#[derive(Debug)]
pub(crate) struct Peer {
    epoch: u64,
    /// As configured.
    wanted: (Duration, Duration),
    hello_every: Duration,
    timeout: Duration,
    next_hello: Instant,
    /// Distance of the HELLOs while the other end is not in reach: short at first.
    searching: Duration,
    /// Epoch, stamp and time of the last HELLO heard.
    last_hello: Option<(u64, u64, Instant)>,
    last_heard: Option<Instant>,
    /// When the latest of our HELLOs left that the other end has heard.
    echoed: Instant,
    in_reach: bool,
    configured_rtt: Option<Duration>,
    samples: [Duration; SAMPLES],
    sample_count: usize,
    /// Answers in a row that took longer than the other end may be silent.
    late: u32,
}

/// I am here, this is my epoch; measures the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Drawn at start; a new one means that the sender forgot everything.
    pub epoch: u64,
    /// Sender's clock.
    pub stamp: u64,
    /// The last stamp heard from the other side, 0 for none.
    pub echo: u64,
    /// How long ago that was, in ns.
    pub held: u64,
}

impl Hello {
    /// Appends the four numbers, big endian.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for word in [self.epoch, self.stamp, self.echo, self.held] {
            out.extend(word.to_be_bytes());
        }
    }

    /// Takes the four numbers off the front of `rest`.
    pub(crate) fn read(rest: &mut &[u8]) -> Option<Hello> {
        let mut word = || {
            let (head, tail) = rest.split_first_chunk()?;
            *rest = tail;
            Some(u64::from_be_bytes(*head))
        };
        Some(Hello { epoch: word()?, stamp: word()?, echo: word()?, held: word()? })
    }
}

/// What a HELLO changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing of importance.
    None,
    /// The other end came into reach.
    Up,
    /// The other end restarted: whatever it promised is forgotten.
    Restarted,
}

/// So many answers in a row that took too long are no outage that is just over.
const TOO_FAR_AFTER: u32 = 3;
/// What the operator is told then.
const TOO_FAR: &str = "the other end answers, but each answer takes longer than `peer_timeout`, after which it counts as gone: write a longer one, \
                       at both ends";

/// What a timeout led to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tick {
    /// A HELLO to send now.
    pub hello: Option<Hello>,
    /// The other end has just fallen silent.
    pub fell_silent: bool,
}

impl Peer {
    /// An end of this epoch that sends HELLO every `hello_every` and counts the other as gone after
    /// `timeout` of silence; their round trip is measured unless it is configured.
    pub fn new(hello_every: Duration, timeout: Duration, configured_rtt: Option<Duration>, epoch: u64) -> Self {
        Peer {
            epoch,
            wanted: (hello_every, timeout),
            hello_every,
            timeout,
            next_hello: Instant::ZERO,
            searching: FIRST_SEARCH,
            last_hello: None,
            last_heard: None,
            echoed: Instant::ZERO,
            in_reach: false,
            configured_rtt,
            samples: [Duration::MAX; SAMPLES],
            sample_count: 0,
            late: 0,
        }
    }

    /// Is to the other end who an element before this one was, and takes that end to be in reach until it is silent for too long.
    pub fn inherit(&mut self, cx: &mut Context<'_>, acquaintance: &Acquaintance) {
        self.epoch = acquaintance.epoch;
        (self.samples[0], self.sample_count) = (acquaintance.round_trip, 1);
        (self.last_heard, self.in_reach) = (Some(cx.now()), true);
        cx.emit(Event::PEER_UP);
    }

    /// Says HELLO as often from now on as `next` would, a fresh one, and waits as long.
    pub fn adopt(&mut self, next: &Peer) {
        if self.wanted != next.wanted {
            // The other end may be told the same at the same time.
            self.next_hello = Instant::ZERO;
        }
        (self.wanted, self.configured_rtt) = (next.wanted, next.configured_rtt);
        self.keep_distance(Duration::ZERO);
    }

    /// The other end answers and its distance is known: repairs can work.
    pub fn in_reach(&self) -> bool {
        self.in_reach
    }

    /// What the operator should know.
    pub fn advice(&self) -> Option<&'static str> {
        (!self.in_reach && self.late >= TOO_FAR_AFTER).then_some(TOO_FAR)
    }

    /// Round trip between the ends: configured, or the least of the latest samples.
    pub fn rtt(&self) -> Duration {
        let measured = self.samples.iter().min().copied().filter(|least| *least < Duration::MAX);
        self.configured_rtt.or(measured).unwrap_or(Duration::from_millis(10))
    }

    /// When the latest of our HELLOs left that the other end has heard, as far as it has said so.
    pub fn echoed(&self) -> Instant {
        self.echoed
    }

    /// This end's epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The other end's epoch, once it was heard.
    pub fn other_epoch(&self) -> Option<u64> {
        self.last_hello.map(|(epoch, ..)| epoch)
    }

    /// Reads a message. Any that is valid and the other end's shows that it is there; others are counted.
    pub fn hear<M>(
        &mut self,
        cx: &mut Context<'_>,
        from: PeerId,
        bytes: &[u8],
        decode: impl FnOnce(&[u8]) -> Option<M>,
    ) -> Option<M> {
        let message = decode(bytes).filter(|_| from == PeerId::OTHER_END);
        match message {
            Some(_) => self.last_heard = Some(cx.now()),
            None => cx.emit(Event::CONTROL_MALFORMED),
        }
        message
    }

    pub fn on_hello(&mut self, cx: &mut Context<'_>, hello: &Hello) -> Change {
        let now = cx.now();
        let restarted = self.last_hello.is_some_and(|(epoch, ..)| epoch != hello.epoch);
        self.last_hello = Some((hello.epoch, hello.stamp, now));
        self.echoed = self.echoed.max(Instant::from_nanos(hello.echo.min(now.as_nanos())));
        let is_sample = self.take_sample(now, hello);
        if restarted {
            cx.emit(Event::PEER_RESTART);
        }
        // Whoever has not heard us yet need not wait for the next HELLO to hear us; nor need we. Behind a round trip
        // that is too long to count, two ends that both answer at once would do nothing else.
        if hello.echo == 0 || !self.in_reach && (is_sample || self.configured_rtt.is_some()) {
            self.next_hello = self.next_hello.min(now);
        }
        if !self.in_reach && (self.sample_count > 0 || self.configured_rtt.is_some()) {
            self.in_reach = true;
            cx.emit(Event::PEER_UP);
            return Change::Up;
        }
        if restarted { Change::Restarted } else { Change::None }
    }

    /// Takes the round trip that an echo tells. False if there is no echo, or if it took longer than the other end may
    /// be silent: that tells of an outage.
    fn take_sample(&mut self, now: Instant, hello: &Hello) -> bool {
        let sample = now.as_nanos().checked_sub(hello.echo).and_then(|t| t.checked_sub(hello.held));
        let Some(sample) = sample.filter(|_| hello.echo != 0) else { return false };
        if sample >= self.timeout.as_nanos() {
            self.late = self.late.saturating_add(1);
            return false;
        }
        self.late = 0;
        self.samples[self.sample_count % SAMPLES] = Duration::from_nanos(sample);
        self.sample_count += 1;
        true
    }

    /// HELLOs are at least so far apart from now on, because of the link's rate. The other end counts as gone no sooner than after
    /// [`MISSED`] of them: some may be lost.
    pub fn keep_distance(&mut self, least: Duration) {
        self.hello_every = self.wanted.0.max(least);
        self.timeout = self.wanted.1.max(least * MISSED);
    }

    /// Says HELLO when due.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>) -> Tick {
        let now = cx.now();
        let mut tick = Tick::default();
        if now >= self.next_hello {
            let distance = if self.in_reach { self.hello_every } else { self.searching };
            self.searching = (self.searching * 2).min(self.hello_every);
            self.next_hello = now + distance;
            let (echo, held) =
                self.last_hello.map_or((0, 0), |(_, stamp, at)| (stamp, now.saturating_since(at).as_nanos()));
            let hello = Hello { epoch: self.epoch, stamp: now.as_nanos().max(1), echo, held };
            tick.hello = Some(hello);
        }
        let silent = self.last_heard.is_none_or(|heard| now.saturating_since(heard) >= self.timeout);
        if silent {
            self.late = 0;
        }
        if self.in_reach && silent {
            self.in_reach = false;
            self.searching = FIRST_SEARCH;
            cx.emit(Event::PEER_DOWN);
            tick.fell_silent = true;
        }
        tick
    }

    /// HELLO also paces the check for silence, so one deadline is enough.
    pub fn poll_timeout(&self) -> Instant {
        self.next_hello
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_behind_a_slow_link_is_gone_after_four_hellos_and_another_when_configured() {
        let ms = Duration::from_millis;
        let mut peer = Peer::new(ms(50), ms(128), None, 1);
        let mut times = |least: u64| {
            peer.keep_distance(ms(least));
            (peer.hello_every, peer.timeout)
        };
        assert_eq!([0, 32, 400].map(&mut times), [(ms(50), ms(128)), (ms(50), ms(128)), (ms(400), ms(1600))]);
    }

    #[test]
    fn an_end_whose_every_answer_takes_too_long_is_told_to_the_operator() {
        let ms = Duration::from_millis;
        let mut peer = Peer::new(ms(50), ms(128), None, 1);
        let mut answer = |took: u64| {
            let echo = 1_000_000_000;
            peer.take_sample(Instant::from_nanos(echo) + ms(took), &Hello { epoch: 2, stamp: 1, echo, held: 0 });
            peer.advice().is_some()
        };
        assert_eq!([answer(149), answer(149), answer(127)], [false; 3], "once or twice: that was an outage");
        assert_eq!([answer(128), answer(149), answer(149), answer(149)], [false, false, true, true]);
        assert!(!answer(100));
    }
}
