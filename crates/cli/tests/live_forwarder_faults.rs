//! Two forwarders on real packets, on a path that does something to their datagrams.

mod forwarder_support;

use airtcp_linux::sys::clock;
use airtcp_test_support::is_long;
use forwarder_support::{Fate, Pair, Server, client, elapsed, serve_one, turn, wait_for};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const PORT: u16 = 4792;
const IP_AND_UDP: usize = 28;

/// Drops what is as long as header packets, acknowledgments and handshakes are, and no data.
const NO_HEADERS: &str = "add table inet hole
add chain inet hole out { type filter hook output priority 0; }
add rule inet hole out udp dport 4792 udp length < 150 counter drop";

/// A client that sends `bytes` and wants 1000, and its server, while `meanwhile` goes on.
fn transfer(pair: &Pair, server: &Server, seed: u64, bytes: u64, meanwhile: impl FnOnce()) -> [Fate; 2] {
    let near = pair.connect(Pair::port(), 1).remove(0);
    std::thread::scope(|scope| {
        let served = scope.spawn(|| serve_one(server.accept()));
        let sent = scope.spawn(move || client(near, seed, bytes, 1000));
        meanwhile();
        [sent.join().unwrap(), served.join().unwrap()]
    })
}

#[test]
fn live_header_packets_that_are_all_lost_for_long_stop_a_stream_and_do_not_break_it() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::up(&[("rate", "20Mbit"), ("delay", "5ms")], "silence = \"90s\"");
    let server = pair.serve();
    let hole = if is_long() { 60 } else { 3 };
    let ends = transfer(&pair, &server, 1, 5_000_000, || {
        wait_for("the stream to begin", || pair.count(0, "virtual_bytes") > 500_000);
        pair.command(0, "nft", &[NO_HEADERS]);
        // What had credit is on its way.
        std::thread::sleep(Duration::from_secs(1));
        let before = pair.count(0, "virtual_bytes");
        std::thread::sleep(Duration::from_secs(hole));
        assert_eq!(pair.count(0, "virtual_bytes"), before, "data have no credit without header packets");
        assert!(pair.count(0, "rtos") > 0);
        pair.command(0, "nft", &["delete table inet hole"]);
    });
    assert_eq!(ends, [Fate::Whole, Fate::Whole]);
    wait_for("the connection to be over", || pair.count(0, "connections") == 0);
    assert_eq!([0, 1].map(|end| pair.count(end, "broken")), [0, 0]);
}

#[test]
fn live_a_path_that_takes_only_shorter_packets_from_now_on_carries_the_stream_on() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::up(&[("rate", "20Mbit"), ("delay", "5ms")], "");
    let server = pair.serve();
    let ends = transfer(&pair, &server, 2, 5_000_000, || {
        wait_for("the stream to begin", || pair.count(0, "virtual_bytes") > 500_000);
        for end in 0..2 {
            pair.command(end, "ip", &["link", "set", "dev", &pair.device(end), "mtu", "900"]);
        }
    });
    assert_eq!(ends, [Fate::Whole, Fate::Whole]);
    assert!(pair.fragments(0) > 1000, "{} fragments", pair.fragments(0));
}

#[test]
fn live_forged_and_replayed_datagrams_are_counted_and_change_nothing() {
    const SOME: usize = 300;
    let Some(_turn) = turn() else { return };
    let pair = Pair::up(&[("rate", "20Mbit"), ("delay", "5ms")], "");
    let server = pair.serve();
    let tap = pair.on(1, || raw_socket(Protocol::UDP));
    let sender = pair.on(0, || raw_socket(Protocol::from(255)));
    let to: SocketAddr = (pair.addresses()[1], 0).into();
    let mut sent = 0;
    let ends = transfer(&pair, &server, 3, 5_000_000, || {
        let (begun, mut packet) = (clock::now(), [0; 2048]);
        while sent < SOME && elapsed(begun) < Duration::from_secs(20) {
            let Ok(length) = (&tap).read(&mut packet) else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            if length <= IP_AND_UDP || !is_for_us(&packet, pair.addresses()) {
                continue;
            }
            // No checksum: it would tell that a bit is another.
            packet[26..28].fill(0);
            sender.send_to(&packet[..length], &to.into()).unwrap();
            let byte = IP_AND_UDP + sent * 7 % (length - IP_AND_UDP);
            packet[byte] ^= 1 << (sent % 8);
            sender.send_to(&packet[..length], &to.into()).unwrap();
            sent += 1;
        }
    });
    assert_eq!((ends, sent), ([Fate::Whole, Fate::Whole], SOME));
    // One whose number was there before is replayed, whatever else is wrong with it.
    let [replayed, forged] = ["frame_replayed", "frame_forged"].map(|name| pair.count(1, name) as usize);
    assert!(replayed + forged == 2 * SOME && replayed >= SOME && forged > SOME / 10, "{replayed} {forged}");
    assert_eq!([0, 1].map(|end| pair.count(end, "peer_lives")), [1, 1], "nobody was taken for the peer");
}

/// From the near forwarder to the far one.
fn is_for_us(packet: &[u8], addresses: [IpAddr; 2]) -> bool {
    let octets = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap());
    [octets(12), octets(16)] == addresses && packet[20..24] == [PORT.to_be_bytes(), PORT.to_be_bytes()].concat()
}

fn raw_socket(protocol: Protocol) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).expect("a raw socket");
    socket.set_nonblocking(true).unwrap();
    socket
}
