//! From what was seen to one sentence: would gateways gain anything on this link? No I/O, no clock.
//!
//! The question is what senders lose today, and it has three parts. *Are packets lost that a gateway can repair?* Those that are
//! lost while packets wait are congestion: no gateway repairs them. *Do senders carry less than the link does?* Who fills it
//! needs no repair, whatever is lost (BBR as a rule). *Is it the losses that hold them back?* A sender that takes losses for
//! congestion carries what [`model`] says; one that carries far more does not care, and one that carries far less is held back by something
//! else, as a receiver's window. All three have to be so for a *yes*:
//! where one cannot be told, the answer is *no* or *unknown*.

use super::evidence::{Evidence, Hop, Peer, Repairs, Way, share};
use super::model;
use serde::Serialize;

/// Times plain goodput that has to be expected. Gateways cost something where nothing is to be gained: docs/field.md has 90 of
/// plain CUBIC's 96 on one recorded link without losses, 89 of 95 on another, and 94 to 98 % of plain BBR. Less than a tenth
/// more would be no gain on such links.
const WORTH: f64 = 1.1;
/// Loss events that have to be seen before their share is believed. Of 10 the true mean is between 5 and 18 (Poisson, 95 %).
const LEAST_LOSSES: u64 = 10;
/// The part of the loss events that have to be none of congestion. On links that lose nothing but in their queue some are taken
/// for that: what is lost just when a queue has gone.
const SURE: f64 = 0.25;
/// The same of lost probes. They are few, and which of them met a queue is told by their neighbours only: it takes a majority.
const SURE_OF_PROBES: f64 = 0.5;
/// A sender that carries more than so many times what [`model`] says does not take losses for congestion, and one that carries so many times
/// less is held back by something else. Twice, as the share of losses is known within a factor of two, and a short flow carries more
/// in its slow start.
const INDIFFERENT: f64 = 2.0;
/// Up to this share of losses [`model`] says what a sender carries: it knows no retransmission timeouts, which take much of the time above.
const WITHOUT_TIMEOUTS: f64 = 0.02;
/// From this share of losses on, also senders that do not care gain: docs/local-recovery.md (*Long hops*) has BBR at 10 % with
/// 57 of the link plain and 88 with gateways, at 20 % with 28 and 84.
const HEAVY_LOSS: f64 = 0.1;
/// From this share of losses on short requests wait: at 1 % the 95th percentile of plain CUBIC is 1.5 to 2.7 times that without
/// losses over each of three hops, at 0.5 % 1.1 to 1.4 times; with gateways it is at most 1.1 times
/// (docs/local-recovery.md, *Requests*).
const REQUESTS_LOSS: f64 = 0.01;
/// Round trip of a path of which only the hop is known, in seconds: that of the tables in docs/field.md.
const USUAL_ROUND_TRIP: f64 = 0.05;
/// Bytes of payload in a segment where none was seen.
const USUAL_SEGMENT: f64 = 1448.0;
/// Long flows that ran for less than this say nothing of what senders carry, in seconds.
const LEAST_BUSY: f64 = 1.0;
/// How little packets wait is believed where it says that a link carries so many times what is carried, and no more times than
/// the other.
const HALF_USED: f64 = 2.0;
const MOST_BY_WAITS: f64 = 10.0;
/// Fewer bytes than this are no traffic.
const LEAST_BYTES: u64 = 100_000;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Gateways gain here.
    Yes,
    /// They gain nothing here.
    No,
    /// They would gain, but not on this hop.
    NotHere,
    /// What passed does not tell.
    Unknown,
}

impl Answer {
    /// As the sentence begins.
    pub fn words(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::NotHere => "not here",
            Answer::Unknown => "unknown",
        }
    }
}

/// The answer and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// A name of the reason that stays the same.
    pub reason: &'static str,
    /// Times plain goodput that is expected, where that can be said.
    pub gain: Option<f64>,
    /// Answer and reason in a sentence.
    pub sentence: String,
}

