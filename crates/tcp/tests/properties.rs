//! Whatever arrives, nothing panics and the stream stays exact.

use crate::harness::*;

use airtcp_core::{Duration, Packet, Segment, TcpFlags, Timestamps};
use airtcp_tcp::{Config, Connection, RecoveryKind};
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = RecoveryKind> {
    prop_oneof![
        Just(RecoveryKind::Rack),
        Just(RecoveryKind::Sack),
        Just(RecoveryKind::NewReno),
        Just(RecoveryKind::OneSegment)
    ]
}

/// A field near the right value, or anywhere.
fn near() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), 0..5000u32, (0..5000u32).prop_map(|n| n.wrapping_neg()), any::<u32>()]
}

#[derive(Clone, Debug)]
struct Junk {
    sequence: u32,
    acknowledgment: u32,
    flags: u16,
    window: u16,
    len: u32,
    stamps: Option<(u32, u32)>,
    blocks: Vec<(u32, u32)>,
}

fn junk() -> impl Strategy<Value = Junk> {
    let blocks = proptest::collection::vec((near(), near()), 0..4);
    let stamps = proptest::option::of((near(), near()));
    (near(), near(), 0u16..512, any::<u16>(), prop_oneof![Just(0u32), 0u32..3000], stamps, blocks).prop_map(
        |(sequence, acknowledgment, flags, window, len, stamps, blocks)| Junk {
            sequence,
            acknowledgment,
            flags,
            window,
            len,
            stamps,
            blocks,
        },
    )
}

/// A segment like `model`, off by `junk`.
fn forge(model: &Packet, junk: &Junk) -> Packet {
    let mut tcp = *model.tcp().unwrap();
    tcp.sequence += junk.sequence;
    tcp.acknowledgment += junk.acknowledgment;
    // Mostly plain acknowledgments, sometimes any flags.
    tcp.flags = if junk.flags < 300 { TcpFlags::ACK } else { TcpFlags(junk.flags & 0x1ff) };
    tcp.window = junk.window;
    tcp.options.timestamps = tcp.options.timestamps.zip(junk.stamps).map(|(stamps, (value, echo))| Timestamps {
        value: stamps.value.wrapping_add(value),
        echo: stamps.echo.wrapping_add(echo),
    });
    for (left, right) in &junk.blocks {
        tcp.options.sack.push(tcp.acknowledgment + *left, tcp.acknowledgment + *right);
    }
    let segment = Segment { source: model.ip().source, destination: model.ip().destination, traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, A_STREAM, 0, junk.len)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn forged_segments_never_panic(kind in kinds(), forged in proptest::collection::vec(junk(), 1..60), seed in 0u64..1000) {
        let config = Config { recovery: kind, ..sink() };
        let mut net = Net::new(&config, &config, 10, lossy("5%", seed));
        net.b_writes = 200_000;
        net.a.write_virtual(200_000);
        net.establish();
        for junk in &forged {
            for _ in 0..5 {
                net.step();
            }
            let now = net.now;
            let (Some(to_b), Some(to_a)) = (model(&net.a, net.b.as_ref()), net.b.as_ref().and_then(|b| model(b, Some(&net.a)))) else { break };
            net.b().handle_segment(now, &forge(&to_b, junk));
            net.a.handle_segment(now, &forge(&to_a, junk));
        }
        let end = net.now + Duration::from_secs(5);
        while net.now < end && net.step() {}
    }

    #[test]
    fn any_path_delivers_the_stream_exactly(
        kind in kinds(),
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        fates in proptest::collection::vec(0u8..40, 200),
        len in 1u64..200_000,
        buffer in 3_000u64..100_000,
        initial in any::<u32>(),
    ) {
        let config = Config {
            recovery: kind,
            sack,
            timestamps,
            receive_buffer: airtcp_core::ByteSize(buffer),
            time_wait: Duration::from_secs(500),
            ..sink()
        };
        let mut count = 0;
        let path: Path = Box::new(move |_, _, _| {
            count += 1;
            // After a while the path heals, so that every case ends.
            match fates.get(count).copied().unwrap_or(39) {
                0..=3 => Fate::Drop,
                4..=6 => Fate::Duplicate,
                7..=8 => Fate::Corrupt,
                n @ 9..=14 => Fate::Late(Duration::from_millis(u64::from(n) * 3)),
                _ => Fate::Deliver,
            }
        });
        let mut net = Net::numbered(&config, &config, 15, path, initial, initial);
        net.b_writes = len / 2;
        net.b_closes = true;
        net.a.write_virtual(len);
        net.a.shutdown();
        net.run_until(Duration::from_secs(3000), |net| {
            net.a.is_closed() && net.b.as_ref().is_some_and(Connection::is_closed)
        });
        prop_assert_eq!((net.a.stream_check(), net.b().stream_check()), (Ok(()), Ok(())));
        prop_assert_eq!((net.b().stats().bytes_delivered, net.a.stats().bytes_delivered), (len, len / 2));
    }
}

/// The next plain segment this end would send: a model for forgeries to the other end.
fn model(end: &Connection, peer: Option<&Connection>) -> Option<Packet> {
    let sk = end.sock();
    let acknowledgment = peer?.sock().snd_una;
    let flow = end.flow();
    end.is_established().then(|| {
        let tcp = airtcp_core::TcpHeader {
            source_port: flow.source_port,
            destination_port: flow.destination_port,
            sequence: sk.snd_nxt,
            acknowledgment,
            flags: TcpFlags::ACK,
            window: 100,
            urgent: 0,
            options: airtcp_core::TcpOptions {
                timestamps: Some(Timestamps { value: 0, echo: 0 }),
                ..Default::default()
            },
        };
        Packet::tcp_virtual(
            &Segment { source: flow.source, destination: flow.destination, traffic_class: 0, tcp },
            A_STREAM,
            0,
            0,
        )
    })
}
