//! The rate of a link's transmitter.

use super::course::{Course, Pieces};
use super::handover::RateHandover;
use super::steps::Steps;
use super::trace::Trace;
use super::walk::Walk;
use crate::table::{self, kinds};
use airtcp_core::{Duration, Instant, Rate, Rng, Value, ValueError, ValueType, parameters};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// The rate of a link's transmitter, counted on IP packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkRate {
    /// Always the same; infinitely fast without.
    Constant(Option<Rate>),
    /// It changes while the link runs.
    Varying(Box<VaryingRate>),
}

kinds! {
    /// Where a rate that changes comes from.
    pub enum VaryingRate {
        /// Recorded: mahimahi's opportunities, or columns of seconds and Mbit/s.
        Trace(Trace) = "trace";
        /// Listed; a list of steps alone means these.
        Steps(RateSteps) = "steps";
        /// A random walk of its logarithm with fades, as a cellular link has it.
        Walk(Walk) = "walk";
        /// Drawn anew at each handover, as a satellite link has it.
        Handover(RateHandover) = "handover";
    }
}

parameters! {
    /// Steps of a rate.
    pub struct RateSteps {
        /// The rates, each from a time on.
        pub steps: Steps<Rate> = Steps::constant(Rate::from_bps(10_000_000)), "ours";
        /// After which they begin again; the last one stays if auto.
        pub every: Option<Duration> = None, "ours";
    }
}

impl RateSteps {
    fn check(&self) -> Result<(), String> {
        self.steps.check(self.every)?;
        let passes = |row: Option<&(Duration, Rate)>| row.is_some_and(|(_, rate)| rate.bps() > 0);
        let rows = self.steps.rows();
        if !passes(rows.last()) && (self.every.is_none() || !rows.iter().any(|row| passes(Some(row)))) {
            return Err("steps that end at a rate of zero let nothing pass any more; add a step or 'every'".into());
        }
        Ok(())
    }
}

impl LinkRate {
    /// Infinitely fast.
    pub const UNLIMITED: LinkRate = LinkRate::Constant(None);

    /// The rate if it is always the same; `None` also for a link without a limit.
    pub fn constant(&self) -> Option<Rate> {
        match self {
            LinkRate::Constant(rate) => *rate,
            LinkRate::Varying(_) => None,
        }
    }

    /// Whether it changes while the link runs.
    pub fn is_varying(&self) -> bool {
        matches!(self, LinkRate::Varying(_))
    }

    /// The rate, or one in the middle of those that it has; `None` without a limit.
    pub fn nominal(&self) -> Option<Rate> {
        let LinkRate::Varying(varying) = self else { return self.constant() };
        Some(match &**varying {
            VaryingRate::Trace(trace) => Rate::from_bps(trace.mean()),
            VaryingRate::Steps(steps) => Rate::from_bps(steps.steps.mean(steps.every, |rate| rate.bps())),
            VaryingRate::Walk(walk) => walk.middle(),
            VaryingRate::Handover(handover) => handover.middle(),
        })
    }

    /// Bits that the link called `name` can carry from `from` to `until`, counted from the start of the run with `seed`;
    /// `None` without a limit.
    pub fn bits(&self, seed: u64, name: &str, from: Duration, until: Duration) -> Option<u64> {
        match self {
            LinkRate::Constant(rate) => rate.map(|rate| rate.bytes_in(until.saturating_sub(from)) * 8),
            LinkRate::Varying(varying) => Some(varying.course(seed, name).bits(from, until)),
        }
    }

    /// The mean rate of each span of length `every`, `count` of them from the start of the run with `seed` on; `None` without a
    /// limit.
    pub fn means(&self, seed: u64, name: &str, every: Duration, count: u64) -> Option<Vec<Rate>> {
        let mut course = match self {
            LinkRate::Constant(rate) => return rate.map(|rate| (0..count).map(|_| rate).collect()),
            LinkRate::Varying(varying) => varying.course(seed, name),
        };
        let mean = |span: u64| {
            let bits = course.bits(every.saturating_mul(span), every.saturating_mul(span + 1));
            let bps = u128::from(bits) * 1_000_000_000 / u128::from(every.as_nanos().max(1));
            Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
        };
        Some((0..count).map(mean).collect())
    }

