//! One hub and many peers: each is served as if it were alone, whatever becomes of the others; they come, go and move while
//! traffic runs.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::gateway::status::{PeerStatus, ask};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::Progress;
use airtcp_test_support::skip;
use live_support::hub::{HubGateway, HubNet, arrived, is_taken};
use live_support::{SCHEMES, is_long, seconds, sleep_ms, turn};

/// About two and a half seconds at a spoke's rate.
const FILE_BYTES: u64 = 1_500_000;

/// Of the file behind a peer.
fn family(n: usize) -> Family {
    Family::BOTH[n % 2]
}

/// Sends a file to the first peer alone, over IPv4 and IPv6, and then one to each at the same time, while the last peer dies
/// and the one before it loses a fifth. By how much the others' took longer than alone at most, in percent.
fn slowdown(net: &HubNet, hub: &HubGateway<'_>, peers: usize, bytes: u64) -> f64 {
    let (lossy, dead) = (peers - 2, peers - 1);
    let alone = Family::BOTH.map(|family| {
        let origin = net.restart(1, &[]);
        arrived(&net.file(0, family, bytes, origin).join().expect("sockets"))
    });
    // One dies while it has a file under way and packets in all queues.
    let outage = ("outage", "{ start = \"500ms\", duration = \"100s\" }");
    let origin = net.restart(2, &[(lossy, &[("loss", "20%")]), (dead, &[outage])]);
    let mut files: Vec<_> = (0..peers).map(|n| net.file(n, family(n), bytes, origin)).collect();
    let lost = files.pop().expect("the dead one");
    hub.wait_for_peers(&(0..dead).collect::<Vec<_>>());
    let times: Vec<Duration> = files.into_iter().map(|file| arrived(&file.join().expect("sockets"))).collect();
    lost.progress().cancel();
    let lost = lost.join().expect("sockets").received_bytes;
    assert!((10_000..bytes / 2).contains(&lost), "{lost} bytes before it died");
    let longer = times[..lossy].iter().enumerate().map(|(n, time)| {
        let longer = (seconds(*time) / seconds(alone[n % 2]) - 1.0) * 100.0;
        println!("peer {n}: {longer:.1} % longer than alone");
        longer
    });
    longer.fold(f64::MIN, f64::max)
}

#[test]
fn live_peers_of_a_hub_are_served_as_if_alone_beside_a_dead_one_and_one_that_loses_a_fifth() {
    let Some(_turn) = turn() else { return };
    let schemes = if is_long() { &SCHEMES[..] } else { &SCHEMES[..1] };
    schemes.iter().for_each(|scheme| serves_all_as_if_alone(scheme));
}

fn serves_all_as_if_alone(scheme: &'static str) {
    println!("{scheme}");
    let (peers, bytes) = if is_long() { (16, 4 * FILE_BYTES) } else { (4, FILE_BYTES) };
    let (lossy, dead) = (peers - 2, peers - 1);
    let net = HubNet::up(peers, scheme);
    let hub = net.hub(&[]);
    let spokes: Vec<_> = (0..peers).map(|n| net.spoke(n)).collect();
    // Somebody else may have needed the machine in one of the runs that are compared, but hardly three times.
    let is_as_alone = (0..3).any(|_| {
        net.restart(0, &[]);
        hub.wait_for_peers(&(0..peers).collect::<Vec<_>>());
        slowdown(&net, &hub, peers, bytes) < 3.0
    });
    assert!(is_as_alone);

    let status = hub.assert_sound();
    assert!(status.peers[lossy].events["repairs"] > 100, "{:?}", status.peers[lossy].events);
    let metrics = ask(&net.directory, "hub", "metrics").expect("it answers");
    assert!(metrics.contains("airtcp_peer_up{gateway=\"hub\",peer=\"spoke0\"} 1\n"), "{metrics}");
    assert!(metrics.contains(&format!("airtcp_peer_up{{gateway=\"hub\",peer=\"spoke{dead}\"}} 0\n")), "{metrics}");
    for spoke in &spokes[..dead] {
        spoke.assert_sound();
    }
}

