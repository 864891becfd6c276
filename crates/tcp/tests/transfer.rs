//! Whatever the path does, every byte arrives exactly once and in order.

use crate::harness::*;

use airtcp_core::{Duration, Rng};
use airtcp_tcp::{Chunk, Config, Connection, RecoveryKind, State, Stream};
use bytes::Bytes;

const VARIANTS: [RecoveryKind; 4] =
    [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::NewReno, RecoveryKind::OneSegment];

/// `len` bytes each way over `path`, then close from both sides.
fn transfer_both_ways(config: &Config, len: u64, path: Path) -> Net {
    // Long enough for the other end's last FIN, however often it is lost.
    let config = &Config { time_wait: Duration::from_secs(500), ..config.clone() };
    let mut net = Net::new(config, config, 20, path);
    net.b_writes = len;
    net.b_closes = true;
    assert_eq!(net.a.write_virtual(len), len);
    net.a.shutdown();
    net.run_until(Duration::from_secs(3000), |net| {
        net.a.is_closed() && net.b.as_ref().is_some_and(Connection::is_closed)
    });
    for end in [&net.a, net.b.as_ref().unwrap()] {
        assert_eq!(end.stream_check(), Ok(()));
        assert_eq!(end.stats().bytes_delivered, len);
        assert_eq!(end.stats().bytes_acknowledged, len);
        assert_eq!(end.close_reason(), Some(airtcp_tcp::CloseReason::Finished));
        let sk = end.sock();
        assert_eq!([sk.packets_out, sk.sacked_out, sk.lost_out, sk.retrans_out], [0; 4]);
    }
    net
}

#[test]
fn arrives_complete_under_loss_in_both_directions() {
    for kind in VARIANTS {
        for (p, len) in [("0%", 2_000_000), ("1%", 2_000_000), ("5%", 500_000), ("20%", 100_000)] {
            for seed in 0..4 {
                let config = Config { recovery: kind, ..sink() };
                transfer_both_ways(&config, len, lossy(p, seed));
            }
        }
    }
}

#[test]
fn arrives_complete_without_sack_without_timestamps_and_without_scaling() {
    for (sack, timestamps, window_scaling) in [(false, true, true), (true, false, true), (false, false, false)] {
        let config = Config { sack, timestamps, window_scaling, ..sink() };
        for seed in 0..4 {
            transfer_both_ways(&config, 300_000, lossy("3%", seed));
        }
    }
}

#[test]
fn arrives_complete_under_reordering_duplication_and_corruption() {
    for kind in VARIANTS {
        for seed in 0..6 {
            let mut rng = Rng::derive(seed, "mess");
            let path: Path = Box::new(move |_, _, _| match rng.below(20) {
                0 => Fate::Late(Duration::from_micros(rng.below(30_000))),
                1 => Fate::Duplicate,
                2 => Fate::Corrupt,
                3 => Fate::Drop,
                _ => Fate::Deliver,
            });
            let net = transfer_both_ways(&Config { recovery: kind, ..sink() }, 300_000, path);
            assert!(net.a.stats().corrupted_segments > 0);
        }
    }
}

#[test]
fn the_result_does_not_depend_on_where_the_counters_start() {
    let run = |initial, clock| {
        let mut net = Net::numbered(&sink(), &sink(), 20, lossy("5%", 3), initial, clock);
        net.a.write_virtual(3_000_000);
        net.a.shutdown();
        net.b_closes = true;
        net.run_until(Duration::from_secs(1000), |net| net.a.is_closed());
        (*net.a.stats(), *net.b().stats(), net.now)
    };
    // The transfer crosses the wrap of the sequence number, of its sign, and of the clock.
    let reference = run(1000, 1000);
    for (initial, clock) in [(u32::MAX - 20_000, u32::MAX - 100), (u32::MAX / 2 - 500_000, u32::MAX / 2 - 100)] {
        assert_eq!(run(initial, clock), reference);
    }
}

#[test]
fn same_seed_same_trace() {
    let run = || {
        let net = transfer_both_ways(&sink(), 500_000, lossy("5%", 9));
        (*net.a.stats(), net.now)
    };
    assert_eq!(run(), run());
}

