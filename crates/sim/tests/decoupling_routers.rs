//! Circuits with real control TCPs meet routers that drop headers first, and a wireless hop that helps header packets.
//! With `--nocapture` they print what docs/decoupling-routers.md shows.

use crate::circuits::Path;
use airtcp_core::{Duration, Event, Instant};

const VMSS: &[(&str, &str)] = &[("vmss", "1500")];
const MINUTES: Duration = Duration::from_secs(300);

fn bottleneck(queue: &str) -> [(&str, &str); 3] {
    [("rate", "10Mbit"), ("delay", "10ms"), ("queue", queue)]
}

/// 150 kB before 10 Mbit/s, a round trip of 20 ms: 40 headers may wait.
const HEADER_FIRST: &str = "{ kind = \"header-first\", limit = \"150kB\", round_trip = \"20ms\" }";

#[test]
fn spec_8_6_overload_of_real_circuits_drops_headers_and_no_data() {
    for circuits in [1, 2, 5] {
        let vmss = vec![VMSS; circuits];
        let run = |queue| Path::new(&bottleneck(queue), &[("delay", "10ms")], &vmss, 1).run(MINUTES / 5);
        let (special, droptail) = (run(HEADER_FIRST), run("150kB"));
        let ((headers, data), levels) = (special.drops(), special.forward.header_levels(special.now).unwrap());
        let span = special.now.saturating_since(Instant::ZERO + Duration::from_secs(1));
        let mean = levels.waited.as_nanos() as f64 / span.as_nanos() as f64;
        println!(
            "{circuits} circuits: {headers} headers, {data} others; at most {}, {mean:.1} waiting; drop-tail {:?}",
            levels.most,
            droptail.drops()
        );
        assert!(headers > 0 && data == 0, "{circuits} circuits: {headers} headers and {data} others dropped");
        assert!(droptail.drops().1 > 0, "{circuits} circuits, drop-tail");
        // DEC-C28: never above the threshold, and near it on average.
        assert_eq!(levels.most, 40);
        assert!((20.0..40.0).contains(&mean), "{circuits} circuits: {mean} headers wait");
    }
}

/// DEC-22: headers and data share one FIFO. Where headers are a flow of their own, or other packets count as headers, a circuit's data
/// are dropped and its headers are spared until the whole queue is full.
#[test]
fn dec_22_a_queue_that_spares_headers_hides_congestion_from_a_circuit() {
    let lost = |queue: &str| {
        let path = Path::new(&bottleneck(queue), &[("delay", "10ms")], &[VMSS], 1).run(MINUTES / 150);
        let (headers, data) = path.drops();
        let sent = data + path.arrived[0] / 1500;
        println!("{queue}: {headers} headers and {data} others of {sent} dropped");
        data as f64 / sent as f64
    };
    for spares in [
        "{ kind = \"fq-codel\", limit = \"150kB\" }",
        "{ kind = \"header-first\", limit = \"150kB\", threshold = 40, dscp = 0 }",
    ] {
        let lost = lost(spares);
        assert!(lost > 0.5, "{spares}: {lost}");
    }
    for shared in ["{ kind = \"fq-codel\", limit = \"150kB\", flows = 1 }", HEADER_FIRST] {
        let lost = lost(shared);
        assert!(lost < 0.1, "{shared}: {lost}");
    }
}

/// DEC-8, DEC-9, DEC-23: all packets of a virtual segment leave at once and their header behind them, after each timeout, too. Where
/// they alone fill a queue that counts packets, as acknowledgments do sooner than data, no header ever arrives.
#[test]
fn dec_23_a_virtual_segment_that_fills_a_queue_of_packets_loses_its_header_each_time() {
    let acknowledged = |length: usize, settings: &[(&str, &str)]| {
        let path = Path::new(&bottleneck("10packets"), &[("delay", "10ms")], &[settings], 1);
        let bytes = path.with_packets(length).run(MINUTES).circuits[0].acknowledged_bytes();
        println!("packets of {length}, {settings:?}: {bytes} virtual bytes acknowledged");
        bytes
    };
    assert_eq!(acknowledged(40, VMSS), 0);
    for (length, settings) in [(1500, VMSS), (40, &[("vmss", "160")]), (40, &[("vmss", "1500"), ("shaper", "true")])] {
        let bytes = acknowledged(length, settings);
        assert!(bytes > 1000 * 160, "packets of {length}, {settings:?}: {bytes}");
    }
}