#[test]
fn live_trunks_to_several_peers_begin_and_end_at_one_box() {
    if !is_long() {
        return skip("only in the long form, make test-long");
    }
    let Some(_turn) = turn() else { return };
    let net = HubNet::up(2, "decoupling");
    let hub = net.hub(&[]);
    let spokes = [0, 1].map(|n| net.spoke(n));
    hub.wait_for_peers(&[0, 1]);
    let origin = net.restart(0, &[]);
    let files = [0, 1].map(|n| net.file(n, family(n), FILE_BYTES / 2, origin));
    for file in files {
        arrived(&file.join().expect("a whole transfer"));
    }
    let status = hub.assert_sound();
    for peer in &status.peers {
        assert!(peer.events["tunnelled_packets"] > 100 && peer.events["header_packets"] > 100, "{:?}", peer.events);
    }
    for spoke in spokes {
        // Acknowledgments go back in a trunk of their own.
        let status = spoke.assert_sound();
        assert!(status.events["tunnelled_packets"] > 50, "{:?}", status.events);
        spoke.stop();
    }
}

#[test]
fn live_peers_join_leave_and_move_under_traffic_without_a_lost_stream() {
    let Some(_turn) = turn() else { return };
    let net = HubNet::up(3, "local-recovery");
    let (stays, comes, moves) = (0, 1, 2);
    let hub = net.hub(&[moves]);
    let _stays = net.spoke(stays);
    let moving = net.spoke(moves);
    let status = hub.wait_for_peers(&[stays, moves]);
    assert_eq!(status.peers[moves].peer, Some(net.spoke_address(moves).to_string()), "found by its key");
    assert_eq!(status.peers[comes].peer_state.as_ref().map(|state| state.up), Some(false), "waited for");

    let loss: &[(&str, &str)] = &[("loss", "1%")];
    let origin = net.restart(3, &[(stays, loss), (comes, loss), (moves, loss)]);
    let files = [stays, comes, moves].map(|n| net.file(n, family(n), 3 * FILE_BYTES, origin));
    let is_under_way = |progress: &Progress, bytes: u64| {
        (0..1_000).any(|_| {
            sleep_ms(10);
            progress.received_bytes() > bytes
        })
    };
    assert!(files.iter().all(|file| is_under_way(file.progress(), 100_000)));

    let told = |what: &str| println!("{what} {:.2} s after the start", seconds(clock::now().saturating_since(origin)));
    // One comes.
    let coming = net.spoke(comes);
    hub.wait_for_peers(&[stays, comes, moves]);
    told("one came");
    // One moves. It is followed, and what was under way goes on.
    net.move_spoke(moves, "10.97.0.1");
    told("one was moved");
    let there = "10.97.0.1:4791".to_owned();
    hub.wait("following", |status| status.peers[moves].peer.as_ref() == Some(&there));
    hub.wait_for_peers(&[stays, comes, moves]);
    told("it was followed");
    let before = files.each_ref().map(|file| file.progress().received_bytes());
    assert!((0..3).all(|n| is_under_way(files[n].progress(), before[n] + 100_000)), "all go on after the move");
    // One goes.
    coming.stop();
    hub.wait_for_peers(&[stays, moves]);
    told("one went");
    assert!(files.iter().all(|file| !file.is_finished()), "the files are still under way");

    for file in files {
        let result = file.join().expect("sockets");
        arrived(&result);
        assert!(result.longest_stall < Duration::from_secs(3), "{}: {}", result.name, result.longest_stall);
    }
    let status = hub.assert_sound();
    let repairs = [stays, comes, moves].map(|n| status.peers[n].events["repairs"]);
    assert!(repairs.iter().all(|repairs| *repairs > 0), "{repairs:?}");
    moving.assert_sound();
}

