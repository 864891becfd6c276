//! A trunk in a tunnel: what is too long for it, and a path that becomes narrower.

mod gateway_support;

use airtcp_core::Packet;
use airtcp_linux::gateway::Status;
use bytes::Bytes;
use gateway_support::packet::Tap;
use gateway_support::trunk::{config, is_open};
use gateway_support::{Gateway, Net, RECEIVER, can_run};
use std::time::Duration;

/// What a datagram of a gateway takes around a packet, without a key: IPv4, UDP, our header, the kind of message.
const OVERHEAD: u64 = 20 + 8 + 28 + 1;

fn tunnel(net: &Net, host: &str, is_ipv6: bool) -> Gateway {
    net.gateway_with(host, config(net, host, &[("carriage", "tunnel")], is_ipv6), "")
}

/// A ping of so many IP bytes; what the sender's kernel answers if it is told of an MTU.
fn ping(net: &Net, address: &str, length: u64, dont_fragment: bool) -> Result<(), String> {
    let (header, hint) = (if address.contains(':') { 48 } else { 28 }, if dont_fragment { "do" } else { "dont" });
    let line = format!("sh -c 'ping -n -c1 -W2 -M {hint} -s {} {address} 2>&1 || true'", length - header);
    let said = net.exec("s", &line);
    if said.contains(" 0% packet loss") { Ok(()) } else { Err(said) }
}

/// What a router between the gateways says of a datagram from `a` to `b`.
fn router_says(net: &Net, mtu: u32) {
    let tap = Tap::open(net, "b", "air", "a");
    let port = 4791u16.to_be_bytes();
    let udp = [&port[..], &port, &1400u16.to_be_bytes(), &[0, 0], &[0; 1392]].concat();
    let datagram = Packet::opaque("10.2.0.1".parse().unwrap(), "10.2.0.2".parse().unwrap(), 17, Bytes::from(udp));
    tap.send(&datagram.too_big(mtu).unwrap().to_wire());
}

#[test]
fn senders_are_told_what_enters_a_tunnel_and_what_may_be_cut_is_and_a_narrower_path_is_noticed() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let mut gateways = ["a", "b"].map(|host| tunnel(&net, host, false));
    gateways.iter_mut().for_each(|gateway| drop(gateway.wait_for("open", is_open)));
    let [mut a, b] = gateways;
    let unsent = a.status().unwrap().control["send_errors"];
    for (path_mtu, told) in [(1500, 0), (1400, 1400)] {
        let mtu = path_mtu - OVERHEAD;
        if told > 0 {
            router_says(&net, told);
        }
        // The gauge follows the packets.
        let knows = |status: &Status| status.gauges["tunnel_mtu_bytes"] == mtu;
        a.wait_for("of the new MTU", |status| {
            assert!(net.ping());
            knows(status)
        });
        // Before its kernel is told, the sender sends packets of 1500 bytes.
        net.exec("s", "ip route flush cache");
        assert_eq!(ping(&net, RECEIVER.0, 1500, false), Ok(()), "cut, and put together by the receiver");
        assert_eq!(ping(&net, RECEIVER.0, 4000, false), Ok(()), "fragments, cut again");
        for address in [RECEIVER.0, RECEIVER.1] {
            assert_eq!(ping(&net, address, mtu, true), Ok(()));
            let said = ping(&net, address, mtu + 1, true).unwrap_err();
            let named = format!("mtu={mtu}");
            assert!(said.to_lowercase().replace("mtu = ", "mtu=").contains(&named), "{address}: {said}");
        }
    }
    let status = a.status().unwrap();
    assert!(status.conserved && status.broken.is_none(), "{status:?}");
    assert!(status.events["fragmented_packets"] >= 4 && status.events["too_big_told"] >= 4, "{:?}", status.events);
    assert!(status.discarded["too_big"] >= 4 && status.control["send_errors"] == unsent, "{status:?}");
    a.stop();
    b.stop();
}

#[test]
fn a_path_that_swallows_long_packets_and_says_nothing_is_found_out() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    // A device drops what is longer than its MTU and a VLAN tag, unseen by the sender.
    net.exec("b", "ip link set air mtu 1400");
    let carried = 1396 + 1..=1400 + 4;
    let mut gateways = ["a", "b"].map(|host| tunnel(&net, host, false));
    gateways.iter_mut().for_each(|gateway| drop(gateway.wait_for("open", is_open)));
    let [mut a, b] = gateways;
    a.wait_for("alert", |status| status.control["path_mtu_black_holes"] == 1);
    let path_mtu = |status: &Status| status.gauges["tunnel_mtu_bytes"] + OVERHEAD;
    let status = a.wait_for("of the MTU of the path", |status| carried.contains(&path_mtu(status)));
    assert!(status.advice.as_ref().is_some_and(|advice| advice.contains("drops long packets")), "{:?}", status.advice);
    net.exec("s", "ip route flush cache");
    // Answers go through the tunnel of the other end, whose link has an MTU of 1400.
    let fits = status.gauges["tunnel_mtu_bytes"].min(1400 - OVERHEAD);
    assert_eq!(ping(&net, RECEIVER.0, 1500, false), Ok(()), "cut, and put together by the receiver");
    for address in [RECEIVER.0, RECEIVER.1] {
        assert_eq!(ping(&net, address, fits, true), Ok(()));
        assert!(ping(&net, address, 1500, true).is_err(), "its sender is told");
    }
    let status = a.status().unwrap();
    assert!(status.conserved && status.broken.is_none(), "{status:?}");
    assert!(status.events["too_big_told"] >= 2 && status.advice.is_some(), "{status:?}");
    a.stop();
    b.stop();
}

#[test]
fn a_tunnel_over_ipv6_whose_far_end_dies_leaves_its_packets_to_the_kernel_and_goes_on_with_a_new_one() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let (mut near, mut far) = (tunnel(&net, "a", true), tunnel(&net, "b", true));
    near.wait_for("open", is_open);
    far.wait_for("open", is_open);
    for address in [RECEIVER.0, RECEIVER.1] {
        assert_eq!(ping(&net, address, 1500 - 20 - OVERHEAD, true), Ok(()), "IPv6 around it takes 20 bytes more");
        assert!(ping(&net, address, 1500 - 19 - OVERHEAD, true).is_err());
    }
    far.kill_dash_nine();
    // The silence after which the other end counts as gone, and two beats.
    std::thread::sleep(Duration::from_millis(1_400));
    net.exec("s", "ip route flush cache");
    assert_eq!(ping(&net, RECEIVER.0, 1500, true), Ok(()), "beside the tunnel");
    assert!(!near.status().unwrap().diverting);
    far = tunnel(&net, "b", true);
    far.wait_for("open", is_open);
    near.wait_for("open again", is_open);
    assert!(net.ping());
    assert!(far.status().unwrap().events["decapsulated_packets"] > 0);
    let status = near.status().unwrap();
    assert!(status.conserved && status.broken.is_none() && status.restarts == 0, "{status:?}");
    near.stop();
    far.stop();
}
