//! A program on its way into the kernel, by libbpf.

use super::{BpfError, Program};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle, ObjectBuilder, OpenMapMut, PrintLevel};
use std::io;
use std::path::Path;

/// Where the kernel describes its types.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// Sections of a program's file that the loader knows by name.
const SETTINGS: &str = ".rodata.settings";
const COUNTERS: &str = ".bss.counters";
/// Longest name of a controller, with the zero behind it (`TCP_CA_NAME_MAX`); it stands first in the structure.
const NAME_LENGTH: usize = 16;

/// Whether this build and this kernel could load `program`, given root.
///
/// # Errors
/// What is missing.
pub fn check(program: &Program) -> Result<(), BpfError> {
    if program.object.is_empty() {
        return Err(BpfError::NotBuilt("clang"));
    }
    if Path::new(BTF).exists() { Ok(()) } else { Err(BpfError::NoBtf) }
}

/// A controller that sockets may choose, until this is dropped or the process ends.
#[derive(Debug)]
pub struct Registration {
    link: Link,
    settings: MapHandle,
    counters: MapHandle,
}

impl Registration {
    /// Loads `program` with `settings`, key and value as text, and registers it as `name`.
    ///
    /// # Errors
    /// See [`BpfError`].
    pub fn new(program: &Program, name: &str, settings: &[(String, String)]) -> Result<Self, BpfError> {
        let bytes = (program.settings)(settings)?;
        check(program)?;
        if super::is_available(name) {
            return Err(BpfError::Taken(name.to_owned()));
        }
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, words| tracing::debug!("{}", words.trim()))));
        // A copy, as libelf reads structures in place and memory from the allocator is aligned for any.
        let object = program.object.to_owned();
        let mut open = ObjectBuilder::default().open_memory(&object).map_err(refused(name, "read"))?;
        for mut map in open.maps_mut() {
            let map_name = map.name().to_string_lossy().into_owned();
            if map_name == SETTINGS {
                put(&mut map, &bytes);
            } else if map_name == program.slug {
                let mut padded = [0; NAME_LENGTH];
                let length = name.len().min(NAME_LENGTH - 1);
                padded[..length].copy_from_slice(&name.as_bytes()[..length]);
                put(&mut map, &padded);
            }
        }
        let mut object = open.load().map_err(refused(name, "load"))?;
        let (mut link, mut settings, mut counters) = (None, None, None);
        for mut map in object.maps_mut() {
            let map_name = map.name().to_string_lossy().into_owned();
            if map_name == COUNTERS {
                counters = Some(MapHandle::try_from(&*map).map_err(refused(name, "open the counters of"))?);
            } else if map_name == SETTINGS {
                settings = Some(MapHandle::try_from(&*map).map_err(refused(name, "open the settings of"))?);
            } else if map_name == program.slug {
                link = Some(map.attach_struct_ops().map_err(refused(name, "register"))?);
            }
        }
        let (Some(link), Some(settings), Some(counters)) = (link, settings, counters) else {
            unreachable!("a program's file has all three; a test loads each");
        };
        Ok(Registration { link, settings, counters })
    }

    /// What was counted so far, in the order of [`Program::counter_names`].
    ///
    /// # Errors
    /// The kernel's words.
    pub fn counters(&self) -> io::Result<Vec<u64>> {
        read(&self.counters).map(|bytes| words(&bytes))
    }

    /// Leaves the controller in the kernel: the files hold it from here on. `link` is made last, so that a controller that
    /// stays always has its settings and counters.
    ///
    /// # Errors
    /// The files could not be made; the controller is gone then.
    pub(super) fn pin(mut self, link: &Path, settings: &Path, counters: &Path) -> io::Result<()> {
        self.settings.pin(settings).map_err(io::Error::other)?;
        self.counters.pin(counters).map_err(io::Error::other)?;
        self.link.pin(link).map_err(io::Error::other)
    }
}

/// The settings or counters that a file made by [`Registration::pin`] holds.
pub(super) fn read_pinned(path: &Path) -> io::Result<Vec<u8>> {
    read(&MapHandle::from_pinned_path(path).map_err(io::Error::other)?)
}

fn read(map: &MapHandle) -> io::Result<Vec<u8>> {
    let first = 0u32.to_ne_bytes();
    Ok(map.lookup(&first, MapFlags::ANY).map_err(io::Error::other)?.unwrap_or_default())
}

/// Counters, from the bytes of their map.
pub(super) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

/// Overwrites the beginning of a map's first value.
fn put(map: &mut OpenMapMut<'_>, bytes: &[u8]) {
    if let Some(value) = map.initial_value_mut() {
        let length = bytes.len().min(value.len());
        value[..length].copy_from_slice(&bytes[..length]);
    }
}

fn refused(name: &str, action: &'static str) -> impl FnOnce(libbpf_rs::Error) -> BpfError {
    let name = name.to_owned();
    move |error| match error.kind() {
        ErrorKind::PermissionDenied => BpfError::NotRoot,
        ErrorKind::AlreadyExists => BpfError::Taken(name),
        _ => BpfError::Refused { name, action, reason: error.to_string() },
    }
}
