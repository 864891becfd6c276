//! The hop-level baselines on the demo path: link ARQ, link FEC and the split connection must be
//! worth comparing with, and must not break what they carry.

mod common;
use airtcp_core::Duration;
use airtcp_schemes::{SCHEMES, find};
use airtcp_sim::{Flow, Outcome, RunSettings};
use common::{Demo, bulk, demo, of_ceiling, tcp};

fn on_demo(slug: &str, air: &[(&str, &str)], settings: &[(&str, &str)]) -> Demo {
    let mut network = demo(air);
    let entry = find(SCHEMES, slug).expect("the scheme is in the table");
    let settings: Vec<_> = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    network.topology.scheme("hop", network.air, entry, &settings);
    network
}

#[test]
fn measure() {
    for loss in ["0%", "1%", "5%", "10%"] {
        let p = loss.trim_end_matches('%').parse::<f64>().unwrap() / 100.0;
        let plain: f64 =
            (1..=3).map(|s| of_ceiling(&demo(&[("loss", loss)]).with_bulk("cubic").run(s), p)).sum::<f64>() / 3.0;
        println!("{loss} plain {plain:.3}");
        for (slug, settings) in [
            ("split", &[][..]),
            ("split", &[("min_rto", "200ms")]),
            ("split", &[("controller", "reno")]),
            ("arq", &[]),
            ("fec", &[]),
        ] {
            if find(SCHEMES, slug).is_none() {
                continue;
            }
            let shares: Vec<f64> = (1..=3)
                .map(|s| of_ceiling(&on_demo(slug, &[("loss", loss)], settings).with_bulk("cubic").run(s), p))
                .collect();
            println!("{loss} {slug} {settings:?} {shares:.3?}");
        }
    }
}
