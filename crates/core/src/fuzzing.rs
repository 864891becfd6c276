//! Properties for the fuzzers: each takes arbitrary bytes and panics when a property fails.

use crate::packet::{Ecn, Packet, TakenShim, TcpFlags, Timestamps};
use crate::serial::SeqNum;
use bytes::Bytes;

/// The wire parser: whatever parses leaves as it came, edits keep the checksum's verdict and
/// read back, and a synthesised copy parses to the same headers.
pub fn wire(data: &[u8]) {
    let Some(packet) = Packet::parse(Bytes::copy_from_slice(data)) else {
        return;
    };
    let total = packet.ip().total_len as usize;
    assert_eq!(packet.to_wire(), data[..total], "an unmodified packet changed");
    assert_eq!(packet.wire_len() as usize, total);
    let again = Packet::parse(packet.to_wire()).expect("what parsed once parses again");
    assert_eq!((again.ip(), again.tcp()), (packet.ip(), packet.tcp()));
    across_a_hop(&packet);
    let Some(tcp) = packet.tcp() else { return };

    let held = packet.checksum_holds();
    let mut edited = packet.clone();
    edited.set_sequence(tcp.sequence + 1);
    edited.set_acknowledgment(SeqNum(!tcp.acknowledgment.0));
    edited.set_window(!tcp.window);
    edited.set_flags(TcpFlags(!tcp.flags.0 & 0x3ff));
    edited.set_ecn(Ecn::Ce);
    edited.set_hop_limit(packet.ip().hop_limit.wrapping_sub(1));
    if let Some(t) = tcp.options.timestamps {
        edited.set_timestamps(Timestamps { value: t.value.wrapping_add(1), echo: !t.echo });
    }
    assert_eq!(edited.checksum_holds(), held, "an edit changed the checksum's verdict");
    let reparsed = Packet::parse(edited.to_wire()).expect("an edit keeps the packet well-formed");
    assert_eq!((reparsed.ip(), reparsed.payload()), (edited.ip(), edited.payload()));
    assert_eq!(reparsed.tcp().map(|t| t.sequence), edited.tcp().map(|t| t.sequence));
    assert_eq!(packet.to_wire(), data[..total], "editing a copy changed the original");
    synthesised(&packet);
}

/// A packet that got a shim and lost it again, and one made from its image, are the same packet.
fn across_a_hop(packet: &Packet) {
    let mut shimmed = packet.clone();
    if shimmed.push_shim(b"body") {
        // A fragment of IPv4 has its fragment word in the shim.
        let word = if packet.ip().is_fragment && packet.ip().source.is_ipv4() { 2 } else { 0 };
        assert_eq!(shimmed.wire_len(), packet.wire_len() + 8 + word);
        let mut read = Packet::parse(shimmed.to_wire()).expect("a shim keeps the packet well-formed");
        assert_eq!(read.take_shim(), TakenShim::Body(Bytes::from_static(b"body")));
        assert_eq!(read.to_wire(), packet.to_wire(), "a shim left a trace");
        assert_eq!((read.ip(), read.tcp()), (packet.ip(), packet.tcp()));
    }
    let image = packet.to_image();
    let shown = Packet::from_image(&image).expect("an image shows its packet");
    assert_eq!((shown.ip(), shown.tcp(), shown.payload()), (packet.ip(), packet.tcp(), packet.payload()));
    assert_eq!(shown.to_image(), image);
}

/// A packet rebuilt from parsed fields has a valid checksum and the same fields again.
fn synthesised(packet: &Packet) {
    let Some(tcp) = packet.tcp() else { return };
    let segment = crate::packet::Segment {
        source: packet.ip().source,
        destination: packet.ip().destination,
        traffic_class: packet.ip().traffic_class,
        tcp: *tcp,
    };
    let payload = packet.payload_bytes().expect("a parsed packet has real bytes");
    if payload.len() > 60_000 {
        return;
    }
    let built = Packet::tcp_bytes(&segment, payload);
    let read = Packet::parse(built.to_wire()).expect("what we build parses");
    assert!(read.checksum_holds(), "what we build has a valid checksum");
    assert_eq!(read.payload(), packet.payload());
    let read_tcp = read.tcp().expect("what we build is TCP");
    assert_eq!(read_tcp.options.timestamps, tcp.options.timestamps);
    assert_eq!(read_tcp.options.mss, tcp.options.mss);
    assert_eq!(
        (read_tcp.sequence, read_tcp.flags, read_tcp.window, read_tcp.urgent),
        (tcp.sequence, tcp.flags, tcp.window, tcp.urgent)
    );
}