    /// The trace that has to be loaded.
    pub fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            LinkRate::Varying(varying) => match &mut **varying {
                VaryingRate::Trace(trace) => Some(trace),
                _ => None,
            },
            LinkRate::Constant(_) => None,
        }
    }

    /// Whether something can ever pass.
    pub(crate) fn check(&self) -> Result<(), String> {
        let passes = match self {
            LinkRate::Constant(rate) => rate.is_none_or(|rate| rate.bps() > 0),
            LinkRate::Varying(varying) => match &**varying {
                VaryingRate::Trace(trace) => trace.is_ever_positive(),
                _ => true,
            },
        };
        if passes {
            return Ok(());
        }
        Err("a rate of zero lets nothing pass; for a link that is down give it an outage".into())
    }
}

impl VaryingRate {
    /// At work on the link called `name`.
    pub(crate) fn course(&self, seed: u64, name: &str) -> RateCourse {
        let rng = || Rng::derive(seed, &alloc::format!("{name}/rate"));
        let pieces: Box<dyn Pieces<Rate>> = match self {
            VaryingRate::Trace(trace) => trace.pieces(),
            VaryingRate::Steps(steps) => steps.steps.pieces(steps.every),
            VaryingRate::Walk(walk) => Box::new(walk.start(rng())),
            VaryingRate::Handover(handover) => Box::new(handover.start(rng())),
        };
        Course::new(pieces)
    }
}

impl Default for LinkRate {
    fn default() -> Self {
        LinkRate::UNLIMITED
    }
}

impl From<Option<Rate>> for LinkRate {
    fn from(rate: Option<Rate>) -> Self {
        LinkRate::Constant(rate)
    }
}

impl From<Rate> for LinkRate {
    fn from(rate: Rate) -> Self {
        LinkRate::Constant(Some(rate))
    }
}

/// A rate alone stays; several are steps.
impl ValueType for LinkRate {
    const KIND: &'static str =
        "rate, list of steps or table, \"10Mbit\", [\"20Mbit\", \"5Mbit from 10s\"] or { trace = \"walk.csv\" }";
    fn read(value: &Value) -> Result<Self, ValueError> {
        let steps = |value: &Value| -> Result<VaryingRate, ValueError> {
            let steps = RateSteps { steps: Steps::read(value)?, ..RateSteps::default() };
            steps.check()?;
            Ok(VaryingRate::Steps(steps))
        };
        let varying = match value {
            Value::Table(_) => table::read(value)?,
            Value::List(_) => steps(value)?,
            _ if value.scalar()?.contains(',') => steps(value)?,
            _ => return Option::read(value).map(LinkRate::Constant),
        };
        Ok(LinkRate::Varying(Box::new(varying)))
    }
    fn write(&self) -> String {
        match self {
            LinkRate::Constant(rate) => rate.write(),
            LinkRate::Varying(varying) => match &**varying {
                VaryingRate::Steps(RateSteps { steps, every: None }) => steps.write(),
                varying => table::write(varying),
            },
        }
    }
}

/// A rate that varies, at work.
pub(crate) type RateCourse = Course<Rate>;

