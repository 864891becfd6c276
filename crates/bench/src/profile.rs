//! docs/performance.md: what the simulator does for a data packet, counted by valgrind (cachegrind) on networks of the
//! race. Counts are no times: they need no quiet machine, and two runs give the same.
//!
//! As in the race, the start-up is subtracted.

use crate::cell::Cell;
use crate::dumbbell::Dumbbell;
use crate::measure;
use crate::network::Network;
use crate::rivals::Rival;
use crate::verdicts::Verdicts;
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The first-level caches that are simulated: 32 KiB in 8 ways, for instructions and for data.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,8,64"];
/// Functions that the page lists.
const LISTED: usize = 25;

/// What is counted, in the order of [`Counts`].
const COUNTED: [&[&str]; 4] = [&["Ir"], &["I1mr"], &["D1mr", "D1mw"], &["Bcm", "Bim"]];
const NAMES: &str =
    "instructions | misses of the instruction cache | misses of the data cache | branches guessed wrong";

/// Instructions, misses of the caches, mispredicted branches.
type Counts = [f64; 4];

/// What a network costs for each data packet.
struct Profile {
    events: f64,
    total: Counts,
    /// By function, inlined ones in those that they are inlined into; most instructions first.
    functions: Vec<(String, Counts)>,
}

/// A whole run.
struct Counted {
    packets: f64,
    events: f64,
    functions: BTreeMap<String, Counts>,
}