impl Verdict {
    fn new(answer: Answer, reason: &'static str, gain: Option<f64>, because: &str) -> Verdict {
        Verdict { answer, reason, gain, sentence: format!("{}, because {because}", answer.words()) }
    }
}

/// What is found in one direction.
enum Found {
    /// Repair gains so many times, for this reason.
    Gain(f64, String),
    /// Requests wait less.
    Requests(String),
    /// It gains nothing.
    Nothing(&'static str, String),
    /// It does not tell.
    Unknown(&'static str, String),
}

/// Would gateways gain here?
pub fn judge(seen: &Evidence) -> Verdict {
    let ways = [(&seen.out, "leaves"), (&seen.into, "arrives")];
    let passed = ways.iter().map(|(way, _)| way.bytes.all()).sum::<u64>();
    let mut found: Vec<(u64, Found)> = Vec::new();
    if seen.own_bytes > passed && seen.own_bytes >= LEAST_BYTES {
        let because =
            "most of what passes is on its way between gateways that run here: `airtcp status` tells what they repair";
        return Verdict::new(Answer::Unknown, "gateways_run", None, because);
    }
    if passed >= LEAST_BYTES {
        for (place, (way, words)) in ways.into_iter().enumerate().filter(|(_, (way, _))| way.bytes.all() * 10 >= passed)
        {
            found.push((way.bytes.all(), of_way(seen, way, words, place == 0)));
        }
    } else if let Some(hop) = &seen.hop {
        found.push((0, of_hop(seen, hop)));
    } else {
        found.push((
            0,
            Found::Unknown("too_little", format!("only {passed} bytes passed: watch when there is traffic")),
        ));
    }
    let rank = |(bytes, found): &(u64, Found)| match found {
        Found::Gain(..) => (2, *bytes),
        Found::Requests(..) => (1, *bytes),
        _ => (0, *bytes),
    };
    let best = found.into_iter().max_by_key(rank).map(|(_, found)| found);
    match best {
        Some(Found::Gain(gain, because)) => gains(seen, Some(gain), &because),
        Some(Found::Requests(because)) => gains(seen, None, &because),
        Some(Found::Nothing(reason, because)) => {
            elsewhere(seen).unwrap_or_else(|| Verdict::new(Answer::No, reason, None, &because))
        }
        Some(Found::Unknown(reason, because)) => Verdict::new(Answer::Unknown, reason, None, &because),
        None => Verdict::new(Answer::Unknown, "too_little", None, "nothing passed"),
    }
}

/// Repair gains; but is it here that packets are lost, and can something repair them here?
fn gains(seen: &Evidence, gain: Option<f64>, because: &str) -> Verdict {
    let of_tcp = seen.out.loss().max(seen.into.loss());
    match (&seen.hop, seen.peer) {
        // A third: by chance less than one time in thousand where ten are due.
        (Some(hop), _)
            if of_tcp * hop.sent as f64 >= LEAST_LOSSES as f64
                && share(hop.lost + hop.answers_lost, hop.sent) < of_tcp / 3.0 =>
        {
            let because = format!(
                "the hop itself lost {} of {} probes and {} of segments are lost: beyond it",
                hop.lost + hop.answers_lost,
                hop.sent,
                percent(of_tcp)
            );
            Verdict::new(Answer::NotHere, "lost_beyond", None, &because)
        }
        (_, Peer::None) => {
            let because =
                format!("{because}; but the file names no peer, and both ends of the hop have to run airtcp for that");
            Verdict::new(Answer::NotHere, "no_peer", gain, &because)
        }
        (None, Peer::Silent) => {
            let because = format!("{because}, if that is this hop: nothing answers at its other end that could tell");
            Verdict::new(Answer::Yes, "losses", gain, &because)
        }
        _ => Verdict::new(Answer::Yes, "losses", gain, because),
    }
}

/// Nothing to gain on the far side of this box, but on its near side.
fn elsewhere(seen: &Evidence) -> Option<Verdict> {
    let near = |way: &Way| (way.lost_elsewhere, way.segments);
    let (lost, of) = [near(&seen.out), near(&seen.into)].into_iter().max()?;
    let is_there = lost >= LEAST_LOSSES && share(lost, of) >= REQUESTS_LOSS;
    is_there.then(|| {
        let because = format!(
            "{} of segments are lost on the other side of this box and hardly any on this link: watch the link there",
            percent(share(lost, of))
        );
        Verdict::new(Answer::NotHere, "lost_elsewhere", None, &because)
    })
}

fn of_way(seen: &Evidence, way: &Way, words: &str, is_out: bool) -> Found {
    let of_tcp = of_tcp(seen, way, words);
    let hidden = way.bytes.quic + way.bytes.vpn;
    if matches!(of_tcp, Found::Gain(..)) || hidden * 2 < way.bytes.all() {
        return of_tcp;
    }
    let name = if way.bytes.quic > way.bytes.vpn { "QUIC" } else { "a VPN" };
    if seen.repairs == Repairs::Tcp {
        return Found::Nothing(
            "not_repaired",
            format!(
                "most of what {words} is {name}, which this scheme does not touch: ask again with `scheme = \"local-recovery\"`"
            ),
        );
    }
    let Some(hop) = &seen.hop else {
        return Found::Unknown(
            "hidden",
            format!("most of what {words} is {name}, which hides what is lost: `airtcp probe` between both ends tells"),
        );
    };
    of_hidden(seen, way, hop, name, is_out)
}

fn of_tcp(seen: &Evidence, way: &Way, words: &str) -> Found {
    let is_long = way.busy_seconds >= LEAST_BUSY;
    let carries = carries(seen, way);
    if is_long && carries < WORTH * way.busy_bps && way.loss() < HEAVY_LOSS {
        return Found::Nothing(
            "filled",
            format!(
                "senders fill the link as it is: {} of {} are carried while a long flow is under way, and {} of segments are \
                 lost though nothing waits",
                mbit(way.busy_bps),
                mbit(carries),
                percent(way.loss())
            ),
        );
    }
    if way.events < LEAST_LOSSES || way.repairable_events() < SURE {
        let most = upper_bound(way.events, way.segments);
        return little_lost(way, words, is_long.then(|| expected(seen, way, most)));
    }
    let loss = way.loss();
    let lost = format!("{} of the segments that pass are lost on the far side though nothing waits", percent(loss));
    if !is_long {
        return match loss >= REQUESTS_LOSS {
            true => Found::Requests(format!("{lost}, and requests wait for that")),
            false => Found::Nothing("requests", format!("only short flows pass, and only {lost}")),
        };
    }
    let expected = expected(seen, way, way.event_rate());
    if loss < HEAVY_LOSS && way.busy_bps > INDIFFERENT * expected {
        return Found::Nothing(
            "indifferent",
            format!(
                "{lost}, but senders do not slow down for that: they carry {}, and one that did, {}",
                mbit(way.busy_bps),
                mbit(expected)
            ),
        );
    }
    let gain = (carries / way.busy_bps.max(1.0)).min(carries / expected);
    if gain < WORTH {
        return Found::Nothing(
            "too_few",
            format!("{lost}, and a sender that slows down for that still carries what the link does"),
        );
    }
    if is_held_back(way, loss, expected) {
        let because = "something else holds them back, as the receiver's window or how little there is to send";
        let [could, do_carry] = [expected, way.busy_bps].map(mbit);
        return Found::Nothing(
            "held_back",
            format!("{lost}, which leaves senders {could}, and they carry {do_carry}: {because}"),
        );
    }
    Found::Gain(
        gain,
        format!(
            "{lost}, and senders carry {} where the link carries {} or more: {gain:.1} times as much is possible at least",
            mbit(way.busy_bps),
            mbit(carries)
        ),
    )
}

/// Senders carry so much less than losses leave them that it is not for these. Where the path's round trip is not seen nobody can tell.
fn is_held_back(way: &Way, loss: f64, expected: f64) -> bool {
    loss < WITHOUT_TIMEOUTS && way.path_ms.is_some() && INDIFFERENT * way.busy_bps < expected
}

/// Hardly anything is lost that can be repaired, or not enough was seen to say so. `carried`: what senders would carry at the
/// highest share of losses that goes with what was seen.
fn little_lost(way: &Way, words: &str, carried: Option<f64>) -> Found {
    if way.lost >= LEAST_LOSSES && way.repairable_events() < SURE {
        return Found::Nothing(
            "congestion",
            format!(
                "{} of {} lost segments were lost while packets waited: that is congestion, which no gateway repairs",
                way.lost_in_queue, way.lost
            ),
        );
    }
    let is_enough = carried.is_none_or(|carried| way.peak_bps < WORTH * carried);
    if way.segments == 0 {
        return Found::Unknown("too_little", format!("no data of TCP {words}"));
    }
    match is_enough {
        true => Found::Nothing(
            "nothing_lost",
            format!("next to nothing is lost: {} of {} segments", way.lost, way.segments),
        ),
        false => Found::Unknown(
            "too_short",
            format!("{} of {} segments were lost, too few to tell: watch longer", way.lost, way.segments),
        ),
    }
}

/// QUIC and tunnels: what the hop loses is known from probes, and what is carried is seen.
fn of_hidden(seen: &Evidence, way: &Way, hop: &Hop, name: &str, is_out: bool) -> Found {
    let (lost, of) = if is_out { (hop.lost, hop.sent) } else { (hop.answers_lost, hop.sent - hop.lost) };
    let repairable = if is_out { lost.saturating_sub(hop.lost_in_queue) } else { lost };
    let runs = if is_out { hop.runs() } else { lost };
    let (carries, loss) = (carries(seen, way), share(repairable, of));
    if repairable < LEAST_LOSSES || runs < LEAST_LOSSES || share(repairable, lost) < SURE_OF_PROBES {
        let found = format!("the hop lost {lost} of {of} probes, {} of them while packets waited", lost - repairable);
        let most = expected(seen, way, upper_bound(repairable.min(runs), of));
        let may_gain = lost > 0 && carries >= WORTH * most.max(way.busy_bps);
        return match may_gain && share(repairable, lost) >= SURE_OF_PROBES {
            true => Found::Unknown("too_short", format!("{found}, too few to tell: watch longer")),
            false => Found::Nothing("nothing_lost", found),
        };
    }
    let lost =
        format!("the hop loses {} of probes though nothing waits, and most of what passes is {name}", percent(loss));
    let (could, expected) = (carries / way.busy_bps.max(1.0), expected(seen, way, share(runs, of)));
    if way.busy_seconds < LEAST_BUSY {
        return match loss >= REQUESTS_LOSS {
            true => Found::Requests(format!("{lost}: requests wait for that")),
            false => Found::Nothing("requests", format!("only short flows pass, and only {lost}")),
        };
    }
    let gain = could.min(carries / expected);
    if gain < WORTH || (way.busy_bps > INDIFFERENT * expected && loss < HEAVY_LOSS) {
        return Found::Nothing(
            "filled",
            format!("{lost}, but senders carry {} of {}", mbit(way.busy_bps), mbit(carries)),
        );
    }
    Found::Gain(
        gain,
        format!(
            "{lost}, and senders carry {} of {}: {gain:.1} times as much is possible at least",
            mbit(way.busy_bps),
            mbit(carries)
        ),
    )
}

/// Nothing passes but probes: what would a download get?
fn of_hop(seen: &Evidence, hop: &Hop) -> Found {
    let (lost, of) = (hop.lost + hop.answers_lost, hop.sent);
    let repairable = lost.saturating_sub(hop.lost_in_queue);
    let loss = share(repairable, of);
    let Some(carries) = seen.told_bps.or(hop.rate_bps) else {
        return Found::Unknown(
            "no_rate",
            format!("{lost} of {of} probes were lost, and none of them tells the link's rate"),
        );
    };
    let expected = |loss: f64| model::rate(loss, round_trip(Some(hop.round_trip_ms)), USUAL_SEGMENT, 1.0);
    let path = format!("over {:.0} ms there and back", round_trip(Some(hop.round_trip_ms)) * 1e3);
    if lost >= LEAST_LOSSES && share(repairable, lost) < SURE_OF_PROBES {
        return Found::Nothing(
            "congestion",
            format!("{} of {lost} lost probes were lost while packets waited: that is congestion", lost - repairable),
        );
    }
    if repairable < LEAST_LOSSES {
        return match carries < WORTH * expected(upper_bound(repairable, of)) {
            true => Found::Nothing(
                "nothing_lost",
                format!(
                    "next to nothing is lost ({lost} of {of} probes), and a download {path} gets what the link carries, {}",
                    mbit(carries)
                ),
            ),
            false if lost == 0 => Found::Nothing("nothing_lost", format!("none of {of} probes was lost")),
            false => Found::Unknown(
                "too_short",
                format!("{lost} of {of} probes were lost, too few to tell: probe for longer"),
            ),
        };
    }
    let gain = carries / expected(loss);
    let lost = format!("{} of probes are lost though nothing waits", percent(loss));
    match gain >= WORTH {
        true => Found::Gain(
            gain,
            format!(
                "{lost}, and a sender that slows down for that carries {} of {} {path}: {gain:.1} times as much is possible at least",
                mbit(expected(loss)),
                mbit(carries)
            ),
        ),
        false => Found::Nothing(
            "too_few",
            format!("{lost}, and a sender that slows down for that still carries {} {path}", mbit(carries)),
        ),
    }
}

/// What the link carries at least, in bit/s: the most that was seen; or, if that is twice what senders carry, what follows from
/// how little packets wait. No more than the file tells.
fn carries(seen: &Evidence, way: &Way) -> f64 {
    let probed = seen.hop.as_ref().and_then(|hop| hop.rate_bps).unwrap_or(0.0);
    let segment = f64::from(way.segment_bytes.max(1));
    let by_waits = way.round_trip_ms.map_or(0.0, |_| model::least_rate(way.busy_bps, way.wait_ms / 1e3, segment));
    // Paced packets wait less than those of the formula: close to a full link it says too much.
    let by_waits = if by_waits >= HALF_USED * way.busy_bps { by_waits } else { 0.0 };
    // A wait below what is measured says nothing of more than that.
    let by_waits = by_waits.min(MOST_BY_WAITS * way.busy_bps);
    let most = way.peak_bps.max(probed).max(by_waits);
    seen.told_bps.map_or(most, |told| told.min(most))
}

/// What the long flows of this direction would carry at this share of losses if they took them for congestion, in bit/s.
fn expected(seen: &Evidence, way: &Way, loss: f64) -> f64 {
    let of_hop = seen.hop.as_ref().map(|hop| hop.round_trip_ms);
    let round_trip = way.path_ms.map_or_else(|| round_trip(of_hop), |ms| ms.max(0.1) / 1e3);
    let segment = if way.segment_bytes > 0 { f64::from(way.segment_bytes) } else { USUAL_SEGMENT };
    let flows = (way.flow_seconds / way.busy_seconds.max(1e-3)).max(1.0);
    model::rate(loss, round_trip, segment, flows)
}

/// Of a path with this hop, in seconds.
fn round_trip(hop_ms: Option<f64>) -> f64 {
    hop_ms.map_or(USUAL_ROUND_TRIP, |ms| (ms / 1e3).max(USUAL_ROUND_TRIP))
}

/// The highest share that goes with so few losses (Poisson, 95 %, one-sided: 3 of none, 16 of nine).
fn upper_bound(lost: u64, of: u64) -> f64 {
    let lost = lost as f64;
    (lost + 3.0 + 1.3 * lost.sqrt()) / of.max(1) as f64
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent >= 1.0 { format!("{percent:.1} %") } else { format!("{percent:.2} %") }
}

fn mbit(bps: f64) -> String {
    let mbit = bps / 1e6;
    if mbit >= 10.0 { format!("{mbit:.0} Mbit/s") } else { format!("{mbit:.2} Mbit/s") }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