/// Bits per second behind each of four peers at a link of 12 Mbit/s, of which so many are shared in turns, with three
/// connections to the first and one to each of the others.
fn parts_of_the_link(shared_bps: Option<u64>) -> [u64; 4] {
    let net = HubNet::shared(4, "gsnoop", 12_000_000);
    let hub = net.hub_with(&[], |config| config.shared_rate_bps = shared_bps);
    let _spokes: Vec<_> = (0..4).map(|n| net.spoke(n)).collect();
    hub.wait_for_peers(&[0, 1, 2, 3]);
    let origin = net.restart(4, &[]);
    let peers = [0, 0, 0, 1, 2, 3];
    let files = peers.map(|n| net.file(n, Family::V4, 40 * FILE_BYTES, origin));
    let received = || files.each_ref().map(|file| file.progress().received_bytes());
    sleep_ms(2_000);
    let before = received();
    sleep_ms(4_000);
    let mut bps = [0; 4];
    for ((peer, before), after) in peers.iter().zip(before).zip(received()) {
        bps[*peer] += (after - before) * 8 / 4;
    }
    println!("peers 0 to 3: {bps:?} bit/s, shared {shared_bps:?}");
    hub.assert_sound();
    for file in files {
        file.progress().cancel();
        file.join().expect("sockets");
    }
    bps
}

#[test]
fn live_peers_that_share_the_rate_of_the_hubs_link_push_nobody_aside_whatever_runs_to_each() {
    let Some(_turn) = turn() else { return };
    if is_long() {
        // To look at: hops that learn their rates at one queue.
        parts_of_the_link(None);
    }
    let shared_bps = 11_700_000;
    let bps = parts_of_the_link(Some(shared_bps));
    let sum: u64 = bps.iter().sum();
    assert!(sum > shared_bps * 9 / 10 && sum <= shared_bps, "{bps:?}");
    // Hops find their part of the link by trial: a little less or more at any moment.
    let parts = bps.map(|bps| bps * 4 * 100 / sum);
    assert!(parts.iter().all(|part| (65..=125).contains(part)), "{parts:?} % of a fair part: {bps:?}");
}

#[test]
fn live_trunks_of_a_hub_carry_files_in_a_tunnel_to_each_peer() {
    let Some(_turn) = turn() else { return };
    let net = HubNet::up(2, "decoupling");
    let hub = net.hub_with(&[1], |config| {
        // The paper's timers count in half seconds.
        let settings = [("carriage", "tunnel"), ("recovery", "newreno"), ("rto_tick", "auto")];
        config.settings = settings.map(|(key, value)| (key.to_owned(), value.into())).into();
    });
    let spokes: Vec<_> = (0..2).map(|n| net.spoke(n)).collect();
    let is_open = |peer: &PeerStatus| is_taken(peer) && peer.gauges.get("trunk_open") == Some(&1);
    hub.wait("open to all", |status| status.peers.iter().all(is_open));
    let origin = net.restart(1, &[]);
    hub.wait("open to all", |status| status.peers.iter().all(is_open));
    // Their senders are told of the tunnel's MTU, and send shorter segments.
    let files = [0, 1].map(|n| net.file(n, family(n), 300_000, origin));
    for file in files {
        arrived(&file.join().expect("sockets"));
    }
    let status = hub.assert_sound();
    for (peer, spoke) in status.peers.iter().zip(&spokes) {
        let there = spoke.assert_sound().events["decapsulated_packets"];
        let left = peer.events["tunnelled_packets"];
        assert!(there > 200 && there <= left, "{}: {there} of {left}", peer.name);
        assert!(peer.events["too_big_told"] > 0 && peer.gauges["tunnel_mtu_bytes"] == 1500 - 73, "{peer:?}");
    }
    spokes.into_iter().for_each(HubGateway::stop);
    hub.stop();
}
