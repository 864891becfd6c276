//! What was seen of a link, as a table and a sentence: of `airtcp gateway FILE --observe` and of `airtcp probe`.

use crate::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, say};
use airtcp_core::{Duration, Traffic};
use airtcp_experiment::Catalogue;
use airtcp_linux::gateway::control::Secret;
use airtcp_linux::gateway::{Config, scheme, status};
use airtcp_linux::observe::{self, Evidence, Hop, Observation, Peer, Repairs, Row, Watched, Way, judge, share};
use anyhow::{Context, anyhow};
use serde_json::json;

/// Rows over time that are printed; JSON has all.
const ROWS: usize = 12;

/// Reads a time: a number and s, m, h or d.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time; write 90s, 10m, 8h or 1d");
    let unit = text.chars().last().filter(char::is_ascii).ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    // 100 years are for ever.
    let time = count.checked_mul(seconds).filter(|time| (1..=3_200_000_000).contains(time)).ok_or_else(wrong)?;
    Ok(Duration::from_secs(time))
}

/// Watches the link of a gateway file.
pub(super) fn observe(
    config: &Config,
    catalogue: &Catalogue<'_>,
    time: Option<Duration>,
    as_json: bool,
) -> Result<(), Failure> {
    if status::query(&config.run_directory, &config.name).is_ok_and(|status| status.diverting) {
        let (name, link) = (&config.name, &config.link);
        let say = format!(
            "a gateway takes the packets of {link}: `airtcp status {name}` tells what it repairs; stop it to observe"
        );
        return Err(Failure::Failed(anyhow!(say)));
    }
    let interrupt = Interrupt::listen()?;
    // Of several peers the first one is probed.
    let other = config.each_peer().into_iter().find(|one| one.peer.is_some());
    let peer = other.as_ref().and_then(|other| other.peer);
    let secret = other.iter().flat_map(Config::secrets).next().map(Secret::read).transpose().map_err(Failure::input)?;
    let element = scheme::make(catalogue.schemes, config).ok().map(|scheme| scheme.element.traffic());
    let repairs = match element {
        Some(Traffic::Tcp | Traffic::TcpFirst) => Repairs::Tcp,
        _ => Repairs::All,
    };
    let told_bps = config.facts.rate_bps;
    let watched = Watched { link: config.link.clone(), peer, secret, repairs, told_bps };
    if !as_json {
        let until = time.map_or("until Ctrl-C".to_owned(), |time| format!("for {time}"));
        say!("airtcp: watching {} {until}; nothing is changed", config.link);
    }
    let observation = observe::observe(&watched, time, &interrupt.stop)
        .with_context(|| format!("{} cannot be watched; is it there and up, and is this root?", config.link))?;
    show(&observation, as_json);
    Ok(())
}

/// Prints what was seen and the answer.
pub(super) fn show(Observation { evidence, rows }: &Observation, as_json: bool) {
    let verdict = judge(evidence);
    if as_json {
        let told =
            json!({"schema": "airtcp.observation/1", "verdict": verdict, "evidence": evidence, "over_time": rows});
        return output::print(&format!("{told:#}"));
    }
    for (name, [out, into]) in table(evidence).into_iter().filter(|(_, cells)| cells.iter().any(|cell| cell != "-")) {
        output::print(&format!("{name:<44} {out:>16} {into:>16}"));
    }
    if let Some(hop) = &evidence.hop {
        hop_lines(hop).iter().for_each(|line| output::print(line));
    }
    over_time(rows).iter().for_each(|line| output::print(line));
    for line in unknown(evidence) {
        output::print(&output::hang("", 0, line));
    }
    output::print(&output::hang("", 0, &verdict.sentence));
}

type Line = (String, [String; 2]);

fn table(evidence: &Evidence) -> Vec<Line> {
    let ways = [&evidence.out, &evidence.into];
    let of = |name: &str, cell: &dyn Fn(&Way) -> String| (name.to_owned(), ways.map(cell));
    let part = |way: &Way, bytes: u64| percent(bytes, way.bytes.all());
    let counted = |lost: u64, of: u64| if of == 0 { "-".to_owned() } else { format!("{lost} of {of}") };
    let mut lines = vec![
        (format!("watched for {:.0} s", evidence.seconds), ["leaves".to_owned(), "arrives".to_owned()]),
        of("carried on average", &|way| bits(way.bytes.all() as f64 * 8.0 / evidence.seconds.max(1e-3))),
        of("carried at most, in 0.2 s", &|way| bits(way.peak_bps)),
        of("carried while long flows ran", &|way| bits(way.busy_bps)),
        of("TCP", &|way| part(way, way.bytes.tcp)),
        of("QUIC", &|way| part(way, way.bytes.quic)),
        of("VPN (WireGuard, IPsec, OpenVPN)", &|way| part(way, way.bytes.vpn)),
        of("other", &|way| part(way, way.bytes.other)),
        of("shortest round trip, far side", &|way| {
            way.round_trip_ms.map_or("-".to_owned(), |ms| format!("{ms:.1} ms"))
        }),
        of("waits in queues, mean and most", &|way| match way.round_trip_ms {
            Some(_) => format!("{:.0}, {:.0} ms", way.wait_ms, way.longest_wait_ms),
            None => "-".to_owned(),
        }),
        of("TCP segments lost, far side", &|way| counted(way.lost, way.segments)),
        of("  while packets waited (congestion)", &|way| counted(way.lost_in_queue, way.lost)),
        of("  would have been repaired", &|way| counted(way.repairable(), way.lost)),
        of("TCP segments lost, near side", &|way| counted(way.lost_elsewhere, way.segments)),
        of("packets of tunnels lost, far side", &|way| {
            counted(way.numbers_missing, way.numbered + way.numbers_missing)
        }),
    ];
    lines.extend(bursts(ways.map(|way| way.bursts)));
    if evidence.unseen_packets > 0 {
        lines.push((
            "packets not looked at (came too fast)".to_owned(),
            [evidence.unseen_packets.to_string(), String::new()],
        ));
    }
    lines
}

