//! The verdict over a soak: a table, the files behind it, and one list of all that is wrong.

use crate::faults::Blow;
use crate::lives::{is_other_daemon, is_other_worker, quarters_of_longest};
use crate::net::names;
use crate::samples::{Gateway, Sample, csv};
use crate::traffic::Churned;
use crate::trend::{Bound, LATENCY, MEMORY, compare};
use airtcp_core::Duration;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Of so many short connections one may be without an answer when its cycle ends: its sender waits for a timer that doubles.
const ONE_UNANSWERED_OF: u64 = 1_000;
/// A busy machine gives a worker no ten seconds to start now and then, and the package's unit starts the daemon again: at most once in so
/// many cycles.
const CYCLES_FOR_A_FAILED_START: u64 = 20;
/// A soak shorter than this does not show whether memory and latency grow.
const LEAST_FOR_TRENDS: Duration = Duration::from_secs(600);

/// What became of a cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub number: usize,
    pub blow: Blow,
    /// From the end of the fault until all were whole.
    pub settled: Option<Duration>,
    pub churned: Churned,
    /// The longest time in which the machine gave a thread no turn.
    pub pause: Duration,
    pub wrong: Vec<String>,
}

impl Cycle {
    pub fn line(&self) -> String {
        let Churned { begun, answered, damaged } = self.churned;
        let settled = self.settled.map_or("never".to_owned(), |time| format!("{:.2} s", seconds(time)));
        let mut line = format!(
            "{:>4}  {:<18} {:<7} whole after {settled:<7} {answered} of {begun} answered, {damaged} damaged, machine paused {} ms",
            self.number,
            format!("{:?}", self.blow.fault),
            self.blow.victim,
            self.pause.as_millis()
        );
        self.wrong.iter().for_each(|wrong| {
            let _ = write!(line, "\n      WRONG: {wrong}");
        });
        line
    }
}

/// Everything that a soak found.
pub struct Outcome {
    pub length: Duration,
    pub cycles: Vec<Cycle>,
    pub samples: Vec<Sample>,
    /// Of each long connection: bytes and longest wait, or what is wrong with it.
    pub long: Vec<Result<(u64, Duration), String>>,
    /// Gateways that could not start, and were started again.
    pub started_again: u64,
    pub leftovers: Vec<String>,
}

/// Quarters of a soak that are compared.
type Quarters = [usize; 2];
const SECOND_AND_LAST: Quarters = [1, 3];
/// Of what is replaced in the first half.
const THIRD_AND_LAST: Quarters = [2, 3];

