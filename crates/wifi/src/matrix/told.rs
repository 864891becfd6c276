//! What the machine says: lines that begin with '@', a run's from `@run` to `@end`.

use crate::medium::Summary;
use crate::transfer::Seen;
use serde::Deserialize;
use serde_json::Value;

/// What a run was asked to do.
#[derive(Clone, Debug, Deserialize)]
pub struct Asked {
    /// "plain" or "as-tcp".
    pub scheme: String,
    /// How many stations send at the same time.
    pub stations: u32,
    /// Of the medium and of what is sent.
    pub seed: u64,
    /// What each station sends.
    pub bytes: u64,
    /// Of the cell, KEY=VALUE.
    pub settings: String,
}

/// One run.
#[derive(Debug)]
pub struct Run {
    /// What it was asked to do.
    pub asked: Asked,
    /// What the stations saw.
    pub sent: Vec<Seen>,
    /// What the server saw.
    pub received: Vec<Seen>,
    /// What the medium did.
    pub medium: Summary,
    /// What the gateways said of themselves, the access point's first.
    pub statuses: Vec<Value>,
    /// Of a fault: when it was made, and when both ends had ended; in seconds.
    pub lasted: Option<[f64; 2]>,
    /// Of a fault: devices, addresses, routes and rules are the same afterwards.
    pub is_network_same: Option<bool>,
}

impl Run {
    fn new(asked: Asked) -> Run {
        Run {
            asked,
            sent: Vec::new(),
            received: Vec::new(),
            medium: Summary::default(),
            statuses: Vec::new(),
            lasted: None,
            is_network_same: None,
        }
    }

    /// Every station's bytes arrived, and no others.
    pub fn is_equal(&self) -> bool {
        let sums = |all: &[Seen]| {
            let mut sums: Vec<_> = all.iter().map(|seen| (seen.bytes, seen.sha256.clone(), seen.end.clone())).collect();
            sums.sort();
            sums
        };
        let is_whole = |seen: &Seen| seen.bytes == self.asked.bytes && seen.end == "clean";
        self.sent.len() == self.asked.stations as usize
            && self.sent.iter().all(is_whole)
            && sums(&self.sent) == sums(&self.received)
    }

    /// Bits per second of all stations together, from the first one's begin to the last one's end at the server.
    pub fn goodput_bps(&self) -> f64 {
        let begin = self.received.iter().map(|seen| seen.span[0]).fold(f64::MAX, f64::min);
        let end = self.received.iter().map(|seen| seen.span[1]).fold(0.0, f64::max);
        self.received.iter().map(|seen| seen.bytes as f64 * 8.0).sum::<f64>() / (end - begin)
    }

    /// Frames with a TCP acknowledgment that were on the air.
    pub fn tcp_ack_frames(&self) -> u64 {
        self.medium.radios.iter().map(|radio| radio.tcp_ack_frames).sum()
    }

    /// Frames of the stations that were given up.
    pub fn given_up(&self) -> u64 {
        self.medium.radios.iter().skip(1).map(|radio| radio.given_up).sum()
    }
}

/// Reads all runs that were finished. A line that cannot be read is an error: the machine says nothing by chance.
///
/// # Errors
/// The line.
pub fn read(text: &str) -> anyhow::Result<Vec<Run>> {
    let (mut runs, mut open) = (Vec::new(), None);
    for line in text.lines().filter_map(|line| line.strip_prefix('@')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let unreadable =
            |error: serde_json::Error| anyhow::anyhow!("the machine said '@{line}', which is no JSON: {error}");
        match (word, &mut open) {
            ("run", _) => {
                let asked = serde_json::from_str(rest).map_err(unreadable)?;
                open = Some(Run::new(asked));
            }
            ("sent", Some(run)) => run.sent.push(serde_json::from_str(rest).map_err(unreadable)?),
            ("received", Some(run)) => run.received.push(serde_json::from_str(rest).map_err(unreadable)?),
            ("medium", Some(run)) => run.medium = serde_json::from_str(rest).map_err(unreadable)?,
            ("status", Some(run)) => run.statuses.push(serde_json::from_str(rest).map_err(unreadable)?),
            ("lasted", Some(run)) => run.lasted = Some(serde_json::from_str(rest).map_err(unreadable)?),
            ("network", Some(run)) => run.is_network_same = Some(rest == "\"same\""),
            ("end", _) => runs.extend(open.take()),
            _ => {}
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = r#"{"bytes":9,"sha256":"ab","end":"clean","span":[1.0,3.0]}"#;

    fn text(received: &str) -> String {
        let asked = r#"{"scheme":"plain","stations":1,"seed":1,"bytes":9,"settings":""}"#;
        let medium = r#"{"radios":[],"refused":0,"latest_us":0}"#;
        format!(
            "noise\n@run {asked}\n@sent {SENT}\n# a word\n@received {received}\n@medium {medium}\n@end\n@run {asked}\n"
        )
    }

    #[test]
    fn a_run_is_read_from_its_begin_to_its_end_and_one_without_end_is_none() {
        let runs = read(&text(SENT)).unwrap();
        assert_eq!((runs.len(), runs[0].is_equal(), runs[0].goodput_bps()), (1, true, 36.0));
    }

    #[test]
    fn other_bytes_or_an_end_that_is_not_clean_are_not_equal() {
        for (from, to) in [("ab", "ac"), ("clean", "connection reset"), ("9", "8")] {
            assert!(!read(&text(&SENT.replace(from, to))).unwrap()[0].is_equal(), "{to}");
        }
    }

    #[test]
    fn a_line_that_is_cut_off_is_named() {
        let error = read(&text("{\"bytes\":")).unwrap_err().to_string();
        assert!(error.contains("@received {\"bytes\":"), "{error}");
    }
}
