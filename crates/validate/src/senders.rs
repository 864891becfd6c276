//! Senders that have no kernel here to be compared with: DCTCP beside the fluid model of its paper, BBRv3 beside the
//! figures of its draft.

use crate::page::Section;
use crate::statistics::Mean;
use crate::summary;
use airtcp_experiment::results::summary::{CellSummary, Summary};

/// Paths of `validation/dctcp.toml`: name, flows, base round trip without transmission in ms, K.
const PATHS: [(&str, f64, f64, f64); 6] = [
    ("1 flow, 5 ms, K 20", 1.0, 5.0, 20.0),
    ("1 flow, 10 ms, K 20", 1.0, 10.0, 20.0),
    ("1 flow, 20 ms, K 30", 1.0, 20.0, 30.0),
    ("2 flows, 10 ms, K 20", 2.0, 10.0, 20.0),
    ("4 flows, 10 ms, K 20", 4.0, 10.0, 20.0),
    (SHOWN, 1.0, 10.0, 20.0),
];
/// Shown and not judged: reduced in proportion, some of the next window is still marked, and reduced for, and of the two
/// segments that a delayed acknowledgment lets out the first is not marked.
const SHOWN: &str = "1 flow, 10 ms, K 20, as Linux";
/// A full packet on 100 Mbit/s, and an acknowledgment of 52 bytes, ms.
const PACKET_MS: f64 = 0.12;
const ACK_MS: f64 = 0.004_16;
/// Payload of a full packet over its length, Mbit/s at 100 Mbit/s.
const DCTCP_CEILING: f64 = 100.0 * 1448.0 / 1500.0;
const ALPHA_TOLERANCE: f64 = 0.2;

/// What the fluid model says of a path.
struct Fluid {
    alpha: f64,
    least: f64,
    most: f64,
}

/// Alizadeh et al., SIGCOMM 2010, equations 5 to 11: N flows in step, whose windows swing below W* + 1.
fn fluid(flows: f64, base_ms: f64, threshold: f64) -> Fluid {
    let volume = base_ms / PACKET_MS;
    let window = (volume + threshold) / flows;
    let law = |alpha: f64| alpha * alpha * (1.0 - alpha / 4.0) - (2.0 * window + 1.0) / (window + 1.0).powi(2);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if law(middle) < 0.0 { low = middle } else { high = middle }
    }
    let most = threshold + flows;
    Fluid { alpha: low, least: most - flows * (window + 1.0) * low / 2.0, most }
}

/// Alpha and the queue of DCTCP flows before a step of marks.
pub fn dctcp() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "DCTCP: the fluid model",
        about: format!(
            "DCTCP flows over 100 Mbit/s before a queue that marks each packet that finds more than K waiting, `airtcp run \
             validation/dctcp.toml`, 5 runs, medians, against Alizadeh et al. (SIGCOMM 2010, section 3.3): α²(1 − α/4) = (2W + \
             1)/(W + 1)² with W = (C × RTT + K)/N, and a queue between K + N − N(W + 1)α/2 and K + N. The model acknowledges each \
             segment and reduces the window at once, and so do these flows; the last row is as Linux, and shown only: reduced in \
             proportion, some of the next window is still marked, and reduced for, and the first of two segments that a delayed \
             acknowledgment lets out is not marked. α: tolerance {:.0} %. Queue, in packets by the senders' round trips: its \
             median is between both bounds, and its 95th percentile no more than N + 2 packets above the upper one. Goodput: \
             0.99 of what the link carries at least.",
            ALPHA_TOLERANCE * 100.0
        ),
        columns: vec!["path", "α, model", "α", "queue, model", "queue, median and 95 %", "goodput, Mbit/s", ""],
        ..Section::default()
    };
    let summary = summary::run("validation/dctcp.toml", &[])?;
    for (path, flows, delays_ms, threshold) in PATHS {
        let cell = summary::cell(&summary, &[("cases.path", path)])?;
        let base_ms = delays_ms + PACKET_MS + ACK_MS;
        let model = fluid(flows, base_ms, threshold);
        let alpha = alpha(cell);
        let [middle, high] =
            ["rtt_ns.p50", "rtt_ns.p95"].map(|metric| (summary::median(cell, metric) / 1e6 - base_ms) / PACKET_MS);
        let goodput = Mean::of(&summary::mbit(cell)).value;
        let row = vec![
            path.to_owned(),
            format!("{:.3}", model.alpha),
            format!("{alpha:.3}"),
            format!("{:.1} to {:.0}", model.least, model.most),
            format!("{middle:.1}, {high:.1}"),
            format!("{goodput:.2}"),
        ];
        if path == SHOWN {
            section.rows.push(row.into_iter().chain(["shown".to_owned()]).collect());
            continue;
        }
        let holds = (alpha / model.alpha - 1.0).abs() <= ALPHA_TOLERANCE
            && (model.least..=model.most).contains(&middle)
            && high <= model.most + flows + 2.0
            && goodput >= 0.99 * DCTCP_CEILING;
        section.row(row, holds);
    }
    Ok(section)
}

