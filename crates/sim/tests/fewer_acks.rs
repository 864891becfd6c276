//! What else spares the way back: acknowledgments filtered in a queue, receivers that send few, and a medium that takes
//! them back within the exchange.

use crate::common::uploads::Cell;
use crate::common::{NO_HABITS, bulk, events, link, mbit, owned, tcp};
use airtcp_core::{DropReason, Event};
use airtcp_schemes::baselines::{ack_filter, thin};
use airtcp_sim::dot11::{FrameKind, Usage};
use airtcp_sim::{Outcome, RunSettings, Topology};

fn filtered(cell: &Cell, settings: &[(&str, &str)]) -> Outcome {
    cell.run(|topology, wlan, _| topology.scheme("filter", wlan, ack_filter::ENTRY.with(owned(settings)).unwrap()))
}

/// TCP acknowledgments that the access point delivered.
fn acks_on_air(outcome: &Outcome) -> u64 {
    outcome.wlans[0].interfaces[0].1.frames_delivered[FrameKind::TcpAck as usize]
}

fn dropped(outcome: &Outcome, place: &str, reason: DropReason) -> u64 {
    let drops = outcome.drops.iter().filter(|drop| drop.place == place && drop.reason == reason);
    drops.map(|drop| drop.packets).sum()
}

#[test]
fn an_ack_filter_at_the_access_point_spares_the_air_most_of_the_acknowledgments_that_wait() {
    let cell = Cell::of(10, &[]);
    let plain = cell.plain();
    let [conservative, aggressive] = ["conservative", "aggressive"].map(|mode| filtered(&cell, &[("mode", mode)]));
    let acks = [&plain, &conservative, &aggressive].map(acks_on_air);
    println!("{acks:?} acknowledgments, {:?} Mbit/s", [&plain, &conservative, &aggressive].map(mbit));
    // The access point, always with something to send, has the share of one station either way.
    assert!(acks[1..].iter().all(|filtered| filtered * 10 < acks[0] * 7), "{acks:?}");
    for outcome in [&conservative, &aggressive] {
        assert!(mbit(outcome) > 1.05 * mbit(&plain));
        let suppressed = events(&outcome.schemes[0], Event::ACK_SUPPRESSED);
        assert_eq!(dropped(outcome, "schemes.filter.ap", DropReason::SUPPRESSED), suppressed);
        // The queue is the box's: the interface has no reason to drop.
        assert_eq!(dropped(outcome, "wlans.wifi.ap", DropReason::QUEUE_FULL), 0);
    }
}

#[test]
fn with_an_ack_filter_every_file_arrives_whole_through_damage_and_a_short_queue() {
    let lossy = [("data_loss", "20%"), ("control_loss", "5%"), ("retry_limit", "3"), ("ap_queue", "5packets")];
    let cell = Cell { size: Some(500_000), seconds: 120, ..Cell::of(5, &lossy) };
    for mode in ["conservative", "aggressive"] {
        let outcome = filtered(&cell, &[("mode", mode)]);
        for flow in &outcome.flows {
            assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{} {mode}", flow.name);
        }
    }
}

#[test]
fn on_a_slow_way_back_an_ack_filter_gives_a_download_the_way_there() {
    // An acknowledgment of 52 bytes for 3000: 64 kbit/s back are enough for 3.7 Mbit/s there, and more only by losses.
    let mut topology = Topology::new();
    let [client, router, server] = ["client", "router", "server"].map(|name| topology.node(name));
    let up = link(&[("rate", "64kbit"), ("delay", "10ms"), ("queue", "50packets")]);
    let down = link(&[("rate", "10Mbit"), ("delay", "10ms"), ("queue", "100packets")]);
    let access = topology.link("access", client, router, up, down);
    let wire = link(&[("rate", "100Mbit"), ("delay", "5ms")]);
    topology.link("wire", router, server, wire.clone(), wire);
    topology.flow(bulk("download", server, client, tcp(&[])));
    let run = |topology: &Topology| {
        let outcome = topology.run(&RunSettings::default()).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    };
    let plain = mbit(&run(&topology));
    topology.scheme("filter", access, ack_filter::ENTRY.with(owned(&[("mode", "aggressive")])).unwrap());
    let outcome = run(&topology);
    println!("plain {plain:.2} Mbit/s, filtered {:.2} Mbit/s", mbit(&outcome));
    assert!(plain < 8.0 && mbit(&outcome) > 9.0, "plain {plain} Mbit/s, filtered {} Mbit/s", mbit(&outcome));
}

