//! The matrix of simulated file transfers: 20 MB through every impairment, over IPv4 and IPv6,
//! with sequence numbers and timestamps in the middle of their range and just below the wrap.
//! What arrives must have the same SHA-256 as what was sent. The live half is in crates/linux/tests.

#[path = "common/impairments.rs"]
mod impairments;

use crate::common::demo;
use airtcp_core::Duration;
use airtcp_sim::RunSettings;
use impairments::IMPAIRMENTS;

const FILE_BYTES: u64 = 20_000_000;

#[test]
fn files_arrive_with_equal_hashes_through_every_impairment_over_ipv4() {
    files_arrive(false);
}

#[test]
fn files_arrive_with_equal_hashes_through_every_impairment_over_ipv6() {
    files_arrive(true);
}

fn files_arrive(ipv6: bool) {
    let version = if ipv6 { "IPv6" } else { "IPv4" };
    let mut cells = 0;
    for (name, impairment) in IMPAIRMENTS {
        for near_wrap in [false, true] {
            let network = demo(&[&[("rate", "50Mbit")], *impairment].concat()).with_gsnoop();
            let duration = Duration::from_secs(120);
            let settings = RunSettings { duration, near_wrap, digests: true, ..RunSettings::default() };
            let outcome = network.with_file(FILE_BYTES, ipv6).run_with(&settings);
            let flow = &outcome.flows[0];
            let place = if near_wrap { "wrapping" } else { "" };
            let done = flow.completed_at.map_or_else(|| "never".into(), |at| at.to_string());
            println!("{name:<12} {version} {place:<8} {done:>14} {}", hex(flow.received_sha256));
            assert!(flow.completed_at.is_some(), "{name} {version} {place}: not complete");
            assert_eq!(flow.sent_sha256, flow.received_sha256, "{name} {version} {place}");
            assert!(flow.sent_sha256.is_some());
            cells += 1;
        }
    }
    assert!(cells >= 20, "{cells}");
}

fn hex(digest: Option<[u8; 32]>) -> String {
    digest.map_or_else(String::new, |bytes| bytes.iter().take(8).map(|b| format!("{b:02x}")).collect())
}
