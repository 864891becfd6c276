//! Controllers that stay in the kernel when the process that loaded them ends.
//!
//! Each has a directory of its name below [`ROOT`], in the BPF file system: `settings` and `counters`, made first, and
//! `link`, which holds the registration. Removing `link` unloads the controller. A directory without `link` was left by
//! a killed `load`, and the next `load` removes it.

use super::object::{read_pinned, words};
use super::{BpfError, Options, PROGRAMS, Program, ROOT, Registration};
use crate::sys::bpf_fs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the BPF file system is mounted.
const MOUNT: &str = "/sys/fs/bpf";

/// How often and how far apart it is looked whether a name is gone: 5 s in all, of which it needs milliseconds.
const MOST_LOOKS: u32 = 1000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// A controller that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// The program it was made from; `None` if this airtcp does not have it.
    pub program: Option<&'static str>,
    /// What it was loaded with; empty if this airtcp does not have the program.
    pub options: Options,
    /// What it counted so far, of all its connections.
    pub counters: Vec<(&'static str, u64)>,
}

/// Loads `program` with `settings` as `name`, and mounts the BPF file system if it is not.
///
/// # Errors
/// See [`BpfError`].
pub fn load(program: &Program, name: &str, settings: &[(String, String)]) -> Result<(), BpfError> {
    let place = Place::named(name)?;
    if place.link().exists() {
        return Err(BpfError::Loaded(name.to_owned()));
    }
    let registration = Registration::new(program, name, settings)?;
    if !bpf_fs::is_mounted(MOUNT) {
        bpf_fs::mount(MOUNT).map_err(BpfError::files("mount the BPF file system"))?;
    }
    place.remove().map_err(BpfError::files("remove what a killed load left"))?;
    fs::create_dir_all(&place.0).map_err(BpfError::files("make a directory"))?;
    let pinned = registration.pin(&place.link(), &place.settings(), &place.counters());
    pinned.map_err(|source| {
        // An incomplete directory is not reported; the next `load` removes it.
        let _ = place.remove();
        BpfError::files("pin the controller")(source)
    })
}

/// Takes `name` away. Sockets that have it keep it.
///
/// # Errors
/// It is not loaded, or cannot be removed.
pub fn unload(name: &str) -> Result<(), BpfError> {
    let place = Place::named(name)?;
    let is_loaded = place.link().try_exists().map_err(BpfError::files("look for the controller"))?;
    place.remove().map_err(BpfError::files("remove the controller"))?;
    if !is_loaded {
        return Err(BpfError::NotLoaded(name.to_owned()));
    }
    wait_until_gone(name)
}

/// The kernel lets go of the name a moment after the file.
fn wait_until_gone(name: &str) -> Result<(), BpfError> {
    for _ in 0..MOST_LOOKS {
        if !super::is_available(name) {
            return Ok(());
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let reason = "the name is still taken".to_owned();
    Err(BpfError::Refused { name: name.to_owned(), action: "let go of", reason })
}

/// Every loaded controller, by name.
///
/// # Errors
/// The directory or the counters cannot be read.
pub fn list() -> Result<Vec<Loaded>, BpfError> {
    let entries = match fs::read_dir(ROOT) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BpfError::files("look for controllers")(error)),
    };
    let mut loaded = Vec::new();
    for entry in entries {
        let entry = entry.map_err(BpfError::files("look for controllers"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let place = Place::of(&name);
        if !place.link().exists() {
            continue;
        }
        let program = PROGRAMS.iter().find(|program| program.slug == name);
        let names = program.map(Program::counter_names).unwrap_or_default();
        let counts = words(&read_pinned(&place.counters()).map_err(BpfError::files("read counters"))?);
        let settings = read_pinned(&place.settings()).map_err(BpfError::files("read settings"))?;
        let options = program.map(|program| (program.options)(&settings)).unwrap_or_default();
        let program = program.map(|program| program.slug);
        loaded.push(Loaded { name, program, options, counters: names.into_iter().zip(counts).collect() });
    }
    loaded.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(loaded)
}

/// The directory of one controller.
struct Place(PathBuf);

impl Place {
    fn of(name: &str) -> Place {
        Place(Path::new(ROOT).join(name))
    }

    /// The same for a name that somebody gave, which must not lead elsewhere.
    fn named(name: &str) -> Result<Place, BpfError> {
        match name {
            "" | "." | ".." => Err(BpfError::NoName(name.to_owned())),
            name if name.contains('/') => Err(BpfError::NoName(name.to_owned())),
            name => Ok(Place::of(name)),
        }
    }

    fn link(&self) -> PathBuf {
        self.0.join("link")
    }

    fn settings(&self) -> PathBuf {
        self.0.join("settings")
    }

    fn counters(&self) -> PathBuf {
        self.0.join("counters")
    }

    /// Removes whatever of it is there, the controller first.
    fn remove(&self) -> io::Result<()> {
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        };
        gone(fs::remove_file(self.link()))?;
        gone(fs::remove_file(self.settings()))?;
        gone(fs::remove_file(self.counters()))?;
        gone(fs::remove_dir(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for name in ["", ".", "..", "../../x", "newzag/link", "/etc"] {
            assert!(matches!(unload(name), Err(BpfError::NoName(_))), "{name}");
        }
        assert_eq!(
            unload("a/b").unwrap_err().to_string(),
            "'a/b' cannot be the name of a controller; `airtcp cc list` shows what is loaded"
        );
    }
}
