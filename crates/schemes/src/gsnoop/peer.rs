//! The other gateway: is it there, is it still the same one, how far is it?

use super::message::{Hello, Message};
use super::settings::Settings;
use airtcp_core::{Context, Duration, Event, Instant, Peer as PeerId};

/// Distance of the first two HELLOs; doubles up to the configured one while nobody answers.
const FIRST_SEARCH: Duration = Duration::from_millis(5);
/// Round-trip samples kept for the minimum filter.
const SAMPLES: usize = 16;

/// What this gateway knows of the other.
#[derive(Debug)]
pub(super) struct Peer {
    epoch: u64,
    hello_every: Duration,
    timeout: Duration,
    next_hello: Instant,
    /// Distance of the HELLOs while the other end is not in reach: short at first.
    searching: Duration,
    /// Epoch, stamp and time of the last HELLO heard.
    last_hello: Option<(u64, u64, Instant)>,
    last_heard: Option<Instant>,
    in_reach: bool,
    configured_rtt: Option<Duration>,
    samples: [Duration; SAMPLES],
    sample_count: usize,
}

/// What a HELLO changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing of importance.
    None,
    /// The other end came into reach.
    Up,
    /// The other end restarted: whatever it promised is forgotten.
    Restarted,
}

/// What a timeout led to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tick {
    /// Length of the HELLO that was sent.
    pub sent_bytes: Option<usize>,
    /// The other end has just fallen silent.
    pub fell_silent: bool,
}

impl Peer {
    pub fn new(settings: &Settings, epoch: u64) -> Self {
        Peer {
            epoch,
            hello_every: settings.hello,
            timeout: settings.peer_timeout,
            next_hello: Instant::ZERO,
            searching: FIRST_SEARCH,
            last_hello: None,
            last_heard: None,
            in_reach: false,
            configured_rtt: settings.wireless_rtt,
            samples: [Duration::MAX; SAMPLES],
            sample_count: 0,
        }
    }

    /// The other end answers and its distance is known: repairs can work.
    pub fn in_reach(&self) -> bool {
        self.in_reach
    }

    /// Round trip between the gateways: configured, or the least of the latest samples.
    pub fn rtt(&self) -> Duration {
        let measured = self.samples.iter().min().copied().filter(|least| *least < Duration::MAX);
        self.configured_rtt.or(measured).unwrap_or(Duration::from_millis(10))
    }

    /// Any valid message shows that the other end is there.
    pub fn on_heard(&mut self, now: Instant) {
        self.last_heard = Some(now);
    }

    pub fn on_hello(&mut self, cx: &mut Context<'_>, hello: &Hello) -> Change {
        let now = cx.now();
        let restarted = self.last_hello.is_some_and(|(epoch, ..)| epoch != hello.epoch);
        self.last_hello = Some((hello.epoch, hello.stamp, now));
        if hello.echo != 0 {
            let sample = now.as_nanos().checked_sub(hello.echo).and_then(|t| t.checked_sub(hello.held));
            if let Some(sample) = sample.filter(|sample| *sample < self.timeout.as_nanos()) {
                self.samples[self.sample_count % SAMPLES] = Duration::from_nanos(sample);
                self.sample_count += 1;
            }
        }
        if restarted {
            cx.emit(Event::PeerRestart);
        }
        // Whoever has not heard us yet need not wait for the next HELLO to hear us; nor need we.
        if hello.echo == 0 || !self.in_reach {
            self.next_hello = self.next_hello.min(now);
        }
        if !self.in_reach && (self.sample_count > 0 || self.configured_rtt.is_some()) {
            self.in_reach = true;
            cx.emit(Event::PeerUp);
            return Change::Up;
        }
        if restarted { Change::Restarted } else { Change::None }
    }

    /// Sends HELLO when due.
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
            let bytes = Message::Hello(hello).encode();
            cx.send_control(PeerId::OTHER_END, &bytes);
            tick.sent_bytes = Some(bytes.len());
        }
        let silent = self.last_heard.is_none_or(|heard| now.saturating_since(heard) >= self.timeout);
        if self.in_reach && silent {
            self.in_reach = false;
            self.searching = FIRST_SEARCH;
            cx.emit(Event::PeerDown);
            tick.fell_silent = true;
        }
        tick
    }

    /// HELLO also paces the check for silence, so one deadline is enough.
    pub fn poll_timeout(&self) -> Instant {
        self.next_hello
    }
}