#[test]
fn real_bytes_arrive_as_written() {
    for seed in 0..4 {
        let config = Config::without_habits();
        let mut net = Net::new(&config, &config, 20, lossy("5%", seed));
        net.a = Connection::connect(&opening(&config, Stream::Bytes), net.now);
        let text: Vec<u8> = (0..200_000u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let mut written = 0;
        for piece in text.chunks(777) {
            written += net.a.write(&Bytes::copy_from_slice(piece));
        }
        assert_eq!(written, text.len());
        net.a.shutdown();
        let mut got = Vec::new();
        net.run_until(Duration::from_secs(1000), |net| {
            while let Some(Chunk::Bytes(bytes)) = net.b.as_mut().and_then(|b| b.read(5000)) {
                got.extend_from_slice(&bytes);
            }
            net.b.as_ref().is_some_and(Connection::is_read_finished)
        });
        assert_eq!(got, text);
    }
}

#[test]
fn a_relay_of_two_connections_keeps_stream_and_positions() {
    // What the first connection delivers is written into a second one as it comes.
    let config = Config { receive_buffer: airtcp_core::ByteSize(50_000), ..Config::without_habits() };
    let mut first = Net::new(&config, &config, 20, lossy("2%", 1));
    first.a.write_virtual(400_000);
    first.a.shutdown();
    let mut second = Net::new(&config, &sink(), 30, lossy("2%", 2));
    let limited = Config { send_buffer: Some(airtcp_core::ByteSize(20_000)), ..Config::without_habits() };
    second.a = Connection::connect(&opening(&limited, Stream::Relayed), second.now);
    for _ in 0..2_000_000 {
        if !first.a.is_closed() {
            first.step();
        }
        if let Some(b) = &mut first.b {
            while second.a.writable() > 0 {
                let Some(chunk) = b.read(second.a.writable()) else { break };
                assert_eq!(second.a.write_chunk(&chunk), chunk.len());
            }
            if b.is_read_finished() {
                b.shutdown();
                second.a.shutdown();
            }
        }
        second.step();
        if second.b.as_ref().is_some_and(Connection::is_read_finished) {
            assert_eq!(second.b().stats().bytes_delivered, 400_000);
            assert_eq!(second.b().stream_check(), Ok(()));
            return;
        }
    }
    panic!("the relay did not finish");
}

#[test]
fn a_payload_of_another_stream_or_position_is_noticed() {
    use airtcp_core::{Packet, Payload, Segment};
    for wrong in 0..2 {
        let mut net = Net::new(&sink(), &sink(), 20, perfect());
        net.establish();
        net.a.write_virtual(1000);
        let packet = net.a.poll_transmit(net.now).unwrap();
        let Payload::Virtual { stream, offset, len } = packet.payload() else { panic!() };
        let segment = Segment {
            source: packet.ip().source,
            destination: packet.ip().destination,
            traffic_class: 0,
            tcp: *packet.tcp().unwrap(),
        };
        let (stream, offset) = if wrong == 0 { (stream, offset + 1) } else { (stream + 1, offset) };
        let first = Packet::tcp_virtual(&segment, A_STREAM, 0, 10);
        let now = net.now;
        net.b().handle_segment(now, &first);
        assert_eq!(net.b().stream_check(), Ok(()));
        net.b().handle_segment(now, &Packet::tcp_virtual(&segment, stream, offset, len));
        assert!(net.b().stream_check().is_err());
    }
}

#[test]
fn a_closed_direction_leaves_the_other_open() {
    let mut net = Net::new(&sink(), &sink(), 20, lossy("2%", 5));
    net.a.write_virtual(10_000);
    net.a.shutdown();
    net.run_until(Duration::from_secs(60), |net| net.b.as_ref().is_some_and(Connection::is_read_finished));
    assert_eq!(net.b().state(), State::CloseWait);
    net.b().write_virtual(500_000);
    net.run_until(Duration::from_secs(100), |net| net.a.stats().bytes_delivered == 500_000);
    assert!(matches!(net.a.state(), State::FinWait2));
    net.b().shutdown();
    net.run_until(Duration::from_secs(60), |net| net.a.is_closed() && net.b().is_closed());
    assert_eq!((net.a.stream_check(), net.b().stream_check()), (Ok(()), Ok(())));
}
