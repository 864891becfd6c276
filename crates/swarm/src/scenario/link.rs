//! Random links: rate, delay, queue, MTU, and every impairment there is, all of which end when the network heals.

use super::{LinkPlan, SchemePlan};
use crate::Tables;
use crate::draw::Draw;
use crate::parameters::{Reach, Scale};
use crate::site;
use airtcp_core::{Duration, Probability, Rate};
use airtcp_link::table::Table;
use airtcp_link::{DropTail, LinkSettings, Loss, Outage, Queue, QueueLimit, Reordering};
use airtcp_schemes::{Placement, SchemeEntry};

/// Draws the link between two nodes.
pub(super) fn draw_link(
    draw: &mut Draw,
    ends: [usize; 2],
    flows: usize,
    heal: Duration,
    tables: &Tables<'_>,
) -> LinkPlan {
    let mut forward = draw_direction(draw, flows, heal, None);
    // One MTU for the link, as interfaces that talk to each other have.
    let mut reverse =
        if draw.percent(50) { forward.clone() } else { draw_direction(draw, flows, heal, Some(forward.mtu)) };
    let scale = Scale {
        reach: Reach::Moderate,
        rate: forward.rate.constant(),
        least_packets: least_queue(flows),
        mtu: forward.mtu,
    };
    let schemes: Vec<SchemeEntry> =
        tables.schemes.iter().filter(|entry| entry.placement != Placement::Path).copied().collect();
    let scheme = (!schemes.is_empty() && draw.percent(50)).then(|| {
        let entry = draw.pick(&schemes);
        let mut settings = site::draw_settings(draw, &entry, &scale);
        keep_pace(&mut settings, &scale);
        keep_lean(&mut settings, entry.slug);
        SchemePlan { settings, entry }
    });
    if scheme.as_ref().is_some_and(|scheme| scheme.entry.slug == TUNNEL) {
        [&mut forward, &mut reverse].into_iter().for_each(make_room_for_blocks);
    }
    LinkPlan { ends, directions: [forward, reverse], scheme }
}

/// A code with a hundred packets of redundancy for each of data leaves so little of the link that no bound of time is both
/// true and short; nor is there one where each lone acknowledgment becomes a dozen shards, which fill the link for good.
/// Random operations draw them.
fn keep_lean(settings: &mut Vec<(String, String)>, slug: &str) {
    const MOST_REDUNDANCY: u64 = 10;
    if slug == TUNNEL {
        settings.retain(|(key, _)| key != "r");
        settings.push(("r".into(), "2".into()));
    }
    for (_, value) in settings.iter_mut().filter(|(key, _)| key == "r") {
        if value.parse().is_ok_and(|r: u64| r > MOST_REDUNDANCY) {
            *value = MOST_REDUNDANCY.to_string();
        }
    }
}

/// Acknowledgments that a scheme spaces come as the link carries full packets, or half as fast, as rates are drawn.
/// With hundreds of milliseconds between them they queue for minutes where each timeout adds one.
fn keep_pace(settings: &mut [(String, String)], scale: &Scale) {
    let Some(rate) = scale.rate else { return };
    let most = rate.serialisation(scale.mtu.saturating_mul(2), &mut 0);
    for (_, value) in settings.iter_mut().filter(|(key, _)| key == "spacing") {
        *value = value.parse::<Duration>().map_or(most, |spacing| spacing.min(most)).to_string();
    }
}

/// Sends all shards of a block at once, and a whole block is lost where the queue drops more than its redundancy.
const TUNNEL: &str = "fec-tunnel";

/// Room for several of the longest blocks, 255 shards each, in a queue that drops nothing else: without it the tunnel carries
/// nothing, faults or not, as it neither waits nor asks.
fn make_room_for_blocks(direction: &mut LinkSettings) {
    direction.queue = Queue::DropTail(DropTail { limit: QueueLimit::Packets(4 * 255) });
}

/// Room for a few packets of each flow: with less, TCP starves some of many flows for minutes, faults or not (one
/// flow that fills a buffer of one packet again as soon as it is free keeps everybody else out).
pub(super) fn least_queue(flows: usize) -> u64 {
    4 + 2 * flows as u64
}

/// With packets of `mtu` bytes, if the other direction has them.
fn draw_direction(draw: &mut Draw, flows: usize, heal: Duration, mtu: Option<u32>) -> LinkSettings {
    let drawn = if draw.percent(70) { 1500 } else { draw.pick(&[576, 1006, 1280, 9000]) };
    let mtu = mtu.unwrap_or(drawn);
    let rate = Rate::from_bps(draw.magnitude(300_000, 6_000_000));
    let delay = draw.span(Duration::from_micros(10), Duration::from_millis(80));
    let mut queue = draw_queue(draw, least_queue(flows) * u64::from(mtu), mtu);
    allow_waits(&mut queue, rate.serialisation(mtu.saturating_mul(flows as u32 + 1), &mut 0));
    LinkSettings {
        rate: rate.into(),
        delay: delay.into(),
        mtu,
        queue,
        loss: draw_loss(draw),
        reorder: draw_reordering(draw),
        duplicate: rarely(draw, 30),
        corrupt: rarely(draw, 10),
        outage: draw_outage(draw, heal),
        impaired_until: Some(heal),
        jitter: draw_jitter(draw),
    }
}

fn draw_jitter(draw: &mut Draw) -> Duration {
    let most = draw.span(Duration::from_micros(10), Duration::from_millis(50));
    if draw.percent(20) { most } else { Duration::ZERO }
}

