//! What `--emit` writes for a cluster leaves the bytes that one process leaves, also where a worker is killed.

mod sweep_support;

use airtcp_test_support::{is_long, python, skip};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use sweep_support::{AIRTCP, Place, alone, run, stderr};

/// Writes the script for an engine.
fn emit(place: &Place, engine: &'static str) -> PathBuf {
    let output = place.airtcp(&run(&["--emit", engine, "--tasks", "3"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let path = place.path().join(engine);
    std::fs::write(&path, &output.stdout).unwrap();
    path
}

/// Puts a program into the place; returns a PATH that begins with it.
fn put_program(place: &Place, name: &str, text: &str) -> String {
    let directory = place.path().join("bin");
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join(name);
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap())
}

/// Whether a command can be had: it ends well.
fn is_there(program: impl AsRef<Path>, arguments: &[&str]) -> bool {
    Command::new(program.as_ref()).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Asks again and again, for a minute.
fn within_a_minute<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let again = |_| {
        std::thread::sleep(Duration::from_millis(20));
        ask()
    };
    (0..3000).find_map(again).unwrap_or_else(|| panic!("{what} takes longer than a minute"))
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

/// Waits until a task has kept a run, and kills the tasks that are under way (-9). Returns how many those were.
fn kill_tasks(place: &Place) -> usize {
    within_a_minute("the first run", || (place.lines_kept(".jsonl") > 1).then_some(()));
    let [place, program] = [place.path(), Path::new(AIRTCP)].map(|path| path.canonicalize().unwrap());
    let mut killed = 0;
    for process in std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path())) {
        let is = |link: &str, wanted: &Path| std::fs::read_link(process.join(link)).is_ok_and(|path| path == wanted);
        if is("cwd", &place) && is("exe", &program) {
            killed += usize::from(is_there("kill", &["-9", process.file_name().unwrap().to_str().unwrap()]));
        }
    }
    killed
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
    let path = put_program(&place, "sbatch", SBATCH);
    let output = Command::new("sh").arg(script).env("PATH", path).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(place.files() == alone());
}

/// Two free ports of loopback.
fn free_ports() -> [String; 2] {
    let sockets = [0, 0].map(|port| std::net::TcpListener::bind(("127.0.0.1", port)).unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port().to_string())
}

/// A command of the Slurm in `directory`.
fn slurm(place: &Place, directory: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = place.command(program, arguments);
    command.env("SLURM_CONF", directory.join("slurm.conf"));
    command
}

/// Starts Slurm on this machine alone, with all that it has in `directory`.
fn start_slurm(cluster: &mut Cluster, place: &Place, directory: &Path) {
    let [port, daemon] = free_ports();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap_or("localhost").to_owned();
    let at = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    for name in ["state", "spool"] {
        std::fs::create_dir_all(directory.join(name)).unwrap();
    }
    let settings = include_str!("cluster_support/slurm.conf");
    let replaced = [("DIRECTORY", at("")), ("HOST", host), ("PORT", port), ("DAEMON", daemon)];
    let settings = replaced.iter().fold(settings.to_owned(), |text, (name, value)| text.replace(name, value));
    std::fs::write(directory.join("slurm.conf"), settings).unwrap();
    let mut key = [0; 1024];
    std::fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut key)).unwrap();
    std::fs::write(directory.join("munge.key"), key).unwrap();
    std::fs::set_permissions(directory.join("munge.key"), PermissionsExt::from_mode(0o400)).unwrap();
    let files = ["key-file", "socket", "pid-file", "log-file", "seed-file"].map(|option| {
        let name = at(&format!("munge.{}", option.trim_end_matches("-file")));
        format!("--{option}={name}")
    });
    cluster.start(place.command("munged", &["--force", "--foreground"]).args(files));
    within_a_minute("munge", || directory.join("munge.socket").exists().then_some(()));
    for program in ["slurmctld", "slurmd"] {
        cluster.start(&mut slurm(place, directory, program, &["-D"]));
    }
    within_a_minute("a node", || {
        let output = slurm(place, directory, "sinfo", &["-h", "-o", "%t"]).output().ok()?;
        (output.stdout == b"idle\n").then_some(())
    });
}

