//! What the answers to probes tell of a path. No I/O and no clock.

use crate::finding::Finding;
use airtcp_core::Instant;

/// The flow in the place of the header packets; the others are in the place of data.
pub const HEADERS: usize = 0;
/// Two ways whose shortest delays differ by more are not one, in nanoseconds.
const ANOTHER_WAY_NS: i128 = 2_000_000;
/// Packets that a train is behind, so that it was no chance.
const OVERTAKEN: usize = 3;
/// A train that arrives so much longer than it was sent has waited in a queue, in nanoseconds.
const WAITED_NS: i128 = 500_000;

const TUNNEL: &str = "set `carriage = \"tunnel\"` in the table [decoupling]: then data and header packets are one flow";

/// One probe, and its answer if it came.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its flow.
    pub flow: usize,
    /// Its train, if it was in one.
    pub train: Option<usize>,
    /// When it left.
    pub at: Instant,
    /// Its answer.
    pub answer: Option<Answered>,
}

/// What the other gateway says of a probe.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// It was the how manyeth.
    pub order: u32,
    /// When it arrived, by another clock.
    pub at_ns: u64,
    /// Its hop limit when it arrived.
    pub hop_limit: u8,
}

/// In sentences what was found of the path to `peer`.
pub fn findings(peer: &str, probes: &[Sent]) -> Vec<Finding> {
    let answered = probes.iter().filter(|probe| probe.answer.is_some()).count();
    if answered * 2 < probes.len() || probes.is_empty() {
        return vec![Finding::warning(
            format!(
                "{answered} of {} probes to {peer} were answered: whether header packets go the way of the data is not known",
                probes.len()
            ),
            "start the gateway there, with the same key and `hops`, and ask again while the path is not loaded",
        )];
    }
    let mut findings: Vec<Finding> = another_way(peer, probes).into_iter().collect();
    match trains(probes) {
        Trains { overtaken, queued: _, all } if overtaken * 2 >= all && all > 0 => findings.push(Finding::warning(
            format!(
                "on the way to {peer} a header packet overtook data sent before it in {overtaken} of {all} trains: a queue there \
                 gives each flow its own (fq, FQ-CoDel, CAKE), so header packets see no congestion"
            ),
            TUNNEL,
        )),
        Trains { queued, all, .. } if findings.is_empty() => {
            let of_queues = if queued * 2 < all { "; the trains met no queue, so nothing is known of one" } else { "" };
            findings.push(Finding::good(format!(
                "data and header packets go one way to {peer}, as far as {answered} probes tell{of_queues}"
            )));
        }
        Trains { .. } => {}
    }
    findings
}

/// Flows whose packets take another way than header packets, by hops or by the shortest delay.
fn another_way(peer: &str, probes: &[Sent]) -> Option<Finding> {
    let of = |flow: usize| {
        let alone = probes.iter().filter(move |probe| probe.flow == flow && probe.train.is_none());
        alone.filter_map(|probe| Some((delay(probe)?, probe.answer?.hop_limit))).min()
    };
    let (delay, hop_limit) = of(HEADERS)?;
    let flows = probes.iter().map(|probe| probe.flow).max()?;
    let others: Vec<(i128, u8)> = (1..=flows).filter_map(of).collect();
    let differs = |other: &&(i128, u8)| (other.0 - delay).abs() > ANOTHER_WAY_NS || other.1 != hop_limit;
    let different = others.iter().filter(differs).count();
    let furthest = others.iter().filter(differs).map(|other| (other.0 - delay).abs()).max()?;
    Some(Finding::warning(
        format!(
            "packets of {different} of {} flows go another way to {peer} than header packets: up to {}.{} ms and other hops apart \
             (several next hops, ECMP)",
            others.len(),
            furthest / 1_000_000,
            furthest / 100_000 % 10
        ),
        TUNNEL,
    ))
}

/// How long it took, and an unknown constant.
fn delay(probe: &Sent) -> Option<i128> {
    Some(i128::from(probe.answer?.at_ns) - i128::from(probe.at.as_nanos()))
}

struct Trains {
    /// In which the header packet overtook data.
    overtaken: usize,
    /// Whose data had to wait for each other.
    queued: usize,
    /// Of which enough was answered.
    all: usize,
}