#[test]
fn receivers_that_acknowledge_four_times_in_a_round_trip_leave_the_air_to_data() {
    // The lowest round trip is that of an empty cell, about 34 ms: at most 118 acknowledgments in a second for each flow.
    // Where many share the air, two segments of a flow take longer than that, and nothing changes.
    for (stations, spared, gained) in [(1, 40, 1.05), (2, 10, 1.02), (10, 0, 0.95)] {
        let cell = |tcp| Cell { tcp, ..Cell::of(stations, &[]) }.plain();
        let (plain, tack) = (cell(&[NO_HABITS]), cell(&[NO_HABITS, ("acks_per_rtt", "4")]));
        let acks = [&plain, &tack].map(acks_on_air);
        println!("{stations}: {acks:?} acknowledgments, {:.2} and {:.2} Mbit/s", mbit(&plain), mbit(&tack));
        assert!(acks[1] * 100 < acks[0] * (100 - spared) && mbit(&tack) > gained * mbit(&plain), "{stations} stations");
    }
}

#[test]
fn with_few_acknowledgments_files_arrive_whole_and_about_as_soon() {
    let cell = |tcp| Cell { tcp, size: Some(500_000), seconds: 120, ..Cell::of(5, &[("data_loss", "20%")]) };
    let took = |tcp: &'static [(&str, &str)]| {
        let outcome = cell(tcp).plain();
        let last = outcome.flows.iter().map(|flow| {
            assert_eq!(flow.sent_sha256, flow.received_sha256, "{}", flow.name);
            flow.completed_at.expect("complete").as_nanos()
        });
        last.max().unwrap_or(0)
    };
    let plain = took(&[]);
    for tcp in
        [&[("acks_per_rtt", "4")][..], &[("acks_per_rtt", "1")], &[("acks_per_rtt", "4"), ("timestamps", "false")]]
    {
        assert!(took(tcp) * 10 < plain * 12, "{tcp:?}: {} ns, plain {plain} ns", took(tcp));
    }
}

#[test]
fn with_dcf_plus_acknowledgments_need_no_contention_which_is_worth_more_than_a_cts_with_rts() {
    let goodput = |stations, settings: &[(&str, &str)], which| {
        let cell = Cell::of(stations, &[settings, &[("reverse_frame", which)]].concat());
        mbit(&cell.plain())
    };
    let rts: &[(&str, &str)] = &[("rts_threshold", "0")];
    let ofdm: &[(&str, &str)] = &[("phy", "g"), ("rate", "54Mbit"), ("basic_rate", "24Mbit")];
    // Without RTS a CTS of 802.11b takes as long as the contention of two stations that it spares.
    for (settings, least, most) in [(rts, 1.05, 1.15), (ofdm, 1.02, 1.10), (&[], 0.95, 1.0)] {
        for stations in [1, 2] {
            let [plain, head] = ["none", "head"].map(|which| goodput(stations, settings, which));
            println!("{stations} {settings:?}: plain {plain:.2}, DCF+ {head:.2} Mbit/s");
            assert!((least..most).contains(&(head / plain)), "{stations} {settings:?}: {head} of {plain}");
        }
    }
}

#[test]
fn with_dcf_plus_fewer_acknowledgments_are_lost_before_the_air_and_no_station_starves() {
    let of = |which| {
        let outcome = Cell::of(20, &[("reverse_frame", which)]).plain();
        let slowest = outcome.flows.iter().map(|flow| flow.measured_bytes * 20).min().unwrap_or(0);
        let all: u64 = outcome.flows.iter().map(|flow| flow.measured_bytes).sum();
        (dropped(&outcome, "wlans.wifi.ap", DropReason::QUEUE_FULL), slowest * 100 / all)
    };
    let ((plain_lost, plain_share), (lost, share)) = (of("none"), of("any"));
    println!("lost {plain_lost} and {lost}, the slowest has {plain_share} % and {share} % of its share");
    assert!(plain_lost > 1000 && lost * 2 < plain_lost && plain_share < 30 && share > 50);
}

#[test]
fn with_dcf_plus_every_file_arrives_whole_through_damage() {
    for which in ["head", "any"] {
        let lossy = [("data_loss", "20%"), ("control_loss", "5%"), ("retry_limit", "4"), ("reverse_frame", which)];
        let outcome = Cell { size: Some(500_000), seconds: 120, ..Cell::of(5, &lossy) }.plain();
        assert!(outcome.wlans[0].medium.reverse_frames > 100);
        for flow in &outcome.flows {
            assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{} {which}", flow.name);
        }
    }
}

/// A cell of 802.11g at 54 Mbit/s whose access point's queue drops nothing.
const FAST: &[(&str, &str)] = &[
    ("phy", "g"),
    ("rate", "54Mbit"),
    ("basic_rate", "24Mbit"),
    ("queue", "1000packets"),
    ("ap_queue", "1000packets"),
];

