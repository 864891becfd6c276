//! The place of a soak: server – hub – ether – spoke n – host n. The hub's link is a veth pair, which can be taken down, deleted
//! and made anew; the emulator's lossy air leads from `ether` to each spoke. On the hub and the spokes run gateways as the
//! package runs them, each from a file and a program of its own.

use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::gateway::status::{Status, query};
use airtcp_linux::testbed::{Exec, Family, LinkSpec, NodeSpec, Program, Testbed, TestbedSpec};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// Routers at the hub's link. The first is never struck: what it needs after an hour, it needs in the long run.
pub const SPOKES: usize = 4;
/// The spoke that moves between two addresses, so that the hub knows it by its key only.
pub const MOVING: usize = 3;
/// Where the hub tells metrics, in its own namespace.
pub const METRICS: &str = "127.0.0.1:9791";
/// Where the moving spoke is when it is away.
const ELSEWHERE: &str = "10.97.0.1";
const PORT: u16 = 4791;
/// The hub's link: its ends' addresses.
const HUB_END: [&str; 2] = ["10.96.0.1", "fd96::1"];
const ETHER_END: [&str; 2] = ["10.96.0.2", "fd96::2"];

/// What the gateways' files say that faults change.
#[derive(Clone, Debug)]
pub struct Files {
    pub queue_packets: u32,
    /// Keys so far, of each spoke.
    pub generation: [u32; SPOKES],
    /// Which spokes the hub's file names.
    pub is_member: [bool; SPOKES],
    /// Whether the moving spoke has its other address.
    pub is_away: bool,
}

/// The testbed, and the directories of the gateways.
pub struct Net {
    pub testbed: Testbed,
    directory: PathBuf,
    scheme: String,
    program: PathBuf,
    files: Mutex<Files>,
}

/// The names of all gateways; each runs on the node of its name.
pub fn names() -> Vec<String> {
    std::iter::once("hub".to_owned()).chain((0..SPOKES).map(|n| format!("spoke{n}"))).collect()
}

impl Net {
    /// Sets all up but the gateways, which are to run `program`.
    pub fn up(scheme: &str, program: &Path) -> Net {
        remove_leftovers();
        let testbed = Testbed::up(spec()).expect("a testbed");
        let directory = std::env::temp_dir().join(format!("{}soak", testbed.prefix()));
        for part in ["etc", "bin", "run"] {
            std::fs::create_dir_all(directory.join(part)).expect("a directory");
        }
        let files = Files { queue_packets: 10_000, generation: [0; SPOKES], is_member: [true; SPOKES], is_away: false };
        let files = Mutex::new(files);
        let net = Net { testbed, directory, scheme: scheme.to_owned(), program: program.to_owned(), files };
        // A disk of its own, which can be full.
        local(&["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", &net.run_directory().display().to_string()]);
        net.connect_hub();
        // While the hub's link is gone, packets are lost as on a radio link: nobody ends connections by saying so.
        net.run(
            "ether",
            "nft 'table inet quiet { chain out { type filter hook output priority 0; \
             icmp type destination-unreachable icmp code host-unreachable drop; icmpv6 type destination-unreachable drop; }; }'",
        );
        for node in ["hub", "ether"] {
            net.run(node, "ip route add blackhole default metric 4000; ip -6 route add blackhole default metric 4000");
        }
        for n in 0..SPOKES {
            net.make_key(n);
            net.run(&format!("spoke{n}"), &default_routes(&format!("air{n}"), [""; 2], &net.own(&format!("spoke{n}"))));
            net.run(&format!("host{n}"), &default_routes(&format!("lan{n}"), [""; 2], &net.own(&format!("host{n}"))));
        }
        net.run("server", &default_routes("wire", [""; 2], &net.own("server")));
        net
    }