fn trains(probes: &[Sent]) -> Trains {
    let count = probes.iter().filter_map(|probe| probe.train).max().map_or(0, |last| last + 1);
    let mut trains = Trains { overtaken: 0, queued: 0, all: 0 };
    for number in 0..count {
        let of_train = || probes.iter().filter(|probe| probe.train == Some(number));
        let Some(header) = of_train().filter(|probe| probe.flow == HEADERS).find_map(|probe| probe.answer) else {
            continue;
        };
        let data: Vec<&Sent> = of_train().filter(|probe| probe.flow != HEADERS && probe.answer.is_some()).collect();
        let [first, .., last] = data[..] else { continue };
        trains.all += 1;
        // Across zero, after four thousand million answers.
        let is_later = |probe: &&&Sent| probe.answer.is_some_and(|one| one.order.wrapping_sub(header.order) < 1 << 31);
        trains.overtaken += usize::from(data.iter().filter(is_later).count() >= OVERTAKEN);
        let spread = delay(last).zip(delay(first)).map_or(0, |(last, first)| last - first);
        trains.queued += usize::from(spread >= WAITED_NS);
    }
    trains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    /// Eight pairs and five trains; `of` says of each probe its delay in ms and its hop limit, and its place in a train.
    fn findings_of(of: impl Fn(usize, Option<usize>) -> (u64, u8)) -> Vec<Finding> {
        let mut probes = Vec::new();
        let mut send = |flow, train, place: Option<usize>| {
            let at = Instant::from_nanos(1 + probes.len() as u64 * 1000);
            let (delay, hop_limit) = of(flow, place);
            // Another clock.
            let at_ns = (7 << 50) + at.as_nanos() + delay * 1_000_000;
            probes.push(Sent { flow, train, at, answer: Some(Answered { order: 0, at_ns, hop_limit }) });
        };
        for round in 0..8 {
            [HEADERS, 1 + round % 4].into_iter().for_each(|flow| send(flow, None, None));
        }
        for train in 0..5 {
            (0..24).for_each(|place| send(1, Some(train), Some(place)));
            send(HEADERS, Some(train), Some(24));
        }
        order(&mut probes);
        findings("there", &probes)
    }

    /// In the order of arrival; the trains are far apart.
    fn order(probes: &mut [Sent]) {
        let key = |probe: &Sent| (probe.train.map_or(0, |train| train + 1), probe.answer.unwrap().at_ns);
        let mut by_arrival: Vec<usize> = (0..probes.len()).collect();
        by_arrival.sort_by_key(|index| key(&probes[*index]));
        for (order, index) in (u32::MAX - 20..=u32::MAX).chain(0..).zip(by_arrival) {
            probes[index].answer.as_mut().unwrap().order = order;
        }
    }

    fn only(findings: Vec<Finding>) -> (Level, String) {
        assert_eq!(findings.len(), 1, "{findings:?}");
        (findings[0].level, format!("{} {}", findings[0].what, findings[0].fix))
    }

    #[test]
    fn one_way_and_a_queue_for_all_is_good() {
        let (level, text) = only(findings_of(|_, place| (20 + place.unwrap_or(0) as u64, 252)));
        assert_eq!(level, Level::Good);
        assert!(text.contains("one way") && !text.contains("no queue"), "{text}");
    }

    #[test]
    fn trains_that_met_no_queue_say_nothing_of_queues() {
        let (level, text) = only(findings_of(|_, _| (20, 252)));
        assert_eq!(level, Level::Good);
        assert!(text.contains("nothing is known"), "{text}");
    }

    #[test]
    fn a_header_packet_that_overtakes_its_data_is_warned_of() {
        let (level, text) =
            only(findings_of(|flow, place| (if flow == HEADERS { 20 } else { 20 + place.unwrap_or(0) as u64 }, 252)));
        assert_eq!(level, Level::Warning);
        assert!(text.contains("overtook") && text.contains("5 of 5") && text.contains("carriage"), "{text}");
    }

    #[test]
    fn flows_that_take_longer_or_other_hops_are_warned_of() {
        for (delay, hop_limit) in [(29, 252), (20, 251)] {
            let of = |flow, place: Option<usize>| {
                let wait = place.unwrap_or(0) as u64;
                if flow == 2 { (delay, hop_limit) } else { (20 + wait, 252) }
            };
            let (level, text) = only(findings_of(of));
            assert_eq!(level, Level::Warning);
            assert!(text.contains("1 of 4 flows") && text.contains("carriage"), "{text}");
        }
    }

    #[test]
    fn a_peer_that_answers_nothing_leaves_it_open() {
        let probe = Sent { flow: 0, train: None, at: Instant::ZERO, answer: None };
        let (level, text) = only(findings("there", &[probe; 10]));
        assert_eq!(level, Level::Warning);
        assert!(text.contains("0 of 10") && text.contains("start the gateway"), "{text}");
    }
}