/// Mean over windows.
fn alpha(cell: &CellSummary) -> f64 {
    let median = |counter| summary::median(cell, counter);
    median("controller.alpha_millionths_sum") / median("controller.windows") / 1e6
}

/// Payload that 25 Mbit/s carry, Mbit/s.
const BBR_CEILING: f64 = 25.0 * 1448.0 / 1500.0;
/// Of that what pacing 1 % below the bandwidth and ProbeRTT (section 5.3.4.2) leave.
const ALONE: f64 = 0.99 * 0.98;

/// Round trips between two probes: as many as 62, or as fit into two to three seconds.
fn rounds(rtt_ms: f64) -> f64 {
    (2500.0 / rtt_ms).min(62.0)
}

/// What the draft says of BBRv3 in numbers, and version 1 for comparison.
pub fn bbr3() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "BBRv3: the figures of its draft",
        about: format!(
            "BBRv3 over 25 Mbit/s and 30 ms with a BDP of queue where nothing else is said, `airtcp run validation/bbr3.toml`, 120 s, \
             5 runs, goodput with 95 % intervals, else medians, against draft-ietf-ccwg-bbr-06: Linux has no BBRv3 to compare with. Alone it has \
             what pacing 1 % below the bandwidth and ProbeRTT's 2 % leave of {BBR_CEILING:.2} Mbit/s (sections 5.6.2 and 5.3.4.2), \
             tolerance 2 %. Each round trip with 1 % of loss takes 1 % until a probe restores all, N round trips later (5.3.3.8.3), so \
             (1 − 0.99^N)/0.01N of it is left, with N = 62, or what fits into 2.5 s. That is shown and not judged: the round trips of a probe, \
             in which nothing is taken, are not in it, and what is taken follows the round trip's highest sample of the bandwidth, which need \
             not have lost. From a probe for bandwidth to the next it takes 62 round trips or 2 s at least (5.3.3.8), and 5.2 s at most, as ProbeRTT begins the wait \
             anew; from a probe for the round trip to the next 5 s, 0.2 s and a round trip or two (5.3.4). Beside Reno and CUBIC, on \
             the path that the draft wants them to be able to use (5.3.3.8.1), its share is nearer to half than that of version 1."
        ),
        columns: vec!["what", "expected", "seen", ""],
        ..Section::default()
    };
    let summary = summary::run("validation/bbr3.toml", &[])?;
    alone(&mut section, &summary)?;
    losing(&mut section, &summary)?;
    probes(&mut section, &summary)?;
    shares(&mut section, &summary)?;
    Ok(section)
}

fn case<'a>(summary: &'a Summary, label: &str) -> anyhow::Result<&'a CellSummary> {
    summary::cell(summary, &[("cases.beside", label)])
}