    pub fn run_directory(&self) -> PathBuf {
        self.directory.join("run")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("etc/{name}.toml"))
    }

    fn own(&self, node: &str) -> [String; 2] {
        Family::BOTH.map(|family| self.testbed.address(node, family).expect("a node").to_string())
    }

    /// Makes the hub's link if it is not there, brings it up, and sets the addresses and routes that were lost with it.
    pub fn connect_hub(&self) {
        let ether = self.testbed.namespace("ether").expect("a node").name();
        self.run(
            "hub",
            &format!(
                "ip link show dev air >&- 2>&- || ip link add air type veth peer name air netns {ether}; {}; {}",
                addresses(HUB_END),
                default_routes(
                    "air",
                    ETHER_END.map(|end| format!("via {end}")).each_ref().map(String::as_str),
                    &self.own("hub")
                )
            ),
        );
        let [four, six] = [0, 1].map(|family| {
            let to =
                |node: &str| format!("ip route replace {} via {} dev air; ", self.own(node)[family], HUB_END[family]);
            to("hub") + &to("server")
        });
        self.run("ether", &format!("{}; {four} {six}", addresses(ETHER_END)));
    }

    /// A command on a node, as its administrator gives it.
    ///
    /// # Panics
    /// It fails.
    pub fn run(&self, node: &str, line: &str) {
        let (is_done, said) = self.try_run(node, line);
        assert!(is_done, "`{line}` on {node}: {said}");
    }

    /// The same, and what it says.
    pub fn try_run(&self, node: &str, line: &str) -> (bool, String) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.testbed.namespace(node).expect("a node").name(), "sh", "-ec", line]);
        let output = command.output().expect("ip");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said.into_owned())
    }

    fn key(&self, n: usize, generation: u32) -> String {
        self.directory.join(format!("etc/{n}.{generation}.key")).display().to_string()
    }

    /// What the files say now; a change shows once one is written.
    pub fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn make_key(&self, n: usize) {
        let generation = self.files().generation[n];
        let file = self.key(n, generation);
        std::fs::write(&file, format!("secret {generation} of spoke number {n}")).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }

    /// The other length of the egress queues.
    pub fn change_queue(&self) {
        let mut files = self.files();
        files.queue_packets = if files.queue_packets == 10_000 { 9_000 } else { 10_000 };
    }

    /// Gives a spoke and the hub another key in their files; what they have is accepted as well.
    pub fn change_key(&self, n: usize) {
        self.files().generation[n] += 1;
        self.make_key(n);
    }

    fn keys(&self, n: usize) -> String {
        let now = self.files().generation[n];
        let previous = now.checked_sub(1).map(|old| format!("previous_key = \"{}\"\n", self.key(n, old)));
        format!("key = \"{}\"\n{}", self.key(n, now), previous.unwrap_or_default())
    }

    fn head(&self, name: &str, link: &str) -> String {
        format!(
            "schema = 1\nscheme = \"{}\"\nname = \"{name}\"\nlink = \"{link}\"\nrate = \"20Mbit\"\nround_trip = \"20ms\"\n\
             run_directory = \"{}\"\n",
            self.scheme,
            self.run_directory().display()
        )
    }

    fn hub_file(&self) -> String {
        let mut text = self.head("hub", "air") + "metrics = 9791\n" + &self.table();
        let is_member = self.files().is_member;
        for n in (0..SPOKES).filter(|n| is_member[*n]) {
            let [four, six] = self.own(&format!("host{n}"));
            let _ = write!(
                text,
                "[[peer]]\nname = \"spoke{n}\"\n{}hops = 2\nnetworks = [\"{four}/32\", \"{six}/128\"]\n",
                self.keys(n)
            );
            if n != MOVING {
                let _ = writeln!(text, "peer = \"{}:{PORT}\"", self.own(&format!("spoke{n}"))[0]);
            }
        }
        text
    }

    fn spoke_file(&self, n: usize) -> String {
        let head = self.head(&format!("spoke{n}"), &format!("air{n}"));
        format!("{head}peer = \"{}:{PORT}\"\nhops = 2\n{}{}", self.own("hub")[0], self.keys(n), self.table())
    }

    /// What the scheme is told. G-Snoop keeps a flow that says nothing for a minute: twelve times as many are to come and go in
    /// the time.
    fn table(&self) -> String {
        let idle = if self.scheme == "gsnoop" { "idle = \"5s\"\n" } else { "" };
        let packets = self.files().queue_packets;
        format!(
            "[{}]\n{idle}queue = {{ kind = \"fq-codel\", target = \"100ms\", interval = \"300ms\", limit = \"{packets}packets\" }}\n",
            self.scheme
        )
    }

    /// Writes the file of a gateway as it is to be now.
    pub fn write(&self, name: &str) {
        let text = match name.strip_prefix("spoke") {
            Some(n) => self.spoke_file(n.parse().expect("a number")),
            None => self.hub_file(),
        };
        self.write_text(name, &text);
    }

    /// Writes something else into it.
    pub fn write_text(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).expect("a file");
    }

    /// The program of a gateway.
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    /// Puts a new program in the place of a gateway's, as a package manager does.
    pub fn install(&self, name: &str) {
        let program = self.program(name);
        let new = program.with_extension("new");
        std::fs::copy(&self.program, &new).expect("a copy");
        std::fs::rename(new, program).expect("the same directory");
    }

    /// Starts a gateway from its file.
    pub fn start(&self, name: &str) -> Program {
        let exec = Exec::new(self.program(name))
            .args(["gateway".into(), self.file(name)])
            .args(["--log", "json"])
            .log(self.run_directory().join(format!("{name}.log")));
        self.testbed.start(name, &exec).expect("it starts")
    }

    /// Asks a gateway to reload or upgrade, as an operator does; what it says.
    pub fn ask(&self, verb: &str, name: &str) -> Result<String, String> {
        let directory = self.run_directory();
        let mut command = Command::new(self.program(name));
        let output = command.args([verb, name, "--run-directory"]).arg(directory).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(said.into_owned()) } else { Err(said.into_owned()) }
    }

    pub fn status(&self, name: &str) -> Option<Status> {
        query(&self.run_directory(), name).ok()
    }

    fn whole_log(&self, name: &str) -> String {
        std::fs::read_to_string(self.run_directory().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// How many workers of this supervisor were given up because they did not come up within the 10 s that they have.
    pub fn slow_starts(&self, name: &str) -> u64 {
        self.whole_log(name).matches("silent for 10000 ms").count() as u64
    }

    /// The last lines of a gateway's log.
    pub fn log(&self, name: &str) -> String {
        let text = self.whole_log(name);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// What of a gateway that has ended is still on its node.
    pub fn traces_of(&self, name: &str) -> Option<String> {
        let look = format!(
            "ip -o link | grep ' {name}-' || true; ip rule | grep 'protocol 167' || true; nft list tables | grep airtcp || true; \
             for dev in $(ls /sys/class/net); do tc filter show dev $dev ingress; tc filter show dev $dev egress; done 2>&-"
        );
        let (_, said) = self.try_run(name, &look);
        (!said.trim().is_empty()).then(|| format!("on {name}: {}", said.trim()))
    }

    /// Writes until nothing has room in the run directory.
    pub fn fill_disk(&self) {
        let mut file = std::fs::File::create(self.run_directory().join("filler")).expect("a file");
        while std::io::Write::write(&mut file, &[0; 512]).is_ok() {}
    }

    pub fn free_disk(&self) {
        std::fs::remove_file(self.run_directory().join("filler")).expect("the filler");
    }

    /// Gives the moving spoke its other address, as a provider does: nothing leads to the one it had.
    pub fn move_spoke(&self) {
        let spoke = format!("spoke{MOVING}");
        let [own, _] = self.own(&spoke);
        let is_away = self.files().is_away;
        let [old, new] = if is_away { [ELSEWHERE, &own] } else { [own.as_str(), ELSEWHERE] };
        self.run("ether", &format!("ip route replace {new}/32 dev air{MOVING}; ip route del {old}/32"));
        // Its routes name the address that it sends from.
        let routes = format!("ip -4 route show | grep 'src {old}' | sed 's/src {old}/src {new}/'");
        self.run(
            &spoke,
            &format!(
                "ip addr add {new}/32 dev lo; {routes} | while read -r route; do ip route replace $route; done; ip addr del {old}/32 dev lo"
            ),
        );
        self.files().is_away = !is_away;
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        take_away(&self.directory);
    }
}

/// Removes the directories and disks of soaks that were killed.
fn remove_leftovers() {
    for entry in std::fs::read_dir(std::env::temp_dir()).expect("a directory").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid =
            name.strip_prefix("airtcp-").filter(|rest| rest.ends_with("-soak")).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            take_away(&entry.path());
        }
    }
}

