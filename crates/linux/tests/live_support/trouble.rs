//! Disks that are full, logs that nobody reads, links that are down.

use super::Path;
use airtcp_linux::testbed::Exec;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path as FilePath, PathBuf};

/// A small disk of its own, in memory.
pub struct Disk {
    pub path: PathBuf,
}

impl Disk {
    pub fn mount(path: &FilePath) -> Disk {
        std::fs::create_dir_all(path).unwrap();
        mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::empty(), Some("size=64k,mode=755")).expect("a tmpfs");
        Disk { path: path.to_owned() }
    }

    /// Writes until nothing has room.
    pub fn fill(&self) {
        let mut file = File::create(self.filler()).unwrap();
        while file.write(&[0; 512]).is_ok() {}
    }

    pub fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}

/// Where a gateway writes what it says.
pub struct Log {
    pub path: PathBuf,
    reader: Option<File>,
}

impl Log {
    pub fn file(path: PathBuf) -> Log {
        Log { path, reader: None }
    }

    /// A pipe whose reader can go away.
    pub fn pipe(path: PathBuf) -> Log {
        let _ = std::fs::remove_file(&path);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        Log { path, reader: Some(reader) }
    }

    /// The reader goes away; who writes is refused.
    pub fn close(&mut self) {
        self.reader = None;
    }
}

/// Commands on a node, as its administrator gives them.
pub struct Shell<'a> {
    pub path: &'a Path,
    pub node: &'a str,
}

impl Shell<'_> {
    /// Runs a command; it must succeed.
    pub fn run(&self, line: &str) {
        let log = self.path.directory.join("shell.log");
        let exec = Exec::new("sh").args(["-ec", line]).log(&log);
        let status = self.path.testbed.start(self.node, &exec).expect("sh").wait().expect("a child");
        assert!(status.success(), "`{line}`: {}", std::fs::read_to_string(&log).unwrap_or_default());
    }

    /// Takes the link down, as somebody does who wants it back as it was.
    pub fn take_link_down(&self) {
        let routes = |family: &str| {
            let file = self.path.directory.join(format!("routes{family}"));
            format!("ip {family} route show dev air | grep -v 'proto kernel' >{} || true;", file.display())
        };
        let keep = "sysctl -qw net.ipv6.conf.air.keep_addr_on_down=1;";
        self.run(&format!("{} {} {keep} ip link set dev air down", routes("-4"), routes("-6")));
    }

    /// Brings the link up again, with its routes.
    pub fn bring_link_up(&self) {
        let routes = |family: &str| {
            let file = self.path.directory.join(format!("routes{family}"));
            format!("while read -r route; do ip {family} route replace $route dev air; done <{};", file.display())
        };
        self.run(&format!("ip link set dev air up; {} {}", routes("-4"), routes("-6")));
    }
}