/// DEC-C22 with control TCPs as they are: header rates are equal only where headers come one by one. Those that an
/// acknowledgment lets out together find the same queue, and who meets the drops is a matter of phase (DEC-U21): round trips that
/// are exactly alike give the larger virtual segment much more than its share, some that vary by tens of milliseconds give both the
/// same. A shaper (DEC-44) mends both.
#[test]
fn dec_25_the_shares_of_real_circuits_are_as_their_virtual_segments_once_they_are_shaped() {
    let queue = "{ kind = \"header-first\", limit = \"300kB\", vmss = \"3kB\", round_trip = \"20ms\" }";
    let ratio = |jitter: &str, shaper: &str, seed| {
        let back = [("delay", "10ms"), ("jitter", jitter)];
        let circuits = ["3000", "1500"].map(|vmss| [("vmss", vmss), ("shaper", shaper)]);
        let path = Path::new(&bottleneck(queue), &back, &circuits.each_ref().map(|circuit| &circuit[..]), seed);
        let path = path.run(MINUTES);
        assert_eq!(path.drops().1, 0, "data");
        path.arrived[0] as f64 / path.arrived[1] as f64
    };
    let mean = |jitter: &str, shaper: &str| {
        let mean = (1..=12).map(|seed| ratio(jitter, shaper, seed)).sum::<f64>() / 12.0;
        println!("round trips that vary by {jitter}, shaper {shaper}: {mean:.2}");
        mean
    };
    let [alike, mixed, far_apart] = ["0ms", "3ms", "20ms"].map(|jitter| mean(jitter, "false"));
    assert!(alike > 3.0 && far_apart < 1.5 && mixed < alike, "{alike}, {mixed} and {far_apart}");
    for jitter in ["0ms", "3ms"] {
        let shaped = mean(jitter, "true");
        assert!((shaped / 2.0 - 1.0).abs() < 0.1, "{jitter}: {shaped}");
    }
}

/// DEC-C26: goodput of one circuit by what the hop does for its headers, where nothing but the air limits it.
#[test]
fn dec_41_42_43_compressed_guessed_and_repaired_headers_make_a_circuit_faster() {
    let loss = "{ kind = \"bit-error\", rate = 1e-5 }";
    let air = [("rate", "100Mbit"), ("delay", "50ms"), ("queue", "1000packets"), ("loss", loss)];
    let run = |hop: Option<&[(&str, &str)]>| {
        let path = Path::new(&air, &air, &[VMSS], 1);
        let path = if let Some(hop) = hop { path.with_hop(&air, hop) } else { path };
        let path = path.run(MINUTES / 3);
        let rate = path.arrived[0] as f64 / 1e5;
        let count = |event| path.hop.as_ref().map_or(0, |ends| ends[1].count(event));
        let (first, later) = (
            count(airtcp_schemes::papers::decoupling::header_hop::events::TWICE_FIRST),
            count(airtcp_schemes::papers::decoupling::header_hop::events::TWICE_LATER),
        );
        println!(
            "{:?}: {rate:.0} KB/s, first guess {first}, later {later}, undecodable {}, recovered {}",
            hop.unwrap_or_default(),
            count(airtcp_schemes::papers::decoupling::header_hop::events::HEADER_LOST),
            count(Event::RECOVERED),
        );
        assert!(first >= 20 * later, "a guess is nearly always right at first");
        rate
    };
    let plain = run(None);
    let no_guess = run(Some(&[("twice", "0")]));
    let headers = run(Some(&[]));
    let stamps = run(Some(&[("compress", "timestamps")]));
    let fec = run(Some(&[("copies", "1")]));
    let arq = run(Some(&[("tries", "6")]));
    assert!(headers > 1.3 * plain && headers > 1.3 * no_guess, "{plain} {no_guess} {headers}");
    assert!(stamps > 1.1 * headers, "{headers} {stamps}");
    assert!(fec > 2.0 * stamps && arq > 1.2 * stamps, "{stamps} {fec} {arq}");
}