const BURSTS: [&str; 8] = ["1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "more"];

fn bursts(ways: [[u64; 8]; 2]) -> Vec<Line> {
    let of = |bursts: [u64; 8], at: usize| if bursts[at] == 0 { "-".to_owned() } else { bursts[at].to_string() };
    let line = |(at, words): (usize, &&str)| (format!("  in a row: {words}"), ways.map(|bursts| of(bursts, at)));
    BURSTS.iter().enumerate().map(line).collect()
}

fn hop_lines(hop: &Hop) -> Vec<String> {
    let mut lines = vec![
        format!("probes to the other end: {} ({} bytes)", hop.sent, hop.bytes),
        format!(
            "  lost on the way out: {} ({}), of these {} while packets waited",
            hop.lost,
            percent(hop.lost, hop.sent),
            hop.lost_in_queue
        ),
        format!(
            "  answers lost on the way back: {} ({})",
            hop.answers_lost,
            percent(hop.answers_lost, hop.sent - hop.lost)
        ),
        format!(
            "  round trip: {:.1} ms at least, {:.1} more on average, {:.1} at most",
            hop.round_trip_ms, hop.wait_ms, hop.longest_wait_ms
        ),
    ];
    let runs = BURSTS.iter().zip(hop.bursts).filter(|(_, count)| *count > 0);
    let runs: Vec<String> = runs.map(|(words, count)| format!("{words}: {count}")).collect();
    if !runs.is_empty() {
        lines.push(format!("  lost in a row, and how often: {}", runs.join(", ")));
    }
    if let Some(bps) = hop.rate_bps {
        lines.push(format!("  trains of probes came in at {}", bits(bps)));
    }
    lines
}

fn over_time(rows: &[Row]) -> Vec<String> {
    let each = rows.len().div_ceil(ROWS).max(1);
    let mut lines = Vec::new();
    if rows.len() > 1 {
        lines.push(format!(
            "{:<16} {:>14} {:>14} {:>8} {:>8} {:>14}",
            "from", "leaves", "arrives", "lost", "lost", "waits"
        ));
    }
    for rows in rows.chunks(each).filter(|_| rows.len() > 1) {
        let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
        let bits = |way: usize| bits(rows.iter().map(|row| row.bytes[way]).sum::<u64>() as f64 * 8.0 / seconds);
        let lost = |way: usize| rows.iter().map(|row| row.lost[way]).sum::<u64>();
        let count = rows.iter().map(|row| row.round_trips).sum::<u64>();
        let waits = rows.iter().map(|row| row.waits_ms).sum::<f64>();
        let most = rows.iter().fold(0.0f64, |most, row| most.max(row.longest_wait_ms));
        let waits = if count == 0 { "-".to_owned() } else { format!("{:.0}, {most:.0} ms", waits / count as f64) };
        let from = format!("{:.0} s", rows[0].from);
        lines.push(format!("{from:<16} {:>14} {:>14} {:>8} {:>8} {waits:>14}", bits(0), bits(1), lost(0), lost(1)));
    }
    lines
}

/// What cannot be known from what passed.
fn unknown(evidence: &Evidence) -> Vec<&'static str> {
    let mut lines = Vec::new();
    let any = |of: fn(&Way) -> u64| of(&evidence.out) + of(&evidence.into) > 0;
    if any(|way| way.bytes.quic) && evidence.hop.is_none() {
        lines.push("Not known: what QUIC loses. Its numbers and acknowledgments are encrypted.");
    }
    if any(|way| way.bytes.vpn) && evidence.hop.is_none() {
        lines.push(
            "Not known: what is lost of VPN packets that leave. Of those that arrive, numbers that are missing tell.",
        );
    }
    if evidence.peer != Peer::Answers && any(|way| way.lost) {
        lines.push("Not known: whether the far side's losses are this hop's or beyond it. `airtcp probe` tells.");
    }
    lines
}

fn percent(part: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { format!("{:.2} %", share(part, of) * 100.0) }
}

fn bits(bps: f64) -> String {
    match bps {
        0.0 => "-".to_owned(),
        bps if bps >= 1e6 => format!("{:.2} Mbit/s", bps / 1e6),
        bps => format!("{:.1} kbit/s", bps / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_numbers_with_a_unit() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("1d"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "s", "0s", "5", "-1s", "1.5h", "1ü", "99999999999999999999d"] {
            assert!(span(wrong).is_err_and(|error| error.contains("8h")), "{wrong}");
        }
    }
}