fn alone(section: &mut Section, summary: &Summary) -> anyhow::Result<()> {
    let expected = BBR_CEILING * ALONE;
    for label in ["alone", "alone, 8 BDP of queue", "alone, 120 ms"] {
        let seen = Mean::of(&summary::mbit(case(summary, label)?));
        let row = vec![format!("{label}: goodput, Mbit/s"), format!("{expected:.2}"), seen.to_string()];
        section.row(row, (seen.value / expected - 1.0).abs() <= 0.02);
    }
    let [new, old] = ["alone, 8 BDP of queue", "BBRv1 alone, 8 BDP of queue"]
        .map(|label| case(summary, label).map(|cell| summary::median(cell, "rtt_ns.p95") / 1e6));
    let (new, old) = (new?, old?);
    // The window of ProbeBW_UP.
    let most = 30.0 * 2.25;
    let expected = format!("30 to {most:.0}; BBRv1 {old:.1}");
    section.row(vec!["the same: 95 % of round trips, ms".to_owned(), expected, format!("{new:.1}")], new <= most);
    Ok(())
}

fn losing(section: &mut Section, summary: &Summary) -> anyhow::Result<()> {
    for (label, rtt_ms) in [("alone, 1 % loss", 30.0), ("alone, 120 ms, 1 % loss", 120.0)] {
        let rounds = rounds(rtt_ms);
        let left = (1.0 - 0.99f64.powf(rounds)) / (0.01 * rounds);
        let expected = BBR_CEILING * ALONE * 0.99 * left;
        let seen = Mean::of(&summary::mbit(case(summary, label)?));
        let row = [format!("{label}: goodput, Mbit/s"), format!("{expected:.2}"), seen.to_string(), "shown".to_owned()];
        section.rows.push(row.into());
    }
    Ok(())
}

fn probes(section: &mut Section, summary: &Summary) -> anyhow::Result<()> {
    const MEASURED: f64 = 120.0;
    for (label, rtt_ms) in [("alone", 30.0_f64), ("alone, 120 ms", 120.0)] {
        let cell = case(summary, label)?;
        let least = (62.0 * rtt_ms / 1e3).min(2.0);
        for (what, counter, least, most) in [
            ("bandwidth", "controller.probes_for_bandwidth", least, 5.2 + 2.0 * rtt_ms / 1e3),
            ("the round trip", "controller.probes_for_rtt", 5.2, 5.2 + 3.0 * rtt_ms / 1e3),
        ] {
            let seen = MEASURED / summary::median(cell, counter);
            let expected = format!("{least:.2} to {most:.2}");
            let row = vec![format!("{label}: from probe to probe for {what}, s"), expected, format!("{seen:.2}")];
            section.row(row, (least..=most).contains(&seen));
        }
    }
    Ok(())
}

fn shares(section: &mut Section, summary: &Summary) -> anyhow::Result<()> {
    let share = |label: &str| -> anyhow::Result<f64> {
        let cell = case(summary, label)?;
        let [ours, other] =
            ["flows.ours.goodput_bps", "flows.other.goodput_bps"].map(|metric| summary::median(cell, metric));
        Ok(ours / (ours + other))
    };
    let two = share("two")?;
    let row = vec!["two: share of the first".to_owned(), "0.5 ± 0.1".to_owned(), format!("{two:.2}")];
    section.row(row, (two - 0.5).abs() <= 0.1);
    for other in ["Reno", "CUBIC"] {
        let (new, old) = (share(&format!("beside {other}"))?, share(&format!("BBRv1 beside {other}"))?);
        let expected = format!("nearer to half than {old:.2}");
        let row = vec![format!("beside {other}: its share"), expected, format!("{new:.2}")];
        section.row(row, (new - 0.5).abs() < (old - 0.5).abs());
    }
    Ok(())
}
