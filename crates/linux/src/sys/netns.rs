//! Network namespaces: doing one piece of work inside another namespace.
//!
//! A namespace belongs to a thread, not to a process, so work is done on a short-lived thread
//! that enters it and ends. Descriptors opened there (sockets, TUN devices) stay in that
//! namespace for life and are handed back to the caller, whose own threads never move.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where iproute2 keeps the names of network namespaces.
pub const NAMED: &str = "/run/netns";

/// An open network namespace; clones share the descriptor.
///
/// The namespace lives on while one of these is open, also after its name is gone.
#[derive(Clone, Debug)]
pub struct NetNs {
    name: Arc<str>,
    file: Arc<File>,
}

impl NetNs {
    /// Opens the namespace that `ip netns` calls `name`.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::open_path(name, &Path::new(NAMED).join(name))
    }

    /// Opens the namespace of the calling thread.
    pub fn current() -> io::Result<Self> {
        Self::open_path("current", Path::new("/proc/thread-self/ns/net"))
    }

    /// Makes a namespace without a name: it is gone with the last descriptor of it, however the
    /// process ends. Only `lo` is in it, and down.
    pub fn unnamed() -> io::Result<Self> {
        let make = || {
            // Moves only the calling thread, which ends here.
            unshare(CloneFlags::CLONE_NEWNET)?;
            Self::open_path("unnamed", Path::new("/proc/thread-self/ns/net"))
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("airtcp-netns".into()).spawn_scoped(scope, make)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn open_path(name: &str, path: &Path) -> io::Result<Self> {
        Ok(NetNs { name: name.into(), file: Arc::new(File::open(path)?) })
    }

    /// Name under which it was opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` inside the namespace, on a thread of its own, and returns what it returns.
    ///
    /// An error means that the thread could not be made or the namespace not entered; `work`
    /// has not run then.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("airtcp-netns".into()).spawn_scoped(scope, || {
                setns(&self.file, CloneFlags::CLONE_NEWNET)?;
                Ok(work())
            })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Writes a kernel setting of this namespace, for example
    /// `("net/ipv4/ip_forward", "1")`.
    pub fn write_sysctl(&self, key: &str, value: &str) -> io::Result<()> {
        self.run(|| std::fs::write(sysctl_path(key), value))?
    }

    /// Reads a kernel setting of this namespace, without the final newline.
    pub fn read_sysctl(&self, key: &str) -> io::Result<String> {
        let text = self.run(|| std::fs::read_to_string(sysctl_path(key)))??;
        Ok(text.trim_end().to_string())
    }
}

/// The file behind a kernel setting; what it shows depends on the namespace of the thread.
pub fn sysctl_path(key: &str) -> PathBuf {
    Path::new("/proc/sys").join(key)
}