impl Outcome {
    /// Prints and writes all of it.
    ///
    /// # Panics
    /// Something is wrong.
    pub fn tell(&self) {
        let directory = directory();
        std::fs::create_dir_all(&directory).expect("a directory");
        let (trends, grown) = self.trends();
        let cycles: String = self.cycles.iter().map(|cycle| cycle.line() + "\n").collect();
        let all = self.cycles.iter().fold(Churned::default(), |sum, cycle| Churned {
            begun: sum.begun + cycle.churned.begun,
            answered: sum.answered + cycle.churned.answered,
            damaged: sum.damaged + cycle.churned.damaged,
        });
        let long: String = self.long.iter().flatten().enumerate().fold(String::new(), |text, (n, (bytes, wait))| {
            text + &format!("long connection {n}: {bytes} bytes, equal, longest wait {:.2} s\n", seconds(*wait))
        });
        let summary = format!(
            "{trends}{long}{} short connections, {} answered, {} damaged; {} faults, {} daemons started again\n",
            all.begun,
            all.answered,
            all.damaged,
            self.cycles.len(),
            self.started_again
        );
        println!("{summary}");
        for (name, text) in [("samples.csv", csv(&self.samples)), ("cycles.txt", cycles), ("summary.txt", summary)] {
            std::fs::write(directory.join(name), text).expect("a file");
        }
        println!("written to {}", directory.display());
        let mut wrong: Vec<String> = self.cycles.iter().flat_map(|cycle| cycle.wrong.clone()).collect();
        wrong.extend(grown);
        wrong.extend(self.long.iter().filter_map(|long| long.as_ref().err().cloned()));
        wrong.extend(self.leftovers.iter().map(|left| format!("left: {left}")));
        if all.damaged > 0 {
            wrong.push(format!("{} short connections had wrong bytes", all.damaged));
        }
        if (all.begun - all.answered) * ONE_UNANSWERED_OF > all.begun {
            let longest = self.cycles.iter().map(|cycle| cycle.pause.as_millis()).max().unwrap_or(0);
            wrong.push(format!(
                "{} of {} short connections had no answer; the machine paused for up to {longest} ms, if that is a second, others had it",
                all.begun - all.answered,
                all.begun
            ));
        }
        if self.started_again > self.cycles.len() as u64 / CYCLES_FOR_A_FAILED_START {
            wrong.push(format!("{} daemons could not start", self.started_again));
        }
        if self.samples.iter().all(|sample| sample.metrics_bytes == 0) {
            wrong.push("the metrics port never answered".to_owned());
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// The samples of a quarter.
    fn quarter(&self, number: usize) -> impl Iterator<Item = &Sample> {
        let part = self.length.as_nanos() / 4;
        self.samples.iter().filter(move |sample| sample.at.as_nanos() / part.max(1) == number as u64)
    }

    /// A table of trends, and what has grown.
    fn trends(&self) -> (String, Vec<String>) {
        let mut table = format!("{:<10} {:<28} {:>10} {:>10}\n", "gateway", "median of a quarter", "before", "after");
        let mut grown = Vec::new();
        let is_long = self.length >= LEAST_FOR_TRENDS;
        let mut judge = |who: &str, what: &str, unit: &str, series: [Vec<f64>; 2], bound: Bound, counts: bool| {
            let [before, after] = series;
            let Some(trend) = compare(&before, &after, bound) else {
                grown.push(format!("{who}: {what} was never seen"));
                return;
            };
            let verdict = verdict(trend.is_flat, counts);
            let _ = writeln!(
                table,
                "{who:<10} {:<28} {:>10.1} {:>10.1}{verdict}",
                format!("{what}{unit}"),
                trend.before,
                trend.after
            );
            if counts && !trend.is_flat {
                grown.push(format!("{who}: {what} grew from {:.1} to {:.1}{unit}", trend.before, trend.after));
            }
        };
        type Of = fn(&Gateway) -> u64;
        let columns: [(&str, &str, Bound, bool, Of); 6] = [
            ("worker's descriptors", "", Bound::None, true, |g| g.worker.descriptors),
            ("supervisor's descriptors", "", Bound::None, true, |g| g.supervisor.descriptors),
            ("worker's threads", "", Bound::None, true, |g| g.worker.threads),
            ("kernel objects", "", Bound::None, true, |g| g.kernel_objects),
            ("flows", "", Bound::None, false, |g| g.flows),
            ("tables", ", bytes", Bound::None, false, |g| g.memory_bytes),
        ];
        type IsOther = fn(&Gateway, &Gateway) -> bool;
        let processes: [(&str, IsOther, Of); 2] = [
            ("worker's memory", is_other_worker, |g| g.worker.rss_kib),
            ("supervisor's memory", is_other_daemon, |g| g.supervisor.rss_kib),
        ];
        for name in names() {
            for (what, is_other, of) in processes {
                let series = quarters_of_longest(&self.samples, &name, is_other)
                    .map(|quarter| quarter.into_iter().map(|gateway| of(gateway) as f64).collect());
                judge(&name, what, ", KiB", series, MEMORY, is_long);
            }
            for (what, unit, bound, counts, of) in columns {
                let quarters =
                    if name == "hub" && what.starts_with("worker") { THIRD_AND_LAST } else { SECOND_AND_LAST };
                let series = quarters.map(|quarter| {
                    let gateways = self.quarter(quarter).flat_map(|sample| &sample.gateways);
                    gateways.filter(|gateway| gateway.name == name).map(|gateway| of(gateway) as f64).collect()
                });
                judge(&name, what, unit, series, bound, counts);
            }
        }
        for (index, what) in ["half of the pings", "95 of 100 pings"].into_iter().enumerate() {
            let series = SECOND_AND_LAST
                .map(|quarter| self.quarter(quarter).filter_map(|sample| Some(sample.ping_ms?[index])).collect());
            judge("all", what, ", ms", series, LATENCY, is_long);
        }
        (table, grown)
    }
}

fn verdict(is_flat: bool, counts: bool) -> &'static str {
    match (is_flat, counts) {
        (true, _) => "",
        (false, true) => "  GROWS",
        (false, false) => "  more, not judged",
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// Where the files of a soak are.
fn directory() -> PathBuf {
    let of_tree = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tree").join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(of_tree, PathBuf::from).join("soak")
}
