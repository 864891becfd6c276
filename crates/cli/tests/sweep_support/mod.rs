//! One sweep, shared by several processes in a place of their own.

use airtcp_test_support::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

pub const AIRTCP: &str = env!("CARGO_BIN_EXE_airtcp");
/// Twelve runs, of a fifth of a second each without optimization.
pub const SWEEP: [&str; 11] = [
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
pub struct Place(Scratch);

impl Place {
    pub fn new(name: &str) -> Place {
        Place(Scratch::new(&format!("shards-{name}")))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.path()).env_remove("RUST_LOG");
        command
    }

    pub fn airtcp(&self, arguments: &[&str]) -> Output {
        self.command(AIRTCP, arguments).output().expect("it starts")
    }

    /// The results of the one scenario here.
    pub fn home(&self) -> PathBuf {
        std::fs::read_dir(self.path().join("results")).unwrap().next().expect("results").unwrap().path()
    }

    /// Every file of the simulator but the manifest, by its name.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.home().join("sim")).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.is_file() && !path.ends_with("manifest.json"));
        let file =
            |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap());
        let mut files: Vec<_> = files.map(file).collect();
        files.sort();
        files
    }

    /// The lines of the longest file whose name contains `part`: one, and one more for each run that is kept.
    pub fn lines_kept(&self, part: &str) -> usize {
        let lines = |path: &PathBuf| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
        let all = walk(&self.path().join("results"));
        all.iter().filter(|path| path.to_string_lossy().contains(part)).map(lines).max().unwrap_or(0)
    }

    /// Waits until `count` runs are kept in a file whose name contains `part`; `child` makes them.
    pub fn wait_for_runs(&self, part: &str, count: usize, child: &mut Child) {
        for _ in 0..12_000 {
            if self.lines_kept(part) > count {
                return;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended before {count} runs were kept");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{count} runs take longer than two minutes");
    }
}

pub fn walk(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn run(more: &[&'static str]) -> Vec<&'static str> {
    [&["run"], &SWEEP[..], more].concat()
}

/// What one process leaves.
pub fn alone() -> &'static [(String, Vec<u8>)] {
    static ALONE: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    ALONE.get_or_init(|| {
        let place = Place::new("alone");
        let output = place.airtcp(&run(&[]));
        assert!(output.status.success(), "{}", stderr(&output));
        place.files()
    })
}
