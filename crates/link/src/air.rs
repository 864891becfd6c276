//! What happens between transmitter and receiver: delay that varies, and all that can go wrong.

use crate::loss::LossProcess;
use crate::outage::Outage;
use crate::settings::LinkSettings;
use crate::transmitter::Turn;
use crate::varying::DelayCourse;
use airtcp_core::{DropReason, Duration, Instant, Probability, Rng};
use alloc::format;

/// What happens between transmitter and receiver.
#[derive(Debug)]
pub(crate) struct Air {
    loss: LossProcess,
    /// The delay if it varies.
    delay: Option<DelayCourse>,
    jitter: Jitter,
    reorder: Draw,
    reorder_delay: Duration,
    duplicate: Draw,
    corrupt: Draw,
    /// Which bit is damaged; apart from whether, so that a damaged packet shifts no later draw.
    pub(crate) damage: Rng,
    outage: Outage,
    /// From here on, counted from the origin, nothing goes wrong.
    impaired_until: Option<Duration>,
    origin: Instant,
}

/// A chance with its own stream, which is left alone where nothing can come of it.
#[derive(Debug)]
struct Draw {
    probability: Probability,
    rng: Rng,
}

impl Draw {
    fn hits(&mut self) -> bool {
        !self.probability.is_never() && self.rng.chance(self.probability)
    }
}

/// Delay that differs from packet to packet.
#[derive(Debug)]
struct Jitter {
    most: Duration,
    rng: Rng,
    /// No packet that is not held back arrives before this.
    latest: Instant,
}

impl Jitter {
    fn draw(&mut self) -> Duration {
        if self.most.is_zero() {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.rng.below(self.most.as_nanos()))
    }

    /// A packet that would arrive at `at` waits for those before it.
    fn in_order(&mut self, at: Instant) -> Instant {
        self.latest = self.latest.max(at);
        self.latest
    }
}

/// What the air does to one packet.
#[derive(Default)]
pub(crate) struct Fate {
    pub(crate) drop: Option<DropReason>,
    jitter: Duration,
    pub(crate) reordered: bool,
    pub(crate) duplicated: bool,
    pub(crate) corrupted: bool,
}

impl Air {
    /// The air of the link called `name` in the run seeded with `seed`.
    pub(crate) fn new(settings: &LinkSettings, seed: u64, name: &str) -> Self {
        let stream = |part: &str| Rng::derive(seed, &format!("{name}/{part}"));
        let draw = |part: &str, probability| Draw { probability, rng: stream(part) };
        Air {
            loss: LossProcess::new(&settings.loss, stream("loss")),
            delay: settings.delay.course(seed, name),
            jitter: Jitter { most: settings.jitter, rng: stream("jitter"), latest: Instant::ZERO },
            reorder: draw("reorder", settings.reorder.probability),
            reorder_delay: settings.reorder.delay,
            duplicate: draw("duplicate", settings.duplicate),
            corrupt: draw("corrupt", settings.corrupt),
            damage: stream("damage"),
            outage: settings.outage.clone(),
            impaired_until: settings.impaired_until,
            origin: Instant::ZERO,
        }
    }

    /// Makes `origin` the start of the run.
    pub(crate) fn set_origin(&mut self, origin: Instant) {
        self.origin = origin;
        self.loss.set_origin(origin);
        if let Some(delay) = &mut self.delay {
            delay.origin = origin;
        }
    }

    /// Whether every packet gets through unharmed, after the same delay at any time, and no draw is needed to know it.
    pub(crate) fn is_clear(&self) -> bool {
        let draws = [&self.reorder, &self.duplicate, &self.corrupt];
        let is_steady = self.jitter.most.is_zero() && self.outage.duration.is_zero() && self.delay.is_none();
        self.loss.is_never() && is_steady && draws.iter().all(|draw| draw.probability.is_never())
    }

    /// Whether the delay varies; jitter and reordering only add to it.
    pub(crate) fn is_delay_varying(&self) -> bool {
        self.delay.is_some()
    }

    /// Draws everything for every transmission: a lost packet takes as many draws as one that gets through.
    #[inline(always)]
    pub(crate) fn fate(&mut self, turn: Turn, bytes: u32) -> Fate {
        if self.has_healed(turn.begin) {
            return Fate::default();
        }
        let is_lost = self.loss.loses(turn.begin, bytes);
        let is_out = self.outage.meets(self.origin, turn.begin, turn.end);
        Fate {
            drop: match (is_out, is_lost) {
                (true, _) => Some(DropReason::OUTAGE),
                (false, true) => Some(DropReason::LOSS),
                (false, false) => None,
            },
            jitter: self.jitter.draw(),
            reordered: self.reorder.hits(),
            duplicated: self.duplicate.hits(),
            corrupted: self.corrupt.hits(),
        }
    }

    /// When a packet of this fate arrives that leaves at `departure` and takes `delay`, unless that varies.
    #[inline(always)]
    pub(crate) fn arrival(&mut self, departure: Instant, delay: Duration, fate: &Fate) -> Instant {
        let mut at = departure.saturating_add(delay);
        if let Some(course) = &mut self.delay {
            at = departure.saturating_add(*course.at(departure).0).saturating_add(fate.jitter);
            at = self.jitter.in_order(at);
        } else if !self.jitter.most.is_zero() {
            at = self.jitter.in_order(at.saturating_add(fate.jitter));
        }
        if fate.reordered { at.saturating_add(self.reorder_delay) } else { at }
    }

    fn has_healed(&self, at: Instant) -> bool {
        self.impaired_until.is_some_and(|until| at >= self.origin.saturating_add(until))
    }
}
