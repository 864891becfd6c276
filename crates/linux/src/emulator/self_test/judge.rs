//! Turns the measurements of the probes into a verdict.

use super::{LinkTest, SMALL};
use airtcp_core::{Duration, Probability, Rate};
use airtcp_link::{LinkSettings, Loss};

/// Allowed error of the rate, apart from [`TIMING`] over the burst's length.
const RATE_TOLERANCE: f64 = 0.01;
/// Allowed error of one time of arrival.
const TIMING: Duration = Duration::from_micros(300);
/// Allowed error of the median delay.
pub(super) const DELAY_TOLERANCE: Duration = Duration::from_millis(1);
/// Standard deviations of a binomial that loss may be off.
const SIGMAS: f64 = 5.0;

/// One probe that arrived; times in nanoseconds of CLOCK_REALTIME.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub sequence: u64,
    pub sent_at: u64,
    pub arrived_at: u64,
}

/// What was sent over one direction and what arrived.
#[derive(Debug)]
pub(super) struct Observation {
    pub name: String,
    pub settings: LinkSettings,
    /// Bursts sent, packets in each and their IP bytes.
    pub bursts: u64,
    pub burst_packets: u64,
    pub burst_size: u32,
    /// First sequence number of the spaced probes, the one after their last, and how many of
    /// them leave together.
    pub spaced_from: u64,
    pub sent: u64,
    pub group: u64,
    pub arrivals: Vec<Arrival>,
}

impl Observation {
    /// Time a burst needs to leave.
    pub fn burst_time(&self) -> Duration {
        self.transmission(self.burst_size) * self.burst_packets
    }

    fn transmission(&self, bytes: u32) -> Duration {
        self.settings.rate.constant().map_or(Duration::ZERO, |rate| rate.serialisation(bytes, &mut 0))
    }

    /// The verdict.
    pub fn judge(&self) -> LinkTest {
        let spaced = || self.arrivals.iter().filter(|a| a.sequence >= self.spaced_from);
        let probes = self.sent - self.spaced_from;
        let lost = probes.saturating_sub(spaced().count() as u64);
        // Later probes of a group may wait for the first.
        let first = |a: &&Arrival| (a.sequence - self.spaced_from).is_multiple_of(self.group);
        let mut delays: Vec<u64> = spaced().filter(first).map(|a| a.arrived_at.saturating_sub(a.sent_at)).collect();
        delays.sort_unstable();
        let mut test = LinkTest {
            name: self.name.clone(),
            rate_asked: self.settings.rate.constant(),
            rate_seen: self.rate_seen(),
            delay_asked: self.settings.delay.nominal() + self.transmission(SMALL),
            delay_seen: delays.get(delays.len() / 2).map(|ns| Duration::from_nanos(*ns)),
            loss_asked_ratio: ratio(self.settings.loss.mean(SMALL)),
            loss_seen_ratio: lost as f64 / probes.max(1) as f64,
            probes,
            problems: Vec::new(),
        };
        test.problems.extend(self.rate_problem(&test));
        test.problems.extend(self.delay_problem(&test));
        test.problems.extend(self.loss_problem(&test, lost));
        test
    }

    fn rate_problem(&self, test: &LinkTest) -> Option<String> {
        let asked = test.rate_asked?;
        let slack = TIMING.as_nanos() as f64 / self.burst_time().as_nanos().max(1) as f64;
        if test.rate_error_ratio() <= RATE_TOLERANCE + slack {
            return None;
        }
        let seen = test.rate_seen.map_or("nothing measurable".into(), |rate| rate.to_string());
        Some(format!("{}: rate {seen} instead of {asked}", self.name))
    }

    fn delay_problem(&self, test: &LinkTest) -> Option<String> {
        let asked = test.delay_asked;
        let Some(seen) = test.delay_seen else {
            return Some(format!("{}: no probe arrived", self.name));
        };
        let error = seen.saturating_sub(asked).max(asked.saturating_sub(seen));
        (error > DELAY_TOLERANCE).then(|| format!("{}: delay {seen} instead of {asked}", self.name))
    }

    fn loss_problem(&self, test: &LinkTest, lost: u64) -> Option<String> {
        let expected = test.probes as f64 * test.loss_asked_ratio;
        let bound = loss_bound(expected, test.loss_asked_ratio, &self.settings.loss);
        ((lost as f64 - expected).abs() > bound).then(|| {
            let probes = test.probes;
            format!("{}: {lost} of {probes} probes lost, expected {expected:.1}", self.name)
        })
    }

    /// The median over the bursts of the rate at which packets arrived.
    fn rate_seen(&self) -> Option<Rate> {
        self.settings.rate.constant()?;
        let mut rates: Vec<u64> = (0..self.bursts).filter_map(|n| self.burst_rate(n)).collect();
        rates.sort_unstable();
        rates.get(rates.len() / 2).map(|bps| Rate::from_bps(*bps))
    }

    /// The median over pairs of packets half a burst apart: a core that is taken away for some
    /// milliseconds delays few of them, while a wrong rate shows in all.
    fn burst_rate(&self, burst: u64) -> Option<u64> {
        let range = burst * self.burst_packets..(burst + 1) * self.burst_packets;
        let mut arrivals: Vec<&Arrival> = self.arrivals.iter().filter(|a| range.contains(&a.sequence)).collect();
        arrivals.sort_unstable_by_key(|a| a.sequence);
        let apart = (arrivals.len() / 2).max(1);
        let pairs = arrivals.iter().zip(arrivals.iter().skip(apart));
        let mut rates: Vec<u64> = pairs.filter_map(|(first, last)| self.rate_between(first, last)).collect();
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied()
    }