impl RateCourse {
    /// Bits that pass between two times, counted from the start of the run.
    fn bits(&mut self, from: Duration, until: Duration) -> u64 {
        let [mut at, until] = [from, until].map(|time| self.origin.saturating_add(time));
        let mut bit_nanoseconds = 0;
        while at < until {
            let (rate, end) = self.at(at);
            let end = end.min(until);
            bit_nanoseconds += u128::from(rate.bps()) * u128::from(end.saturating_since(at).as_nanos());
            at = end;
        }
        u64::try_from(bit_nanoseconds / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// When a packet of `bytes` has left that has its turn from `at` on.
    pub(crate) fn transmit(&mut self, at: Instant, bytes: u32) -> Instant {
        // In bits × nanoseconds per second, so that a piece's share is exact.
        let mut rest = u128::from(bytes) * 8 * 1_000_000_000;
        let mut now = at;
        loop {
            let (rate, end) = self.at(now);
            let bps = u128::from(rate.bps());
            let passing = bps * u128::from(end.saturating_since(now).as_nanos());
            if bps > 0 && (rest <= passing || end == Instant::MAX) {
                let span = u64::try_from(rest.div_ceil(bps)).unwrap_or(u64::MAX);
                return now.saturating_add(Duration::from_nanos(span));
            }
            if end == Instant::MAX {
                return end;
            }
            rest -= passing;
            now = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn read(text: &str) -> LinkRate {
        LinkRate::read(&text.into()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn transmit(rate: &str, at: u64, bytes: u32) -> u64 {
        let LinkRate::Varying(varying) = read(rate) else { panic!("{rate}") };
        let mut course = varying.course(1, "links.air");
        course.transmit(Instant::ZERO + Duration::from_micros(at), bytes).as_nanos() / 1000
    }

    #[test]
    fn every_form_reads_back() {
        for text in [
            "auto",
            "10Mbit",
            "20Mbit, 5Mbit from 10s",
            "{ kind = \"steps\", steps = \"20Mbit, 5Mbit from 10s\", every = \"20s\" }",
            "{ kind = \"handover\", low = \"50Mbit\", high = \"250Mbit\", every = \"15s\", gap = \"80ms\" }",
        ] {
            assert_eq!(read(text).write(), text);
        }
        let walk = read("{ kind = \"walk\", low = \"1Mbit\" }");
        assert_eq!(read(&walk.write()), walk);
        assert!(!read("10Mbit").is_varying() && read("20Mbit, 5Mbit from 10s").is_varying());
    }

    #[test]
    fn a_packet_takes_what_each_piece_gives_it() {
        // 12 Mbit/s are 1.5 bytes a microsecond, 4 Mbit/s half a byte.
        let steps = "12Mbit, 4Mbit from 1ms, 0Mbit from 2ms, 12Mbit from 5ms";
        assert_eq!(transmit(steps, 0, 1500), 1000);
        assert_eq!(transmit(steps, 500, 1000), 1500);
        assert_eq!(transmit(steps, 1500, 1000), 5500, "250 bytes before the pause, 750 after it");
        assert_eq!(transmit(steps, 3000, 1500), 6000);
        assert_eq!(transmit(steps, 900_000, 1500), 901_000);
    }

    #[test]
    fn a_stream_gets_what_the_link_can_carry() {
        let rate = read("{ kind = \"walk\" }");
        let LinkRate::Varying(varying) = &rate else { panic!() };
        let (mut course, mut at, mut packets) = (varying.course(7, "links.air"), Instant::ZERO, 0);
        while at < Instant::ZERO + Duration::from_secs(300) {
            at = course.transmit(at, 1500);
            packets += 1;
        }
        let carried = rate.bits(7, "links.air", Duration::ZERO, at.saturating_since(Instant::ZERO)).unwrap();
        let sent = packets * 12_000;
        assert!(carried >= sent && carried - sent < sent / 100_000, "{carried} {sent}");
        assert_ne!(rate.bits(8, "links.air", ms(0), ms(9000)), rate.bits(7, "links.air", ms(0), ms(9000)));
    }

    #[test]
    fn bits_are_rate_times_time() {
        assert_eq!(read("10Mbit").bits(1, "", ms(0), ms(500)), Some(5_000_000));
        assert_eq!(read("auto").bits(1, "", ms(0), ms(500)), None);
        let steps = read("12Mbit, 4Mbit from 1s");
        assert_eq!(steps.bits(1, "", ms(500), ms(1500)), Some(8_000_000));
        let means =
            |rate: &LinkRate| Some(rate.means(1, "", ms(800), 3)?.into_iter().map(Rate::bps).collect::<Vec<_>>());
        assert_eq!(means(&steps), Some([12_000_000, 6_000_000, 4_000_000].into()));
        assert_eq!(means(&read("1Mbit")), Some([1_000_000; 3].into()));
        assert_eq!(means(&read("auto")), None);
    }

    #[test]
    fn a_rate_that_lets_nothing_pass_is_refused() {
        assert!(read("0Mbit").check().is_err());
        assert!(LinkRate::read(&"10Mbit, 0Mbit from 3s".into()).is_err());
        assert!(
            LinkRate::read(&"{ kind = \"steps\", steps = \"10Mbit, 0Mbit from 3s\", every = \"5s\" }".into()).is_ok()
        );
        assert!(LinkRate::read(&"{ kind = \"steps\", steps = \"0Mbit\", every = \"5s\" }".into()).is_err());
        assert!(LinkRate::read(&"{ }".into()).unwrap_err().to_string().contains("needs a file"));
    }

    #[test]
    fn the_middle_stands_for_what_varies() {
        assert_eq!(read("10Mbit").nominal(), Some(Rate::from_bps(10_000_000)));
        let walk = read("{ kind = \"walk\" }").nominal().unwrap().bps();
        assert!((6_200_000..6_400_000).contains(&walk), "the geometric mean of 2 and 20 Mbit/s: {walk}");
        let steps = "{ kind = \"steps\", steps = \"20Mbit, 5Mbit from 10s\", every = \"30s\" }";
        assert_eq!(read(steps).nominal(), Some(Rate::from_bps(10_000_000)));
    }
}