fn take_away(directory: &Path) {
    let _ = Command::new("umount").arg("-l").arg(directory.join("run")).status();
    let _ = std::fs::remove_dir_all(directory);
}

fn local(words: &[&str]) {
    let status = Command::new(words[0]).args(&words[1..]).status().expect("a program of the system");
    assert!(status.success(), "{words:?}");
}

fn addresses([four, six]: [&str; 2]) -> String {
    // Routers ask for their neighbours from a link-local address.
    let local = six.replace("fd96", "fe80");
    format!(
        "ip link set dev air up; ip addr replace {four}/30 dev air; ip addr replace {six}/64 dev air nodad; \
         ip addr replace {local}/64 dev air nodad"
    )
}

fn default_routes(device: &str, [four, six]: [&str; 2], [own, own_six]: &[String; 2]) -> String {
    format!(
        "ip route replace default {four} dev {device} src {own}; ip -6 route replace default {six} dev {device} src {own_six}"
    )
}

fn settings(keys: &[(&str, &str)]) -> LinkSettings {
    let mut settings = LinkSettings::default();
    keys.iter().for_each(|(key, value)| settings.set(key, &(*value).into()).expect("a setting"));
    settings
}

fn spec() -> TestbedSpec {
    let node = |name: String, forwards| NodeSpec { name, forwards };
    let link = |name: String, between: [&str; 2], both: LinkSettings| LinkSpec::new(&name, between, both.clone(), both);
    let fast = || settings(&[("rate", "1Gbit"), ("delay", "1ms")]);
    let queue = "{ kind = \"droptail\", limit = \"50kB\" }";
    let mut nodes = vec![node("server".into(), false), node("hub".into(), true), node("ether".into(), true)];
    let mut links = vec![link("wire".into(), ["server", "hub"], fast())];
    for n in 0..SPOKES {
        let (spoke, host) = (format!("spoke{n}"), format!("host{n}"));
        let air = settings(&[("rate", "20Mbit"), ("delay", "9ms"), ("queue", queue), ("loss", "1%")]);
        links.push(link(format!("air{n}"), ["ether", &spoke], air));
        links.push(link(format!("lan{n}"), [&spoke, &host], fast()));
        nodes.extend([node(spoke, true), node(host, false)]);
    }
    TestbedSpec { nodes, links, default_controller: "cubic".into(), emulator: EmulatorOptions::default() }
}
