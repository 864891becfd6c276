//! `manifest.json`: by whom and on what the results were made.

use airtcp_experiment::results::METHOD;
use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};
use serde_json::{Value, json};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::time::Duration;

/// Revision of the checkout this was built from, with `-modified` if files were changed since; or `unknown`.
const REVISION: &str = env!("AIRTCP_REVISION");

/// The part of the manifest that describes the run itself.
pub(crate) struct Work<'a> {
    /// `simulator` or `live`.
    pub(crate) world: &'a str,
    /// Threads of the simulator.
    pub(crate) threads: usize,
    /// Runs that an interrupted process had done before, or others of a sweep that several share.
    pub(crate) resumed_runs: usize,
    /// Every build that made runs, this one last.
    pub(crate) builds: &'a [String],
    /// How long this process took.
    pub(crate) wall: Duration,
    /// Of that, what all threads together spent in runs, where it was measured.
    pub(crate) in_runs: Option<Spent>,
}

/// Time in runs, all threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    /// Of the processors: without what other processes had meanwhile.
    pub(crate) processor: Duration,
}

#[expect(clippy::disallowed_methods, reason = "tells the user how long a run took; nothing simulated sees it")]
pub(crate) fn wall_clock() -> std::time::Instant {
    std::time::Instant::now()
}

/// The manifest of a run.
pub(crate) fn manifest(work: &Work<'_>) -> Value {
    json!({
        "schema": "airtcp.manifest/1",
        "version": env!("CARGO_PKG_VERSION"),
        "revision": REVISION,
        "world": work.world,
        "command": std::env::args().collect::<Vec<_>>(),
        "threads": work.threads,
        "resumed_runs": work.resumed_runs,
        "builds": work.builds,
        "wall_seconds": work.wall.as_secs_f64(),
        "run_seconds": work.in_runs.map(|spent| spent.wall.as_secs_f64()),
        "run_cpu_seconds": work.in_runs.map(|spent| spent.processor.as_secs_f64()),
        "interval": METHOD,
        "machine": {
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "kernel": kernel(),
            "cpu": processor(),
            "cpus": threads_available(),
        },
    })
}

/// Tells this program from any other that might give other results: by the build ID that its linker made, or else by a hash
/// of its file. A copy on another machine is the same build.
pub(crate) fn build() -> String {
    let file = std::env::current_exe().and_then(File::open);
    let content = file.and_then(|file| build_id(&file).map_or_else(|| hash_of(&file), Ok));
    format!("{} {REVISION} {}", env!("CARGO_PKG_VERSION"), content.unwrap_or_else(|_| "unknown".to_owned()))
}

/// The build ID that the linker made of a program's content (`NT_GNU_BUILD_ID`), if it did. Only the notes are read, not the
/// symbols.
fn build_id(file: &File) -> Option<String> {
    let cache = ReadCache::new(file);
    let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, &cache).ok()?;
    let mut notes = segments.iter().filter_map(|segment| segment.notes(endian, &cache).ok()?);
    let id = notes.find_map(|mut notes| {
        let mut all = std::iter::from_fn(move || notes.next().ok()?);
        all.find(|note| note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID)
    })?;
    Some(id.desc().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn hash_of(mut file: &File) -> io::Result<String> {
    let (mut hasher, mut part) = (DefaultHasher::new(), vec![0; 1 << 20]);
    file.rewind()?;
    loop {
        match file.read(&mut part)? {
            0 => return Ok(format!("{:016x}", hasher.finish())),
            length => hasher.write(&part[..length]),
        }
    }
}

/// How many threads this process may use.
pub(crate) fn threads_available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn kernel() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(format!("Linux {}", release.trim()))
}

fn processor() -> Option<String> {
    // The file is as long as there are processors, and the kernel makes it up while it is read.
    let mut lines = BufReader::new(File::open("/proc/cpuinfo").ok()?).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_what_its_linker_says_and_any_other_file_by_its_content() {
        let program = File::open(std::env::current_exe().expect("it runs")).expect("it is there");
        assert!(build_id(&program).is_some_and(|id| id.len() >= 16));
        let directory = airtcp_test_support::Scratch::new("build-id");
        let texts = ["one", "another", "one"].map(|text| {
            let path = directory.path().join("file");
            std::fs::write(&path, text).expect("it can be written");
            let file = File::open(path).expect("it was written");
            assert_eq!(build_id(&file), None);
            hash_of(&file).expect("it can be read")
        });
        assert!(texts[0] != texts[1] && texts[0] == texts[2]);
    }
}
