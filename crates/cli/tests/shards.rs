//! A sweep shared by several processes, one of them killed, leaves the bytes that one process leaves; and so do the scripts
//! for clusters.

use airtcp_test_support::{Scratch, is_long, python, skip};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const AIRTCP: &str = env!("CARGO_BIN_EXE_airtcp");
/// Twelve runs, of a fifth of a second each without optimization.
const SWEEP: [&str; 11] = [
    "demo",
    "--set",
    "duration=120s",
    "--set",
    "runs=3",
    "--set",
    "flows.bulk.controller=cubic",
    "--set",
    "vary.links.air.loss=[\"1%\", \"5%\"]",
    "--results",
    "results",
];

/// Where the processes of one test leave their results.
struct Place(Scratch);

impl Place {
    fn new(name: &str) -> Place {
        Place(Scratch::new(&format!("shards-{name}")))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.path()).env_remove("RUST_LOG");
        command
    }

    fn airtcp(&self, arguments: &[&str]) -> Output {
        self.command(AIRTCP, arguments).output().expect("it starts")
    }

    /// The results of the one scenario here.
    fn home(&self) -> PathBuf {
        std::fs::read_dir(self.path().join("results")).unwrap().next().expect("results").unwrap().path()
    }

    /// Every file of the simulator but the manifest, by its name.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.home().join("sim")).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.is_file() && !path.ends_with("manifest.json"));
        let file =
            |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap());
        let mut files: Vec<_> = files.map(file).collect();
        files.sort();
        files
    }

    /// Waits until `count` runs are kept in a file whose name contains `part`; `child` makes them.
    fn wait_for_runs(&self, part: &str, count: usize, child: &mut Child) {
        for _ in 0..12_000 {
            let kept = |path: PathBuf| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
            let found =
                walk(&self.path().join("results")).into_iter().filter(|path| path.to_string_lossy().contains(part));
            if found.map(kept).any(|lines| lines > count) {
                return;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended before {count} runs were kept");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{count} runs take longer than two minutes");
    }
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn run(more: &[&'static str]) -> Vec<&'static str> {
    [&["run"], &SWEEP[..], more].concat()
}

/// What one process leaves.
fn alone() -> &'static [(String, Vec<u8>)] {
    static ALONE: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    ALONE.get_or_init(|| {
        let place = Place::new("alone");
        let output = place.airtcp(&run(&[]));
        assert!(output.status.success(), "{}", stderr(&output));
        place.files()
    })
}

#[test]
fn a_killed_shard_goes_on_and_the_merge_is_what_one_process_leaves() {
    let place = Place::new("killed");
    let mut child =
        place.command(AIRTCP, &run(&["--shard", "1/2", "--threads", "1"])).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_runs("sim-1-of-2", 2, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let second = place.airtcp(&run(&["--shard", "2/2"]));
    assert!(String::from_utf8_lossy(&second.stdout).contains("6 runs are in results/demo-"), "{}", stderr(&second));
    let home = place.home();
    let home = home.strip_prefix(place.path()).unwrap().to_str().unwrap();
    let early = place.airtcp(&["merge", home]);
    assert_eq!(early.status.code(), Some(1));
    assert!(stderr(&early).contains("missing: of shard 1/2"), "{}", stderr(&early));
    assert!(place.airtcp(&run(&["--shard", "1/2"])).status.success());
    let merged = place.airtcp(&["merge", home]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert!(String::from_utf8_lossy(&merged.stdout).contains("gsnoop"), "the table is printed");
    assert!(place.files() == alone());
    assert!(place.home().join("report.html").exists());
}

#[test]
fn runs_of_another_build_are_refused_until_one_says_what_to_do() {
    let place = Place::new("build");
    let mut child = place.command(AIRTCP, &run(&["--threads", "1"])).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_runs(".sim.partial", 1, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = place.home().join(".sim.partial");
    let kept = std::fs::read_to_string(&journal).unwrap();
    let version = format!("\"build\":\"{} ", env!("CARGO_PKG_VERSION"));
    assert!(kept.contains(&version));
    std::fs::write(&journal, kept.replacen(&version, "\"build\":\"0.0.9 ", 1)).unwrap();
    let refused = place.airtcp(&run(&[]));
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--resume uses them, --fresh drops them"), "{}", stderr(&refused));
    let resumed = place.airtcp(&run(&["--resume"]));
    assert!(stderr(&resumed).contains("continuing an interrupted sweep"), "{}", stderr(&resumed));
    let manifest = std::fs::read_to_string(place.home().join("sim/manifest.json")).unwrap();
    assert!(manifest.contains("\"0.0.9 ") && manifest.matches(env!("CARGO_PKG_VERSION")).count() >= 2, "{manifest}");
}

#[test]
fn nonsense_about_shards_is_bad_input() {
    let place = Place::new("nonsense");
    for (arguments, sentence) in [
        (vec!["run", "demo", "--shard", "3/2"], "2/8 is the second of eight shards"),
        (vec!["run", "demo", "--shard", "1/2", "--json"], "cannot be used with"),
        (vec!["run", "demo", "--emit", "torque"], "possible values: slurm, hyperqueue, dask"),
        (vec!["run", "demo", "--emit", "slurm", "--resume"], "cannot be used with"),
        (vec!["run", "demo", "--tasks", "3"], "--emit"),
        (vec!["merge"], "DIR"),
        (vec!["merge", "."], "no shards here"),
        (vec!["merge", "nowhere"], "cannot read nowhere"),
    ] {
        let output = place.airtcp(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(sentence), "{arguments:?}: {}", stderr(&output));
    }
}

/// Writes the script for an engine.
fn emit(place: &Place, engine: &'static str) -> PathBuf {
    let output = place.airtcp(&run(&["--emit", engine, "--tasks", "3"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let path = place.path().join(engine);
    std::fs::write(&path, &output.stdout).unwrap();
    path
}

/// As far as the script can tell, sbatch: runs every task of the array at once, one after the other.
const SBATCH: &str = r#"#!/bin/sh
wrap= script=
while [ $# -gt 0 ]; do
    case $1 in
    --wrap) wrap=$2; shift ;;
    --parsable) ;;
    --dependency=afterok:7 | --kill-on-invalid-dep=yes | --job-name=* | --output=*) ;;
    -*) echo "unknown option $1" >&2; exit 1 ;;
    *) script=$1 ;;
    esac
    shift
done
if [ -n "$wrap" ]; then exec sh -c "$wrap"; fi
for task in $(seq $(sed -n 's/^#SBATCH --array=\([0-9]*\)-\([0-9]*\)$/\1 \2/p' "$script")); do
    SLURM_ARRAY_TASK_ID=$task sh "$script" >&2 || exit 1
done
echo "7;cluster"
"#;

#[test]
fn the_script_for_slurm_leaves_what_one_process_leaves() {
    let place = Place::new("slurm");
    let script = emit(&place, "slurm");
    std::fs::create_dir(place.path().join("bin")).unwrap();
    std::fs::write(place.path().join("bin/sbatch"), SBATCH).unwrap();
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap());
    assert!(Command::new("chmod").args(["+x"]).arg(place.path().join("bin/sbatch")).status().unwrap().success());
    let output = Command::new("sh").arg(script).env("PATH", path).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(place.files() == alone());
}

/// Processes of a cluster, killed at the end.
struct Cluster(Vec<Child>);

impl Cluster {
    fn start(&mut self, command: &mut Command) -> usize {
        self.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
        self.0.len() - 1
    }

    fn kill(&mut self, index: usize) {
        let _ = self.0[index].kill();
        let _ = self.0[index].wait();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.0.len()).rev().for_each(|index| self.kill(index));
    }
}

#[test]
fn a_dask_cluster_that_loses_a_worker_leaves_what_one_process_leaves() {
    let python = python();
    if !is_long() {
        return skip("make test-long runs it");
    }
    if !Command::new(&python).args(["-c", "import distributed"]).output().is_ok_and(|output| output.status.success()) {
        return skip("no Python with dask.distributed; scripts/setup python makes one");
    }
    let place = Place::new("dask");
    let script = emit(&place, "dask");
    let mut cluster = Cluster(Vec::new());
    let file = place.path().join("scheduler.json");
    let file = file.to_str().unwrap();
    let scheduler = ["-m", "distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", file, "--no-dashboard"];
    cluster.start(&mut place.command(&python, &scheduler));
    let worker = [
        "-m",
        "distributed.cli.dask_worker",
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--scheduler-file",
        file,
    ];
    let first = cluster.start(&mut place.command(&python, &worker));
    cluster.start(&mut place.command(&python, &worker));
    let address = format!("import json; print(json.load(open({file:?}))['address'])");
    let address = (0..600)
        .find_map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            let output = place.command(&python, &["-c", &address]).output().unwrap();
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
        })
        .expect("a scheduler within a minute");
    let mut program =
        place.command(&python, &[script.to_str().unwrap(), &address]).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_runs(".jsonl", 1, &mut program);
    cluster.kill(first);
    assert!(program.wait().unwrap().success());
    assert!(place.files() == alone());
}