#[test]
fn a_slurm_cluster_that_loses_a_task_leaves_what_one_process_leaves() {
    if !is_long() {
        return skip("make test-long runs it");
    }
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root || !["slurmctld", "slurmd", "sbatch", "munged"].iter().all(|program| is_there("which", &[program])) {
        return skip("no root, or no Slurm; scripts/setup clusters brings it");
    }
    let place = Place::new("slurm-live");
    let directory = place.path().join("cluster");
    let mut cluster = Cluster(Vec::new());
    start_slurm(&mut cluster, &place, &directory);
    let slurm = |program: &str, arguments: &[&str]| slurm(&place, &directory, program, arguments).output().unwrap();
    let script = emit(&place, "slurm");
    let submitted = slurm("sh", &[script.to_str().unwrap()]);
    assert!(submitted.status.success(), "{}", stderr(&submitted));
    assert!(kill_tasks(&place) > 0);
    within_a_minute("what is left", || {
        let left = slurm("squeue", &["-h", "-o", "%A %r"]);
        assert!(left.status.success(), "{}", stderr(&left));
        let left = String::from_utf8(left.stdout).unwrap();
        // A task that is queued again would wait for two minutes.
        for task in left.lines().filter_map(|line| line.strip_suffix(" BeginTime")) {
            slurm("scontrol", &["update", &format!("JobId={task}"), "StartTime=now"]);
        }
        left.is_empty().then_some(())
    });
    assert!(place.files() == alone());
}

#[test]
fn a_dask_cluster_that_loses_a_worker_leaves_what_one_process_leaves() {
    let python = python();
    if !is_long() {
        return skip("make test-long runs it");
    }
    if !is_there(&python, &["-c", "import distributed"]) {
        return skip("no Python with dask.distributed; scripts/setup python makes one");
    }
    let place = Place::new("dask");
    let script = emit(&place, "dask");
    let mut cluster = Cluster(Vec::new());
    let file = place.path().join("scheduler.json");
    let file = file.to_str().unwrap();
    let scheduler = ["-m", "distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", file, "--no-dashboard"];
    cluster.start(&mut place.command(&python, &scheduler));
    let options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", file];
    let worker = [&["-m", "distributed.cli.dask_worker"][..], &options].concat();
    let first = cluster.start(&mut place.command(&python, &worker));
    cluster.start(&mut place.command(&python, &worker));
    let address = format!("import json; print(json.load(open({file:?}))['address'])");
    let address = within_a_minute("a scheduler", || {
        let output = place.command(&python, &["-c", &address]).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    });
    let mut program =
        place.command(&python, &[script.to_str().unwrap(), &address]).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_runs(".jsonl", 1, &mut program);
    cluster.kill(first);
    assert!(program.wait().unwrap().success());
    assert!(place.files() == alone());
}

#[test]
fn a_hyperqueue_cluster_that_is_killed_and_started_again_leaves_what_one_process_leaves() {
    let python = python();
    if !is_long() {
        return skip("make test-long runs it");
    }
    if !is_there(&python, &["-c", "import hyperqueue"]) {
        return skip("no Python with HyperQueue; scripts/setup python makes one");
    }
    let place = Place::new("hq");
    let script = emit(&place, "hyperqueue");
    let program = format!("#!{}\n{}", python.display(), include_str!("cluster_support/hq.py"));
    let path = put_program(&place, "hq", &program);
    let mut cluster = Cluster(Vec::new());
    let here = |program: &str, argument: &str| {
        let mut command = place.command(program, &[argument]);
        command
            .env("HQ_SERVER_DIR", place.path().join("server"))
            .env("PATH", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let start = |cluster: &mut Cluster| {
        let index = cluster.start(&mut here("hq", "cluster"));
        within_a_minute("a server", || place.path().join("server/hq-current/access.json").exists().then_some(()));
        index
    };
    let first = start(&mut cluster);
    let mut program = here("sh", script.to_str().unwrap()).spawn().unwrap();
    place.wait_for_runs(".jsonl", 1, &mut program);
    cluster.kill(first);
    kill_tasks(&place);
    assert!(!program.wait().unwrap().success(), "the server is gone");
    std::fs::remove_dir_all(place.path().join("server")).unwrap();
    start(&mut cluster);
    assert!(here("sh", script.to_str().unwrap()).status().unwrap().success());
    assert!(place.files() == alone());
}
