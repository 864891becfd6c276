//! Scripts in a directory, and playing one against the kernel of a busy machine.

use crate::{Difference, Kernel, Script, play};
use airtcp_core::Duration;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// A script that the kernel plays otherwise is played again, so often in all: on a busy machine the kernel is late.
const ATTEMPTS: usize = 4;
/// A round in which the script itself was later than this is no attempt: the kernel saw other times than are written.
const LATE: Duration = Duration::from_millis(2);
/// So many rounds at most.
const ROUNDS: usize = 40;

/// The scripts that are kept with the crate.
pub fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// The scripts of a directory, or the one in a file, with their paths, in the order of their names.
///
/// # Errors
/// What cannot be read.
pub fn read(path: &Path) -> anyhow::Result<Vec<(PathBuf, Script)>> {
    let mut paths = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let found = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
        paths = found.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "pkt")).collect();
        paths.sort();
    }
    let script = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let script = Script::parse(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
        Ok((path, script))
    };
    paths.into_iter().map(script).collect()
}

/// Plays `script` against the kernel until it agrees or has had its attempts; the last difference.
///
/// # Errors
/// What the machine lacks.
pub fn play_on_kernel(script: &Script) -> anyhow::Result<Option<Difference>> {
    let (mut last, mut attempts) = (None, 0);
    for _ in 0..ROUNDS {
        last = play(script, &mut Kernel::new(script)?).err();
        let Some(difference) = &last else { break };
        attempts += usize::from(difference.lateness <= LATE);
        if attempts == ATTEMPTS {
            break;
        }
    }
    Ok(last)
}
