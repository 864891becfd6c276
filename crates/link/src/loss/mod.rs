//! How packets are lost in the air.
//!
//! A [`Loss`] is the model as files write it, a [`LossProcess`] the model at work, with its own random stream. The
//! fate of a packet is drawn once for each transmission, in the order of transmission, so that two runs that differ in
//! a probability only stay on common random numbers.

mod bernoulli;
mod bit_error;
mod gilbert_elliott;
mod steps;

pub use bernoulli::Bernoulli;
pub use bit_error::BitError;
pub use gilbert_elliott::{GilbertElliott, GilbertElliottTransitions};
pub use steps::LossSteps;

use crate::table::{self, kinds};
use crate::varying::course::Course;
use crate::varying::steps::Steps;
use crate::varying::trace::{Trace, Traced};
use airtcp_core::{Instant, Probability, Rng, Value, ValueError, ValueType};
use alloc::string::{String, ToString};

kinds! {
    /// A model of loss.
    pub enum Loss {
        /// Every packet is lost with the same chance, independently.
        Bernoulli(Bernoulli) = "bernoulli";
        /// Every bit is wrong with the same chance, and a packet with a wrong bit is lost: long packets suffer more.
        BitError(BitError) = "bit-error";
        /// Bursts: a good and a bad state, given by the mean loss and the mean length of a bad spell in packets.
        GilbertElliott(GilbertElliott) = "gilbert-elliott";
        /// Bursts: a good and a bad state, given by the chances of changing between them after each packet.
        GilbertElliottTransitions(GilbertElliottTransitions) = "gilbert-elliott-transitions";
        /// Independent loss whose chance is another one from a time on; a list of steps alone means these.
        Steps(LossSteps) = "steps";
        /// Independent loss whose chance was recorded: columns of seconds and percent.
        Trace(Trace) = "trace";
    }
}

impl Loss {
    /// Independent loss.
    pub fn bernoulli(probability: Probability) -> Self {
        Loss::Bernoulli(Bernoulli { probability })
    }

    /// Long-run share of packets of `wire_len` bytes that are lost, for ceilings.
    pub fn mean(&self, wire_len: u32) -> Probability {
        match self {
            Loss::Bernoulli(loss) => loss.probability,
            Loss::BitError(loss) => loss.of_length(wire_len),
            Loss::GilbertElliott(loss) => loss.mean,
            Loss::GilbertElliottTransitions(loss) => loss.mean(),
            Loss::Steps(loss) => loss.mean(),
            Loss::Trace(loss) => Probability::of_millionths(loss.mean()),
        }
    }

    /// Whether it changes while the link runs.
    pub fn is_varying(&self) -> bool {
        matches!(self, Loss::Steps(_) | Loss::Trace(_))
    }

    /// The trace that has to be loaded.
    pub fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            Loss::Trace(trace) => Some(trace),
            _ => None,
        }
    }
}

impl Default for Loss {
    fn default() -> Self {
        Loss::bernoulli(Probability::NEVER)
    }
}

/// A probability alone means independent loss, several are steps.
impl ValueType for Loss {
    const KIND: &'static str = "probability, list of steps or table, \"2%\", [\"2%\", \"5% from 10s\"] or { kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }";
    fn read(value: &Value) -> Result<Self, ValueError> {
        let steps = |value| Ok(Loss::Steps(LossSteps { steps: Steps::read(value)?, every: None }));
        match value {
            Value::Table(_) => table::read(value),
            Value::List(_) => steps(value),
            _ if value.scalar()?.contains(',') => steps(value),
            _ => Probability::read(value).map(Loss::bernoulli),
        }
    }
    fn write(&self) -> String {
        match self {
            Loss::Bernoulli(loss) => loss.probability.to_string(),
            Loss::Steps(LossSteps { steps, every: None }) => steps.write(),
            _ => table::write(self),
        }
    }
}

/// A loss model at work on one direction of a link.
#[derive(Debug)]
pub struct LossProcess {
    rng: Rng,
    state: State,
}

#[derive(Debug)]
enum State {
    Never,
    Bernoulli(Probability),
    BitError(bit_error::ByLength),
    GilbertElliott(gilbert_elliott::Chain),
    Varying(Course<Probability>),
}

impl LossProcess {
    /// The model `loss`, drawing from `rng`.
    pub fn new(loss: &Loss, mut rng: Rng) -> Self {
        let state = match loss {
            Loss::Bernoulli(loss) if loss.probability.is_never() => State::Never,
            Loss::Bernoulli(loss) => State::Bernoulli(loss.probability),
            Loss::BitError(loss) => State::BitError(bit_error::ByLength::new(loss)),
            Loss::GilbertElliott(loss) => State::GilbertElliott(loss.transitions().start(&mut rng)),
            Loss::GilbertElliottTransitions(loss) => State::GilbertElliott(loss.start(&mut rng)),
            Loss::Steps(loss) => State::Varying(Course::new(loss.steps.pieces(loss.every))),
            Loss::Trace(loss) => State::Varying(Course::new(loss.pieces())),
        };
        LossProcess { rng, state }
    }

