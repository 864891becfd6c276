//! A Debian machine with systemd in a node's namespace: a container of systemd-nspawn on a copy of a root directory.

use airtcp_core::Duration;
use airtcp_linux::sys::clock;
use airtcp_linux::sys::process::{in_own_group, spawn_not_to_survive};
use airtcp_linux::testbed::Testbed;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// How long a machine may take to boot or to halt.
const BOOT_MAX: Duration = Duration::from_secs(60);

/// What systemd-nspawn ends with if its machine wants to be started again.
const REBOOT: i32 = 133;

/// A running machine. Dropping it switches it off and removes its root.
pub struct Machine {
    root: PathBuf,
    node: String,
    namespace: String,
    container: Child,
}

impl Machine {
    /// Copies the root directory `base` and boots it with the network of `node`.
    pub fn boot(testbed: &Testbed, node: &str, base: &Path) -> Machine {
        let root = base.with_file_name(format!("{}{node}", testbed.prefix()));
        let copied = Command::new("cp").arg("-a").args([base, &root]).status().expect("cp");
        assert!(copied.success(), "{} is not copied to {}", base.display(), root.display());
        std::fs::write(root.join("etc/hostname"), format!("{node}\n")).expect("a file");
        let namespace = testbed.namespace(node).expect("a node").name();
        let container = start(&root, node, namespace);
        let machine = Machine { root, node: node.into(), namespace: namespace.into(), container };
        machine.wait_until_up();
        machine
    }

    /// The process id of its init, if it runs.
    fn init(&self) -> Option<String> {
        let children = format!("/proc/{0}/task/{0}/children", self.container.id());
        let children = std::fs::read_to_string(children).ok()?;
        children.split_whitespace().next().map(str::to_owned)
    }

    fn wait_until_up(&self) {
        let is_up = || ["running", "degraded"].contains(&self.run("systemctl is-system-running").1.trim());
        self.wait_for("the machine to boot", BOOT_MAX, is_up);
    }

    /// Waits until something is so; how long that took.
    pub fn wait_for(&self, what: &str, limit: Duration, is_so: impl Fn() -> bool) -> Duration {
        let began = clock::now();
        while !is_so() {
            let console = || std::fs::read_to_string(console(&self.root)).unwrap_or_default();
            assert!(clock::now().saturating_since(began) < limit, "waited in vain for {what}: {}", console());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        clock::now().saturating_since(began)
    }

    /// Has the machine's root user run a line of shell; its exit code and what it says. Questions are answered by Enter.
    pub fn run(&self, line: &str) -> (Option<i32>, String) {
        let Some(init) = self.init() else { return (None, "the machine does not run".into()) };
        let environment = ["LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"];
        let mut command = Command::new("nsenter");
        let of_machine = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd"];
        command.args(["--target", &init]).args(of_machine);
        command.args(["env", "-i"]).args(environment).args(["sh", "-c"]);
        command.arg(format!("exec 2>&1; cd /srv; yes '' | {{ {line}; }}")).stdin(Stdio::null());
        let output = command.output().expect("nsenter");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// As [`run`](Self::run), of a line that has to succeed.
    pub fn must(&self, line: &str) -> String {
        let (code, said) = self.run(line);
        assert_eq!(code, Some(0), "{line}: {said}");
        said
    }

    /// Has it reboot, and waits until it is up again.
    pub fn reboot(&mut self) {
        self.must("systemctl reboot");
        let status = self.wait_for_end().expect("the machine ends");
        assert_eq!(status.code(), Some(REBOOT));
        self.container = start(&self.root, &self.node, &self.namespace);
        self.wait_until_up();
    }

    fn wait_for_end(&mut self) -> Option<ExitStatus> {
        let began = clock::now();
        while clock::now().saturating_since(began) < BOOT_MAX {
            if let Ok(Some(status)) = self.container.try_wait() {
                return Some(status);
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        None
    }
}

/// Boots a root directory in a network namespace.
fn start(root: &Path, node: &str, namespace: &str) -> Child {
    let mut command = Command::new("systemd-nspawn");
    command.args(["--quiet", "--boot", "--register=no", "--keep-unit"]).arg(format!("--machine={node}"));
    command.arg(format!("--network-namespace-path=/run/netns/{namespace}")).arg("--directory").arg(root);
    // Its network is its own to set up, and a gateway's programs may enter the kernel, as on a machine without a host.
    command.args(["--capability=all", "--system-call-filter=bpf perf_event_open", "--bind=/dev/net/tun"]);
    command.env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "network");
    let said = File::create(console(root)).expect("a file");
    command.stdin(Stdio::null()).stderr(said.try_clone().expect("a file")).stdout(said);
    in_own_group(&mut command);
    spawn_not_to_survive(command).expect("systemd-nspawn starts")
}

fn console(root: &Path) -> PathBuf {
    root.with_extension("console")
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.run("systemctl poweroff");
        self.wait_for_end();
        let _ = self.container.kill();
        let _ = self.container.wait();
        let _ = std::fs::remove_dir_all(&self.root);
        let _ = std::fs::remove_file(console(&self.root));
    }
}
