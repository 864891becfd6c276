//! Live traffic that is not plain TCP: datagrams, QUIC, TCP in WireGuard. No gateway: what a link does to it is what its
//! result must say, and what arrives are the bytes that were sent.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{Amount, Carrier, FlowResult, FlowSpec, Outcome, Stream, TrafficError};
use airtcp_schemes::socket::datagram::Pace;
use live_support::{Path, family_name, turn};

const FILE_BYTES: u64 = 3_000_000;
const DEADLINE: Duration = Duration::from_secs(20);

/// The air in these tests is no bottleneck for a flow of 4 Mbit/s.
const STREAM: Duration = Duration::from_millis(2000);
const PACKET: u32 = 1000;

fn stream(path: &Path, family: Family, impairment: &[(&str, &str)], seed: u64) -> FlowResult {
    let stream = Stream { pace: Some(Pace::Every(Duration::from_millis(2))), via: None, packet: PACKET, dscp: 46 };
    let spec = FlowSpec {
        carrier: Carrier::Datagrams(stream),
        amount: Amount::Until(STREAM),
        window: (Duration::ZERO, STREAM),
        ..path.file(family, 0, seed, DEADLINE)
    };
    let origin = path.restart(seed, Some(impairment));
    path.start(spec, origin).join().expect("sockets")
}

#[test]
fn live_a_stream_of_datagrams_tells_what_the_link_did_to_it() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    for (seed, family) in Family::BOTH.into_iter().enumerate() {
        let headers = if family == Family::V4 { 28 } else { 48 };
        let run = |impairment: &[(&str, &str)]| {
            let result = stream(&path, family, impairment, seed as u64);
            let datagrams = result.datagrams.expect("a stream of datagrams");
            println!("{} {impairment:?}: {datagrams:?}", family_name(family));
            assert!(result.stream_is_intact());
            // One each 2 ms; a machine that stands still for a moment lets some turns pass.
            assert!((900..=1001).contains(&datagrams.sent), "{datagrams:?}");
            (result, datagrams)
        };
        let (whole, datagrams) = run(&[]);
        assert_eq!(whole.outcome, Outcome::Complete);
        assert_eq!(whole.received_bytes, datagrams.sent * u64::from(PACKET - headers));
        assert_eq!(datagrams.arrivals, Default::default());
        // 2 ms, 2.5 ms and 0.5 ms, and what the machine adds.
        let p50 = datagrams.delay.p50;
        assert!(p50 >= Duration::from_millis(5) && p50 < Duration::from_millis(8), "{p50}");

        let (lossy, datagrams) = run(&[("loss", "10%")]);
        assert!((50..=160).contains(&datagrams.arrivals.lost), "{datagrams:?}");
        let arrived = (datagrams.sent - datagrams.arrivals.lost) * u64::from(PACKET - headers);
        // Losses behind the last that arrived are not seen.
        assert!(arrived - lossy.received_bytes <= 5 * u64::from(PACKET), "{} of {arrived}", lossy.received_bytes);

        let (doubled, datagrams) = run(&[("duplicate", "20%")]);
        assert!(datagrams.arrivals.repeated > 100 && datagrams.arrivals.lost == 0, "{datagrams:?}");
        assert_eq!(doubled.received_bytes, datagrams.sent * u64::from(PACKET - headers), "a copy counts no bytes");

        let (_, datagrams) = run(&[("reorder", "{ probability = \"10%\", delay = \"10ms\" }")]);
        assert!(datagrams.arrivals.misordered > 30 && datagrams.arrivals.lost == 0, "{datagrams:?}");
    }
}

/// Files over the carrier through a link that loses and reorders; each arrives whole.
fn files_arrive(carrier: &Carrier, controllers: &[&str]) {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    for (seed, family) in Family::BOTH.into_iter().enumerate() {
        for controller in controllers {
            let spec = FlowSpec {
                carrier: carrier.clone(),
                controller: (*controller).into(),
                ..path.file(family, FILE_BYTES, seed as u64, DEADLINE)
            };
            let origin = path.restart(seed as u64, Some(&[("loss", "1%")]));
            let result = match path.start(spec, origin).join() {
                Err(error @ (TrafficError::NotBuilt { .. } | TrafficError::Controller { .. })) => {
                    airtcp_test_support::skip(&error.to_string());
                    continue;
                }
                result => result.expect("sockets"),
            };
            let took = result.last_byte_at;
            println!("{} {controller}: {took:?}, {} sent again", family_name(family), result.retransmitted_segments);
            assert_eq!(result.outcome, Outcome::Complete);
            assert_eq!((result.sent_bytes, result.received_bytes), (FILE_BYTES, FILE_BYTES));
            assert!(result.stream_is_intact(), "{:?}", result.first_wrong_byte);
            // The link did take some of it.
            assert!(result.retransmitted_segments > 0);
            let report = path.testbed.emulator().report().expect("the emulator runs");
            // Nothing on the way is a segment of TCP.
            assert_eq!(report.passages.data_wait.p99, Duration::ZERO, "{:?}", report.passages);
            assert!(report.direction("links.air.forward").unwrap().delivered_bytes > FILE_BYTES);
        }
    }
}

#[test]
fn live_a_file_over_quic_arrives_whole() {
    let carrier = Carrier::Quic { receive_window: 6 << 20 };
    files_arrive(&carrier, &["cubic", "bbr"]);
}

#[test]
fn live_a_file_through_wireguard_arrives_whole() {
    let carrier = Carrier::Wireguard { mtu: 1420 };
    files_arrive(&carrier, &["cubic"]);
}

#[test]
fn live_quic_refuses_a_controller_that_it_does_not_have() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let carrier = Carrier::Quic { receive_window: 1 << 20 };
    let spec = FlowSpec { carrier, controller: "vegas".into(), ..path.file(Family::V4, FILE_BYTES, 1, DEADLINE) };
    let origin = path.restart(1, None);
    match path.start(spec, origin).join() {
        Err(TrafficError::NotBuilt { .. }) => {}
        refused => assert!(refused.unwrap_err().to_string().contains("cubic, bbr and reno, not 'vegas'")),
    }
}