/// Any kind of queue with its defaults, and a limit where the kind has one.
///
/// FQ-CoDel's limit is in bytes here. When FQ-CoDel is full, the queue with the most bytes loses its head (RFC 8290, section
/// 4.1). If short packets fill a limit of 12 packets, a flow's only long packet is the one that goes, each time: seven
/// packets of 1113 bytes are fewer bytes than one of 9000. With `least` bytes of room, in which each flow has its longest
/// packet, the queue with the most bytes has two packets at least.
fn draw_queue(draw: &mut Draw, least: u64, mtu: u32) -> Queue {
    let kind = draw.pick(Queue::KINDS);
    let bytes = draw.magnitude(least, 4 * least);
    let counts_bytes = draw.percent(50);
    let mut queue = Queue::of_kind(kind.name).unwrap_or_default();
    let limit = if counts_bytes || matches!(queue, Queue::FqCodel(_)) {
        QueueLimit::Bytes(bytes)
    } else {
        QueueLimit::Packets(bytes / u64::from(mtu))
    };
    if kind.name == "header-first" {
        // Any threshold is possible on any link. Ordinary packets count as headers, so that every flow has some;
        // where there are circuits, theirs count (`circuit::fit_queues`).
        let threshold = (bytes / u64::from(mtu)).max(1).to_string();
        let is_set = queue.set("threshold", &threshold.into()).and_then(|()| queue.set("dscp", &"0".into()));
        debug_assert!(is_set.is_ok(), "{is_set:?}");
    }
    let unlimited = queue.clone();
    let is_set = queue.set("limit", &limit.to_string().into()).and(Ok(queue.check().is_ok()));
    if is_set == Ok(true) { queue } else { unlimited }
}

/// A queue that measures waits accepts `least` of them for good: a packet of each flow takes as long, and no window is
/// smaller. With a lower target it drops all that waits behind the one in transmission, as a buffer of one packet (RFC
/// 8289 section 4.4 asks for a packet's time at least).
fn allow_waits(queue: &mut Queue, least: Duration) {
    let target = least.max(Duration::from_millis(5));
    // Other kinds have no such keys.
    if queue.set("target", &target.to_string().into()).is_ok() {
        let is_set = queue.set("interval", &target.saturating_mul(20).to_string().into());
        debug_assert!(is_set.is_ok(), "{is_set:?}");
    }
}

/// Nothing in most cases, else up to `most` percent.
fn rarely(draw: &mut Draw, most: u64) -> Probability {
    let probability = Probability::ratio(draw.magnitude(1, most * 10), 1000);
    if draw.percent(35) { probability } else { Probability::NEVER }
}

fn draw_loss(draw: &mut Draw) -> Loss {
    if draw.percent(5) {
        return Loss::bernoulli(Probability::ALWAYS);
    }
    let kind = draw.pick(Loss::KINDS);
    let share = rarely(draw, 40);
    let mut loss = Loss::of_kind(kind.name).unwrap_or_default();
    let errors = Probability::from_fixed(share.fixed() / 10_000).to_string();
    let keys = [
        ("probability", share.to_string()),
        ("rate", errors),
        ("mean", share.to_string()),
        ("burst", draw.between(1, 20).to_string()),
    ];
    for (key, value) in &keys {
        // A kind has some of these keys.
        let _ = loss.set(key, &value.into());
    }
    let is_possible = loss.check().is_ok() && draw.percent(70);
    if is_possible { loss } else { Loss::bernoulli(share) }
}

fn draw_reordering(draw: &mut Draw) -> Reordering {
    let probability = rarely(draw, 20);
    Reordering { probability, delay: draw.span(Duration::from_micros(100), Duration::from_millis(200)) }
}

/// One outage or many, the last perhaps cut short by healing.
fn draw_outage(draw: &mut Draw, heal: Duration) -> Outage {
    if !draw.percent(25) {
        return Outage::default();
    }
    let duration = draw.span(Duration::from_millis(1), heal);
    let pause = draw.span(Duration::from_millis(1), heal);
    let every = draw.percent(50).then(|| duration + pause);
    Outage { start: Duration::from_nanos(draw.below(heal.as_nanos())), duration, every }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_link::{Codel, FqCodel};

    #[test]
    fn every_queue_has_room_for_packets_of_each_flow_and_accepts_their_time() {
        const FLOWS: usize = 12;
        let (mut draw, tables) = (Draw::new(1, "links"), Tables::built_in());
        let mut timed = 0;
        for _ in 0..300 {
            let link = draw_link(&mut draw, [0, 1], FLOWS, Duration::from_secs(1), &tables);
            for LinkSettings { queue, rate, mtu, .. } in &link.directions {
                let room = queue.limit().bytes(*mtu);
                assert!(room >= least_queue(FLOWS) * u64::from(*mtu), "{room} of {mtu}");
                let (Queue::Codel(Codel { target, .. }) | Queue::FqCodel(FqCodel { target, .. })) = queue else {
                    continue;
                };
                timed += 1;
                let least = rate.constant().unwrap().serialisation(*mtu * FLOWS as u32, &mut 0);
                assert!(*target >= least, "{target} of {least}");
            }
        }
        assert!(timed > 20, "{timed}");
    }

    #[test]
    fn spaced_acknowledgments_keep_the_pace_of_the_link() {
        let scale =
            Scale { reach: Reach::Moderate, rate: Some(Rate::from_bps(1_200_000)), least_packets: 6, mtu: 1500 };
        for (drawn, kept) in [("646ms", "20ms"), ("3ms", "3ms")] {
            let mut settings = vec![("queue".to_owned(), "9kB".to_owned()), ("spacing".to_owned(), drawn.to_owned())];
            keep_pace(&mut settings, &scale);
            assert_eq!((settings[0].1.as_str(), settings[1].1.as_str()), ("9kB", kept));
        }
    }
}