fn thinned(cell: &Cell, settings: &[(&str, &str)]) -> Outcome {
    cell.run(|topology, wlan, _| topology.scheme("thin", wlan, thin::ENTRY.with(owned(settings)).unwrap()))
}

/// Acknowledgments that crossed the air, in whichever direction.
fn acks_both_ways(outcome: &Outcome) -> u64 {
    let of = |usage: &Usage| usage.frames_delivered[FrameKind::TcpAck as usize];
    outcome.wlans[0].interfaces.iter().map(|(_, usage)| of(usage)).sum()
}

#[test]
fn where_the_air_is_fast_a_third_or_a_fifteenth_of_the_acknowledgments_carries_more_up_and_down() {
    for downloads in [false, true] {
        let cell = Cell { downloads, seconds: 15, ..Cell::of(3, FAST) };
        let plain = cell.plain();
        let [three, fifteen] = ["3", "15"].map(|every| thinned(&cell, &[("every", every)]));
        let acks = [&plain, &three, &fifteen].map(acks_both_ways);
        let rates = [&plain, &three, &fifteen].map(mbit);
        println!("downloads {downloads}: {acks:?} acknowledgments, {rates:.2?} Mbit/s");
        // What leaves at once and what leaves by the timer adds to one of three, or of fifteen: no flow has fifteen in 10 ms.
        assert!(acks[1] * 2 < acks[0] && acks[2] * 3 < acks[0] && acks[2] < acks[1], "{acks:?}");
        assert!(rates[1] > 1.05 * rates[0] && rates[2] > 1.05 * rates[0], "{rates:?}");
        // The other end's interfaces have none to thin.
        let elsewhere = if downloads { "near" } else { "far" };
        let none = thinned(&cell, &[("at", elsewhere)]);
        assert!(acks_both_ways(&none) * 10 > acks[0] * 9, "{elsewhere}");
    }
}

#[test]
fn in_a_slow_cell_thin_is_as_if_it_were_not_there() {
    let cell = Cell { seconds: 10, ..Cell::of(3, &[]) };
    let delivered = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.total_bytes).collect::<Vec<_>>();
    let (plain, thin) = (cell.plain(), thinned(&cell, &[("every", "15")]));
    assert_eq!((delivered(&plain), acks_both_ways(&plain)), (delivered(&thin), acks_both_ways(&thin)));
    assert_eq!(events(&thin.schemes[0], Event::ACK_SUPPRESSED), 0);
}

#[test]
fn with_thinned_acknowledgments_every_file_arrives_whole_through_damage() {
    let lossy = [FAST, &[("data_loss", "20%"), ("control_loss", "5%"), ("retry_limit", "3")]].concat();
    for downloads in [false, true] {
        let cell = Cell { downloads, size: Some(500_000), seconds: 60, ..Cell::of(3, &lossy) };
        for flow in &thinned(&cell, &[("every", "15")]).flows {
            assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{}", flow.name);
        }
    }
}

#[test]
fn with_hack_acknowledgments_ride_and_leave_the_air_to_data_up_and_down() {
    for downloads in [false, true] {
        for cell in [FAST, &[("phy", "n"), ("queue", "1000packets"), ("ap_queue", "1000packets")]] {
            let of = |settings: &[(&str, &str)]| {
                Cell { downloads, seconds: 15, ..Cell::of(3, &[cell, settings].concat()) }.plain()
            };
            let (plain, hack) = (of(&[]), of(&[("hack", "true")]));
            let (acks, rates) = ([&plain, &hack].map(acks_both_ways), [&plain, &hack].map(mbit));
            let riders = hack.wlans[0].medium.riders;
            println!("downloads {downloads} {cell:?}: {acks:?} acknowledgments, {riders} ride, {rates:.2?} Mbit/s");
            assert!(acks[1] * 3 < acks[0] && riders > acks[1], "{acks:?} {riders}");
            assert!(rates[1] > 1.03 * rates[0], "{rates:?}");
            assert_eq!(plain.wlans[0].medium.riders, 0);
        }
    }
}

#[test]
fn with_hack_every_file_arrives_whole_through_damage() {
    for cell in [FAST, &[("phy", "n")]] {
        let lossy =
            [cell, &[("data_loss", "20%"), ("control_loss", "10%"), ("retry_limit", "4"), ("hack", "true")]].concat();
        for downloads in [false, true] {
            let cell = Cell { downloads, size: Some(500_000), seconds: 60, ..Cell::of(3, &lossy) };
            for flow in &cell.plain().flows {
                assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{}", flow.name);
            }
        }
    }
}