    fn rate_between(&self, first: &Arrival, last: &Arrival) -> Option<u64> {
        // A lost packet took its time on the link as well.
        let bits = (last.sequence - first.sequence) * u64::from(self.burst_size) * 8;
        let span = last.arrived_at.checked_sub(first.arrived_at).filter(|span| *span > 0)?;
        Some((u128::from(bits) * 1_000_000_000 / u128::from(span)) as u64)
    }
}

/// How far the number of lost probes may be from the expected.
fn loss_bound(expected: f64, asked: f64, loss: &Loss) -> f64 {
    if asked == 0.0 {
        return 0.0;
    }
    // Losses in bursts of mean length b vary about as much as b times fewer losses, each
    // counted b times, with lengths that vary themselves.
    let burst = match loss {
        Loss::GilbertElliott(loss) => 1.0 / ratio(loss.transitions().bad_to_good).max(1e-9),
        Loss::GilbertElliottTransitions(loss) => 1.0 / ratio(loss.bad_to_good).max(1e-9),
        Loss::Bernoulli(_) | Loss::BitError(_) | Loss::Steps(_) | Loss::Trace(_) => 1.0,
    };
    let variance = expected * (1.0 - asked) * (2.0 * burst - 1.0);
    // A Poisson tail is longer than a normal one: some packets more for small numbers.
    SIGMAS * variance.sqrt() + 4.0 * burst
}

fn ratio(probability: Probability) -> f64 {
    probability.parts_per_billion() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ValueType;

    /// Probes over a link that does `really`, judged by what was asked of it: 10 Mbit/s, 5 ms,
    /// 5 % loss.
    fn observe(interval_ns: u64, delay_ns: u64, lose_every: u64) -> LinkTest {
        observed(interval_ns, delay_ns, lose_every).judge()
    }

    fn observed(interval_ns: u64, delay_ns: u64, lose_every: u64) -> Observation {
        let settings = LinkSettings {
            rate: "10Mbit".parse().ok().into(),
            delay: Duration::from_millis(5).into(),
            loss: Loss::read(&"5%".into()).unwrap(),
            ..LinkSettings::default()
        };
        let burst = (0..50).map(|i| Arrival { sequence: i, sent_at: 0, arrived_at: delay_ns + (i + 1) * interval_ns });
        let spaced = (50..1050).filter(|i| i % lose_every != 0).map(|i| Arrival {
            sequence: i,
            sent_at: i * 1_000_000_000,
            arrived_at: i * 1_000_000_000 + delay_ns + 35_200,
        });
        Observation {
            name: "links.air.forward".into(),
            settings,
            bursts: 1,
            burst_packets: 50,
            burst_size: 1500,
            spaced_from: 50,
            sent: 1050,
            group: 1,
            arrivals: burst.chain(spaced).collect(),
        }
    }

    #[test]
    fn a_link_that_does_what_was_asked_passes() {
        let test = observe(1_200_000, 5_000_000, 20);
        assert!(test.problems.is_empty(), "{:?}", test.problems);
        assert!(test.rate_error_ratio() < 1e-6);
        assert_eq!(test.loss_seen_ratio, 0.05);
    }

    #[test]
    fn a_core_taken_away_for_a_tenth_of_a_burst_is_not_the_links_fault() {
        let mut observation = observed(1_200_000, 5_000_000, 20);
        let stall = 40 * 1_200_000..46 * 1_200_000;
        for arrival in observation.arrivals.iter_mut().filter(|a| a.sequence < 50) {
            if stall.contains(&arrival.arrived_at) {
                arrival.arrived_at = stall.end;
            }
        }
        assert!(observation.judge().problems.is_empty(), "{:?}", observation.judge().problems);
    }

    #[test]
    fn a_link_that_is_too_slow_or_too_fast_is_found_out() {
        for interval in [1_160_000, 1_240_000] {
            let problems = observe(interval, 5_000_000, 20).problems;
            assert!(problems.len() == 1 && problems[0].contains("rate"), "{problems:?}");
        }
    }

    #[test]
    fn a_delay_that_is_off_by_more_than_a_millisecond_is_found_out() {
        for delay in [3_900_000, 6_100_000] {
            let problems = observe(1_200_000, delay, 20).problems;
            assert!(problems.len() == 1 && problems[0].contains("delay"), "{problems:?}");
        }
        assert!(observe(1_200_000, 5_900_000, 20).problems.is_empty());
    }

    #[test]
    fn too_much_or_too_little_loss_is_found_out() {
        for every in [8, 2000] {
            let problems = observe(1_200_000, 5_000_000, every).problems;
            assert!(problems.len() == 1 && problems[0].contains("lost"), "{problems:?}");
        }
    }

    #[test]
    fn a_lossless_link_may_lose_nothing_and_a_bursty_one_more_than_an_even_one() {
        assert_eq!(loss_bound(0.0, 0.0, &Loss::default()), 0.0);
        let even = loss_bound(28.0, 0.01, &Loss::read(&"1%".into()).unwrap());
        let bursty = Loss::read(&"{ kind = \"gilbert-elliott\", mean = \"1%\", burst = 5 }".into());
        let bursty = loss_bound(28.0, 0.01, &bursty.unwrap());
        assert!((20.0..35.0).contains(&even), "{even}");
        assert!(bursty > 2.0 * even, "{bursty}");
    }
}