/// Counts, and writes the page with what the races showed before it.
pub fn write(verdicts: &Verdicts) -> anyhow::Result<()> {
    let dumbbell = |flows, mbit, delay_ms, queue, modern, checks| {
        let seconds = if flows == 1 { 41 } else { 5 };
        Dumbbell { modern, checks, ..Dumbbell::new(flows, mbit, delay_ms, queue, seconds) }
    };
    let cell = |stations, as_tcp| Cell {
        stations,
        queue: 500,
        seconds: 20,
        wired: as_tcp,
        aggregated: false,
        eifs: false,
        idle: 0,
        as_tcp,
    };
    let classic = profile(&dumbbell(50, 100, 8, 200, false, false))?;
    let mut page = HEAD.to_owned() + &verdicts.table();
    if let Some(sentence) = verdicts.quietness() {
        writeln!(page, "\n{sentence}")?;
    }
    page += PROFILE;
    writeln!(page, "\n| network | events | {NAMES} |\n|---|---|---|---|---|---|")?;
    row(&mut page, "50 flows, 100 Mbit/s, an acknowledgment for each segment", &classic)?;
    let checked = profile(&dumbbell(50, 100, 8, 200, false, true))?;
    row(&mut page, "the same with the checks that watch every run", &checked)?;
    row(
        &mut page,
        "50 flows, SACK, RACK and CUBIC, delayed acknowledgments",
        &profile(&dumbbell(50, 100, 8, 200, true, false))?,
    )?;
    row(&mut page, "1 flow, 10 Mbit/s", &profile(&dumbbell(1, 10, 23, 50, false, false))?)?;
    row(&mut page, "802.11b cell, 10 uploads", &profile(&cell(10, false))?)?;
    row(&mut page, "802.11b cell, 80 uploads", &profile(&cell(80, false))?)?;
    row(&mut page, "802.11b cell, 10 uploads with AS-TCP to a server behind", &profile(&cell(10, true))?)?;
    page += BY_FUNCTION;
    writeln!(page, "\n| function | {NAMES} |\n|---|---|---|---|---|")?;
    for (name, counts) in classic.functions.iter().take(LISTED) {
        writeln!(page, "| `{name}` | {} |", cells(counts))?;
    }
    page += NEXT;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md");
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn row(page: &mut String, name: &str, profile: &Profile) -> anyhow::Result<()> {
    Ok(writeln!(page, "| {name} | {:.2} | {} |", profile.events, cells(&profile.total))?)
}

fn cells([instructions, rest @ ..]: &Counts) -> String {
    let [code, data, branches] = rest.map(|count| format!("{count:.1}"));
    format!("{instructions:.0} | {code} | {data} | {branches}")
}

fn profile<N: Network>(network: &N) -> anyhow::Result<Profile> {
    let ours = Rival::<N>::ours()?;
    let count = |network: &N| {
        let arguments = ours.arguments(network);
        let cost = measure::run(ours.program(), &arguments)?;
        let events = cost.events.context("our program says how many events there were")?;
        let functions = counts(ours.program(), &arguments)?;
        anyhow::Ok(Counted { packets: cost.packets, events, functions })
    };
    let (start, whole) = (count(&network.lasting(N::START_UP))?, count(network)?);
    let packets = whole.packets - start.packets;
    let of = |name: &str| {
        let [start, whole] = [&start, &whole].map(|counted| counted.functions.get(name).copied().unwrap_or_default());
        std::array::from_fn(|index| (whole[index] - start[index]) / packets)
    };
    let mut functions: Vec<(String, Counts)> = whole.functions.keys().map(|name| (name.clone(), of(name))).collect();
    functions.sort_by(|one, other| other.1[0].total_cmp(&one.1[0]));
    let total = std::array::from_fn(|index| functions.iter().map(|(_, counts)| counts[index]).sum());
    Ok(Profile { events: (whole.events - start.events) / packets, total, functions })
}

/// What cachegrind counts of a run, by function.
fn counts(program: &Path, arguments: &[String]) -> anyhow::Result<BTreeMap<String, Counts>> {
    let file = std::env::temp_dir().join(format!("airtcp-profile-{}", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"])
        .args(CACHES)
        .arg(format!("--cachegrind-out-file={}", file.display()))
        .arg(program)
        .args(arguments)
        .output()
        .context("valgrind is missing; install it: scripts/setup bench")?;
    ensure!(output.status.success(), "valgrind failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file)?;
    std::fs::remove_file(&file)?;
    by_function(&text).context("cachegrind wrote something else than counts by line")
}

/// Adds the counts of all lines of each function.
fn by_function(text: &str) -> Option<BTreeMap<String, Counts>> {
    let (mut functions, mut name) = (BTreeMap::<String, Counts>::new(), "");
    let events: Vec<&str> = text.lines().find_map(|line| line.strip_prefix("events:"))?.split_whitespace().collect();
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            name = function;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let numbers: Vec<f64> = line.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>().ok()?;
            let counts = functions.entry(name.to_owned()).or_default();
            for (count, names) in counts.iter_mut().zip(COUNTED) {
                let of_names = events.iter().zip(&numbers).filter(|(event, _)| names.contains(event));
                *count += of_names.map(|(_, number)| number).sum::<f64>();
            }
        }
    }
    Some(functions)
}

const HEAD: &str = "# Performance

How fast the simulator is beside ns-2, ns-3 and a binary heap, and where its time goes. `make bench` writes this page, on a
quiet machine. Programs run in turns on the same networks (`crates/bench/src/dumbbell.rs` and `cell.rs`, `bench/ns2`, `bench/ns3`);
each counts with the fastest of five runs, its start-up subtracted (its shortest run), and only where both carried the same
within 5 %. ns-2 and ns-3 are Debian's. airtcp-bench is a profile-guided build (`scripts/guided`) that learned on other networks, with the
allocator of `airtcp`; `airtcp` of the start-up is the plain release build. A target is met with a tenth to spare.

## Ratios

";

const PROFILE: &str = "
## What is done for a packet

Counted by valgrind, without start-up: two runs on any machine give the same. Caches are of 32 KiB.
";

const BY_FUNCTION: &str = "
## Where they go

For each data packet of 50 flows with an acknowledgment for each segment. What the compiler inlines counts where it is
inlined: `Engine::run` is the event loop.
";

const NEXT: &str = "
## Where the next factor lies

- Events are two for a data packet and its acknowledgment, one at each host: what is between the hosts is decided when a packet
  leaves, or in one event for all that enter a shared link within its delay. A quarter of the instructions still goes into
  six passages of a link (the link itself, the trace).
- Half goes into TCP and its host, spread thin over what the model asks for. Acknowledgments that are only progress have a short
  way, and so have duplicates that say nothing else, half of those that 50 flows get in the first five seconds. An eighth goes
  into the lists of what comes out of links and the event queue.
- `airtcp-bench hold` says what is left of an event's time where nothing is put in order: a tenth. The order of what is due
  soon is found without branches; what is due later is only appended to a bucket. Most events of a run are of
  few sources, which have a tournament of their own with few levels.
- A profile-guided build lays the code of a packet together, and takes 13 to 27 % less time than
  the plain release build (`airtcp-bench simulate`), with a tenth fewer instructions.
- What many flows cost more than one is memory: a connection is 1.7 KiB, and more with receive habits (autotuning, GRO); a host's
  end of a flow is half a KiB, each direction of a link a third of one, and each segment in flight 16 bytes, 24 with RACK. Of 200 hosts and more it is fetched before the packet arrives that needs it
  (`crates/sim/src/look_ahead.rs`). Less of it, and what each packet touches in few cache lines, is what 20,000 flows need.
- Checks of overflow stay, but for counts of 64 bits that take single steps: those were 100 of 4,280 instructions for a data packet
  (plain release build).
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_add_up_by_function() {
        let text = "desc: I1 cache\ncmd: x\nevents: Ir I1mr Dr D1mr D1mw Bcm Bim\nfl=a.rs\nfn=one\n3 10 1 9 2 3 0 1\n4 5 0 0 0 0 2 0\n\
                    fl=b.rs\nfn=two\n1 7 0 0 0 0 0 0\nfl=c.rs\nfn=one\n9 1 1 1 1 1 1 1\nsummary: 23\n";
        let functions = by_function(text).unwrap();
        assert_eq!(functions["one"], [16.0, 2.0, 7.0, 5.0]);
        assert_eq!(functions["two"], [7.0, 0.0, 0.0, 0.0]);
        assert!(by_function("nothing").is_none());
    }
}