#[test]
fn a_hyperqueue_cluster_that_loses_a_worker_leaves_what_one_process_leaves() {
    if !is_long() {
        return skip("make test-long runs it");
    }
    let beside = python().parent().map(|directory| directory.join("hq")).filter(|path| path.exists());
    let hq = beside.unwrap_or_else(|| "hq".into());
    if !Command::new(&hq).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip("no HyperQueue (hq); scripts/setup python brings it");
    }
    let place = Place::new("hq");
    let script = emit(&place, "hyperqueue");
    let mut cluster = Cluster(Vec::new());
    let here = |arguments: &[&str]| {
        let mut command = place.command(&hq, arguments);
        command.env("HQ_SERVER_DIR", place.path().join("server"));
        command
    };
    cluster.start(&mut here(&["server", "start"]));
    let is_up = |_: i32| {
        std::thread::sleep(Duration::from_millis(100));
        here(&["job", "list"]).output().is_ok_and(|output| output.status.success())
    };
    assert!((0..600).any(is_up), "a server within a minute");
    let first = cluster.start(&mut here(&["worker", "start", "--cpus", "1"]));
    cluster.start(&mut here(&["worker", "start", "--cpus", "1"]));
    let path = match hq.parent().filter(|directory| directory.is_absolute()) {
        Some(directory) => format!("{}:{}", directory.display(), std::env::var("PATH").unwrap()),
        None => std::env::var("PATH").unwrap(),
    };
    let mut program = place.command("sh", &[script.to_str().unwrap()]);
    program.env("HQ_SERVER_DIR", place.path().join("server")).env("PATH", path).stdout(Stdio::null());
    let mut program = program.spawn().unwrap();
    place.wait_for_runs(".jsonl", 1, &mut program);
    cluster.kill(first);
    assert!(program.wait().unwrap().success());
    assert!(place.files() == alone());
}
