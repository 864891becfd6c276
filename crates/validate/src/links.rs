//! Links do what their settings say: rate to nine digits, and chance as chance does.

use crate::page::Section;
use crate::statistics::chi_square_chance;
use airtcp_core::parameters::Parameters;
use airtcp_core::{Instant, Packet};
use airtcp_link::{Link, LinkSettings};
use bytes::Bytes;

/// Bytes sent for the rate.
const BYTES: u64 = 1_000_000_000;
const RATE_TOLERANCE: f64 = 1e-9;
/// Packets sent for losses.
const PACKETS: u32 = 400_000;
/// Fewer than so many runs in a million would be as far off, were the link right.
const CHANCE: f64 = 0.001;

/// Every check, a row each.
pub fn section() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "Links",
        about: format!(
            "The link model by itself. Rates: {BYTES} bytes in packets of several sizes, sent back to back; deviation of the last \
             departure, tolerance {RATE_TOLERANCE:e}. Losses: {PACKETS} packets; the chance of counts as far from the law as these \
             (chi-square), which must be above {CHANCE}."
        ),
        columns: vec!["link", "law", "seen", ""],
        ..Section::default()
    };
    for rate in ["1Mbit", "9986684bit", "10Mbit", "1Gbit", "7777777bit"] {
        let deviation = rate_deviation(rate);
        let row = vec![format!("rate {rate}"), "bytes × 8 ÷ rate".into(), format!("deviation {deviation:.1e}")];
        section.row(row, deviation <= RATE_TOLERANCE);
    }
    for loss in [0.001, 0.01, 0.2] {
        let (counts, expected) = losses_per_thousand(loss);
        row(
            &mut section,
            format!("loss {} %", loss * 100.0),
            "losses in 1000 packets are binomial",
            &counts,
            &expected,
        );
        let (gaps, expected) = gaps_between(&format!("{}%", loss * 100.0), loss);
        row(&mut section, format!("loss {} %", loss * 100.0), "gaps are geometric", &gaps, &expected);
    }
    for (mean, burst) in [(0.02, 5.0), (0.1, 3.0)] {
        let loss = format!("{{ kind = \"gilbert-elliott\", mean = \"{}%\", burst = {burst} }}", mean * 100.0);
        let (bursts, expected) = bursts_of(&loss, 1.0 - 1.0 / burst);
        row(
            &mut section,
            format!("Gilbert-Elliott, mean {} %, burst {burst}", mean * 100.0),
            "bursts are geometric",
            &bursts,
            &expected,
        );
    }
    for (rate, size) in [("1e-6", 1500), ("1e-5", 1500), ("1e-5", 40), ("1e-4", 576)] {
        let (counts, expected) = bit_errors(rate, size);
        row(
            &mut section,
            format!("bit errors {rate}, {size} bytes"),
            "1 − (1 − rate)^bits are lost",
            &counts,
            &expected,
        );
    }
    Ok(section)
}

fn row(section: &mut Section, link: String, law: &str, observed: &[f64], expected: &[f64]) {
    let chance = chi_square_chance(observed, expected);
    section.row(vec![link, law.to_owned(), format!("chance {chance:.3}")], chance > CHANCE);
}

fn link(settings: &[(&str, &str)], name: &str) -> Link {
    let mut link = LinkSettings::default();
    for &(key, value) in settings {
        link.set(key, &value.into()).expect("settings of a link");
    }
    Link::new(&link, 1, name)
}

fn packet(size: u32) -> Packet {
    let address = "192.0.2.1".parse().expect("an address");
    Packet::opaque(address, address, 17, Bytes::from(vec![0; size as usize - 20]))
}

