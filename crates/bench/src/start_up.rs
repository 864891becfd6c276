//! What a sweep costs beside its simulation, and how long its first result takes.

use crate::verdicts::Verdicts;
use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Cells of the sweep.
const CELLS: u32 = 100;
/// Each is measured so often; the least counts.
const ROUNDS: u32 = 5;

/// Judges `program`, an `airtcp`.
pub fn judge(verdicts: &mut Verdicts, program: &Path) -> anyhow::Result<()> {
    verdicts
        .of(&format!("start-up: the demo's network at 100 Mbit/s with CUBIC, {CELLS} losses up to 1 %, one thread"));
    let scratch = std::env::temp_dir().join(format!("airtcp-start-up-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let measured = sweep(program, &scratch).and_then(|sweep| Ok((sweep, first_result(program, &scratch)?)));
    // Whatever was found, nothing is left of it.
    let _ = std::fs::remove_dir_all(&scratch);
    let ([whole, simulation], first) = measured?;
    println!("  {whole:.3} CPU s, of which its runs take {simulation:.3}; first result of the demo after {first:.3} s");
    verdicts.at_most("CPU time of a sweep of 1 s cells over that of its runs", whole / simulation, 1.2);
    verdicts.at_most("seconds until the demo's first result", first, 1.0);
    println!();
    Ok(())
}

/// CPU seconds of a sweep whose cells last a second, and how many of them are in its runs, as its manifest says.
fn sweep(program: &Path, scratch: &Path) -> anyhow::Result<[f64; 2]> {
    let losses: Vec<_> = (0..CELLS).map(|cell| format!("\"{:.2}%\"", f64::from(cell) / 100.0)).collect();
    let losses = format!("vary.links.air.loss=[{}]", losses.join(", "));
    let results = scratch.join("sweep");
    let settings = [
        "runs=1",
        "duration=1s",
        "warmup=0s",
        "links.air.rate=100Mbit",
        "links.air.queue.limit=750kB",
        "links.wire.rate=1Gbit",
        "links.lan.rate=1Gbit",
        "vary.flows.bulk.controller=[\"cubic\"]",
        "vary.schemes.repair.kind=[\"none\"]",
        &losses,
    ];
    let path = results.display().to_string();
    let mut arguments = vec!["run", "demo", "--fresh", "--threads", "1", "--results", &path];
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let [mut whole, mut in_runs] = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        whole = whole.min(crate::measure::cpu(program, &arguments)?);
        in_runs = in_runs.min(run_cpu_seconds(&results)?);
    }
    Ok([whole, in_runs])
}

/// What the only result in `results` says of the processor's time in its runs.
fn run_cpu_seconds(results: &Path) -> anyhow::Result<f64> {
    let mut found = std::fs::read_dir(results)?;
    let result = found.next().context("the sweep left no result")??.path();
    let manifest = std::fs::read(result.join("sim/manifest.json"))?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest)?;
    manifest["run_cpu_seconds"].as_f64().context("the manifest does not say how long the runs took")
}

/// Seconds until the demo's first row is printed.
#[expect(clippy::disallowed_methods, reason = "how long a person waits is a matter of the wall clock")]
fn first_result(program: &Path, scratch: &Path) -> anyhow::Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let mut demo = Command::new(program);
        demo.args(["run", "demo", "--fresh", "--results"]).arg(scratch.join("demo"));
        let mut demo = demo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(demo.stdout.take().context("its output is piped")?).lines();
        let mut taken = None;
        for line in lines {
            let is_row = line?.split_whitespace().any(|word| word.parse::<f64>().is_ok());
            taken = taken.or(is_row.then(|| begin.elapsed().as_secs_f64()));
        }
        ensure!(demo.wait()?.success(), "{} run demo failed", program.display());
        least = least.min(taken.context("the demo printed no number")?);
    }
    Ok(least)
}
