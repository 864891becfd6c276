//! Directories in which nobody else can put anything in our way.

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fstat, mkdirat};
use nix::unistd::geteuid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Mode of directories that are made here.
const MODE: Mode = Mode::from_bits_retain(0o755);
/// Bits that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A directory of our own, held open: whatever happens to its path, the files are in the directory that was checked.
#[derive(Debug)]
pub struct PrivateDirectory(OwnedFd);

impl PrivateDirectory {
    /// Opens `path`, or makes it. No part of the path is a symbolic link, and nobody else can write into it.
    ///
    /// # Errors
    /// A sentence that says what is wrong with which part of the path.
    pub fn open(path: &Path) -> io::Result<PrivateDirectory> {
        let (mut walked, mut directory) = (PathBuf::from("."), open_at(None, Path::new("."))?);
        for component in path.components() {
            walked.push(component);
            let refused = |error: Errno| refusal(&walked, error);
            let (at, part) = (directory.as_fd(), component.as_os_str().as_ref());
            directory = match open_at(Some(&directory), part) {
                Err(Errno::ENOENT) if matches!(component, Component::Normal(_)) => {
                    // Somebody else may have been faster.
                    match mkdirat(at, part, MODE) {
                        Ok(()) | Err(Errno::EEXIST) => open_at(Some(&directory), part).map_err(refused)?,
                        Err(error) => return Err(refused(error)),
                    }
                }
                opened => opened.map_err(refused)?,
            };
        }
        let about = fstat(&directory)?;
        if about.st_uid != geteuid().as_raw() {
            return Err(io::Error::other(format!("{} belongs to somebody else", path.display())));
        }
        if about.st_mode & WRITABLE_BY_OTHERS != 0 {
            return Err(io::Error::other(format!("others may write into {}: chmod go-w it", path.display())));
        }
        Ok(PrivateDirectory(directory))
    }

    /// A path of the file `name` in this very directory, valid as long as this is open.
    pub fn file(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()).into()
    }
}

fn open_at(directory: Option<&OwnedFd>, part: &Path) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    match directory {
        Some(directory) => openat(directory, part, flags, Mode::empty()),
        None => nix::fcntl::open(part, flags, Mode::empty()),
    }
}

fn refusal(walked: &Path, error: Errno) -> io::Error {
    if std::fs::symlink_metadata(walked).is_ok_and(|about| about.is_symlink()) {
        let to = std::fs::canonicalize(walked).map_or_else(|_| "nowhere".into(), |to| to.display().to_string());
        return io::Error::other(format!("{} is a symbolic link to {to}, and is not followed", walked.display()));
    }
    io::Error::new(io::Error::from(error).kind(), format!("{}: {}", walked.display(), error.desc()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("airtcp-directory-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_directory_is_made_with_its_parents_and_stays_the_same_when_its_path_changes() {
        let scratch = scratch("made");
        let path = scratch.join("some/where");
        let directory = PrivateDirectory::open(&path).unwrap();
        std::fs::write(directory.file("first"), "1").unwrap();
        assert_eq!(std::fs::read_to_string(path.join("first")).unwrap(), "1");
        std::fs::rename(&path, scratch.join("moved")).unwrap();
        symlink("/", &path).unwrap();
        std::fs::write(directory.file("second"), "2").unwrap();
        assert_eq!(std::fs::read_to_string(scratch.join("moved/second")).unwrap(), "2");
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn no_symbolic_link_is_followed_at_the_end_or_on_the_way() {
        let scratch = scratch("link");
        std::fs::create_dir_all(scratch.join("real/inner")).unwrap();
        symlink(scratch.join("real"), scratch.join("link")).unwrap();
        for path in ["link", "link/inner", "link/new"] {
            let error = PrivateDirectory::open(&scratch.join(path)).unwrap_err().to_string();
            assert!(error.contains("symbolic link to") && error.contains("/real"), "{error}");
        }
        assert!(!scratch.join("real/new").exists());
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_into_and_a_file_are_refused() {
        let scratch = scratch("others");
        std::fs::set_permissions(&scratch, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = PrivateDirectory::open(&scratch).unwrap_err().to_string();
        assert!(error.contains("others may write") && error.contains("chmod"), "{error}");
        std::fs::set_permissions(&scratch, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(scratch.join("file"), "").unwrap();
        let error = PrivateDirectory::open(&scratch.join("file")).unwrap_err().to_string();
        assert!(error.contains("file"), "{error}");
        std::fs::remove_dir_all(scratch).unwrap();
    }
}