/// By how much, relative to itself, the time that [`BYTES`] take differs from the law.
fn rate_deviation(rate: &str) -> f64 {
    let mut link = link(&[("rate", rate), ("queue", "1000packets")], "rate");
    let bps: f64 = rate.trim_end_matches("bit").replace('M', "e6").replace('G', "e9").parse().expect("a rate");
    let (mut sent, mut now, mut turn) = (0u64, Instant::ZERO, 0);
    while sent < BYTES {
        let size = [1500, 40, 576, 1499, 1052][turn % 5];
        turn += 1;
        sent += u64::from(size);
        link.send(now, packet(size), &mut |_, _| {});
        // The next is sent as this one leaves: the link never rests, the queue stays short.
        now = link.busy_until();
        while link.receive(now).is_some() {}
    }
    let law = sent as f64 * 8.0 / bps;
    (link.busy_until().as_nanos() as f64 / 1e9 / law - 1.0).abs()
}

/// Which of [`PACKETS`] packets the link loses.
fn fates(loss: &str, size: u32) -> Vec<bool> {
    let mut link = link(&[("loss", loss)], loss);
    let template = packet(size);
    let fate = |_| {
        let mut lost = false;
        link.send(Instant::ZERO, template.clone(), &mut |_, _| lost = true);
        while link.receive(Instant::MAX).is_some() {}
        lost
    };
    (0..PACKETS).map(fate).collect()
}

fn losses_per_thousand(loss: f64) -> (Vec<f64>, Vec<f64>) {
    let fates = fates(&format!("{}%", loss * 100.0), 1500);
    let mut counts = vec![0.0; 1001];
    fates.chunks_exact(1000).for_each(|chunk| counts[chunk.iter().filter(|lost| **lost).count()] += 1.0);
    // Binomial, term by term.
    let mut term = (1.0 - loss).powi(1000);
    let mut expected = Vec::with_capacity(1001);
    for count in 0..=1000 {
        expected.push(term * f64::from(PACKETS / 1000));
        term *= loss / (1.0 - loss) * f64::from(1000 - count) / f64::from(count + 1);
    }
    (counts, expected)
}

/// How often each number of packets gets through between two losses; the last cell holds all longer ones.
fn gaps_between(text: &str, loss: f64) -> (Vec<f64>, Vec<f64>) {
    let fates = fates(text, 1500);
    let gaps = fates.split(|lost| *lost).skip(1).map(<[bool]>::len);
    geometric(gaps, 1.0 - loss, (3.0 / loss) as usize)
}

/// How often each number of packets is lost in a row.
fn bursts_of(loss: &str, goes_on: f64) -> (Vec<f64>, Vec<f64>) {
    let fates = fates(loss, 1500);
    let bursts = fates.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).map(|length| length - 1);
    geometric(bursts, goes_on, 20)
}

/// Counts of lengths, in 20 cells up to `longest`, and what a geometric law of `goes_on` expects.
fn geometric(lengths: impl Iterator<Item = usize>, goes_on: f64, longest: usize) -> (Vec<f64>, Vec<f64>) {
    let cells = longest.min(20);
    let width = longest.div_ceil(cells);
    let mut counts = vec![0.0; cells + 1];
    lengths.for_each(|length| counts[(length / width).min(cells)] += 1.0);
    let total: f64 = counts.iter().sum();
    let beyond = |cell: usize| goes_on.powi((cell * width) as i32);
    let mut expected: Vec<f64> = (0..cells).map(|cell| total * (beyond(cell) - beyond(cell + 1))).collect();
    expected.push(total * beyond(cells));
    (counts, expected)
}

fn bit_errors(rate: &str, size: u32) -> (Vec<f64>, Vec<f64>) {
    let lost =
        fates(&format!("{{ kind = \"bit-error\", rate = \"{rate}\" }}"), size).iter().filter(|lost| **lost).count()
            as f64;
    let chance = 1.0 - (1.0 - rate.parse::<f64>().expect("a rate")).powi(size as i32 * 8);
    let all = f64::from(PACKETS);
    (vec![lost, all - lost], vec![all * chance, all * (1.0 - chance)])
}