    /// Whether no packet is ever lost.
    pub fn is_never(&self) -> bool {
        matches!(self.state, State::Never)
    }

    /// Makes `origin` the start of the run, from which what varies counts.
    pub(crate) fn set_origin(&mut self, origin: Instant) {
        if let State::Varying(course) = &mut self.state {
            course.origin = origin;
        }
    }

    /// Whether the next packet transmitted, of `wire_len` bytes from `at` on, is lost.
    pub fn loses(&mut self, at: Instant, wire_len: u32) -> bool {
        match &mut self.state {
            State::Never => false,
            State::Bernoulli(probability) => self.rng.chance(*probability),
            State::BitError(lengths) => self.rng.chance(lengths.probability(wire_len)),
            State::GilbertElliott(chain) => chain.loses(&mut self.rng),
            State::Varying(course) => self.rng.chance(*course.at(at).0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back() {
        for text in [
            "5%",
            "{ kind = \"bit-error\", rate = \"0.0001%\", framing = 36 }",
            "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5, loss_good = \"0%\", loss_bad = \"100%\" }",
            "2%, 0% from 10s, 5% from 20s",
            "{ kind = \"steps\", steps = \"0%, 100% from 10s\", every = \"12s\" }",
            "{ kind = \"gilbert-elliott-transitions\", good_to_bad = \"1%\", bad_to_good = \"20%\", loss_good = \"0.1%\", loss_bad = \"50%\" }",
        ] {
            assert_eq!(Loss::read(&text.into()).unwrap().write(), text);
        }
        assert_eq!(Loss::read(&"{ kind = \"bernoulli\", probability = \"5%\" }".into()), Loss::read(&"5%".into()));
        assert!(
            Loss::read(&"{ kind = \"gilbert-eliott\" }".into())
                .unwrap_err()
                .to_string()
                .contains("did you mean 'gilbert-elliott'?")
        );
    }

    /// Bits are wrong on their own: a packet's fate says nothing of the next one's.
    #[test]
    fn dec_40_bit_errors_lose_as_many_packets_as_the_bits_say_and_each_by_itself() {
        let model = Loss::read(&"{ kind = \"bit-error\", rate = 0.00002 }".into()).unwrap();
        let mut process = LossProcess::new(&model, Rng::derive(1, "loss"));
        for wire_len in [52, 1500] {
            let fates: alloc::vec::Vec<bool> = (0..200_000).map(|_| process.loses(Instant::ZERO, wire_len)).collect();
            let expected = 1.0 - (1.0 - 2e-5_f64).powi(8 * wire_len as i32);
            let share_after = |before: Option<bool>| {
                let pairs = fates.windows(2).filter(|pair| before.is_none_or(|before| pair[0] == before));
                let (lost, all) = pairs.fold((0, 0), |(lost, all), pair| (lost + u32::from(pair[1]), all + 1));
                (f64::from(lost) / f64::from(all), (expected * (1.0 - expected) / f64::from(all)).sqrt())
            };
            for before in [None, Some(true), Some(false)] {
                let (share, deviation) = share_after(before);
                assert!((share - expected).abs() < 4.0 * deviation, "{wire_len} bytes after {before:?}: {share}");
            }
        }
    }

    #[test]
    fn steps_lose_as_their_time_says() {
        let model = Loss::read(&"{ kind = \"steps\", steps = \"0%, 100% from 10s\", every = \"12s\" }".into()).unwrap();
        assert_eq!(model.mean(1500), "16.6666666%".parse().unwrap());
        let mut process = LossProcess::new(&model, Rng::derive(1, "loss"));
        let origin = Instant::from_nanos(77_000_000_000);
        process.set_origin(origin);
        let lost = |second: &u64| process.loses(origin + airtcp_core::Duration::from_secs(*second), 1500);
        let seconds: alloc::vec::Vec<u64> = (0..36).filter(lost).collect();
        assert_eq!(seconds, [10, 11, 22, 23, 34, 35]);
    }

    #[test]
    fn a_higher_probability_loses_the_same_packets_and_more() {
        let lost = |text: &str| {
            let mut process = LossProcess::new(&Loss::read(&text.into()).unwrap(), Rng::derive(3, "loss"));
            (0..10_000).map(|_| process.loses(Instant::ZERO, 1500)).collect::<std::vec::Vec<_>>()
        };
        let (low, high) = (lost("1%"), lost("5%"));
        assert!(low.iter().zip(&high).all(|(low, high)| !low || *high));
        assert!(low.iter().filter(|lost| **lost).count() < high.iter().filter(|lost| **lost).count());
    }
}
