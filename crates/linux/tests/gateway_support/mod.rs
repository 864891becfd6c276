//! Four namespaces in a row, sender – a – b – receiver, and gateways on a and b.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod packet;
#[cfg(feature = "bpf")]
pub mod sink;
pub mod trunk;

use airtcp_linux::finding::{Finding, Level};
use airtcp_linux::gateway::{Config, Status, status};
use airtcp_linux::sys::clock;
use airtcp_linux::sys::process::die_with_parent;
use airtcp_test_support::skip;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Time since it was made.
pub struct Stopwatch(airtcp_core::Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(clock::now())
    }

    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(clock::now().saturating_since(self.0).as_nanos())
    }
}

/// Runs a command and returns its output; a failure fails the test.
pub fn sh(line: &str) -> String {
    let result = Command::new("sh").args(["-c", line]).output().unwrap();
    assert!(result.status.success(), "`{line}` failed: {}", String::from_utf8_lossy(&result.stderr));
    String::from_utf8_lossy(&result.stdout).into_owned()
}

/// True if the machine can run these tests; else tells why not, for the test that asks.
pub fn can_run() -> bool {
    if airtcp_test_support::skip_emulated("devices and namespaces") {
        return false;
    }
    let needed = ["administer", "/dev/net/tun", "`ip`"];
    let is_missing =
        |finding: &Finding| finding.level == Level::Refusal && needed.iter().any(|word| finding.what.contains(word));
    let missing = airtcp_linux::doctor::examine().into_iter().find(is_missing).map(|finding| finding.what);
    let has_nft = airtcp_linux::gateway::command::is_installed("nft");
    let missing =
        missing.or_else(|| (!has_nft).then(|| "the program 'nft' is missing; install the package 'nftables'".into()));
    if let Some(why) = &missing {
        skip(why);
    }
    missing.is_none()
}

/// The namespaces; removed when dropped, also after a failure.
pub struct Net {
    id: String,
    pub directory: PathBuf,
}

/// IPv4 and IPv6 address of the sender and of the receiver.
pub const SENDER: (&str, &str) = ("10.1.0.1", "fd01::1");
pub const RECEIVER: (&str, &str) = ("10.3.0.2", "fd03::2");

impl Net {
    pub fn new() -> Net {
        // A clock can show two threads the same time, so a number of its own parts the tests of one process.
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (number, millis) = (MADE.fetch_add(1, Ordering::Relaxed), clock::wall_clock_ns() / 1_000_000 % 1_000_000);
        let id = format!("gwt{}x{number}x{millis:x}", std::process::id());
        let directory = std::env::temp_dir().join(&id);
        let net = Net { id, directory };
        std::fs::create_dir_all(&net.directory).unwrap();
        for host in ["s", "a", "b", "r"] {
            let ns = net.ns(host);
            sh(&format!(
                "ip netns add {ns} && ip -n {ns} link set lo up && ip netns exec {ns} sysctl -q -w \
                 net.ipv6.conf.default.accept_ra=0 net.ipv6.conf.default.accept_dad=0 \
                 net.ipv6.conf.default.router_solicitations=0 net.ipv4.conf.all.rp_filter=1"
            ));
        }
        net.join("s", "wire", 1, "a", "wire", 2, 1);
        net.join("a", "air", 1, "b", "air", 2, 2);
        net.join("b", "lan", 1, "r", "lan", 2, 3);
        for host in ["a", "b"] {
            net.exec(host, "sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        }
        // Where no gateway runs on `b`, its kernel would answer each challenge with an ICMP error, which tests would count.
        net.exec(
            "b",
            "nft 'table inet quiet { chain c { type filter hook output priority 0; icmp code 3 icmp type 3 drop; }; }'",
        );
        for (host, to, via) in [("s", "default", "1:2"), ("r", "default", "3:1"), ("a", "3", "2:2"), ("b", "1", "2:1")]
        {
            let (network, end) = via.split_once(':').unwrap();
            let (to4, to6) = match to {
                "default" => (to.to_owned(), to.to_owned()),
                n => (format!("10.{n}.0.0/24"), format!("fd0{n}::/64")),
            };
            let ns = net.ns(host);
            sh(&format!(
                "ip -n {ns} route add {to4} via 10.{network}.0.{end} && \
                 ip -n {ns} -6 route add {to6} via fd0{network}::{end}"
            ));
        }
        net
    }

    #[allow(clippy::too_many_arguments, reason = "two ends of a cable")]
    pub fn join(&self, a: &str, dev_a: &str, end_a: u8, b: &str, dev_b: &str, end_b: u8, net: u8) {
        let (ns_a, ns_b) = (self.ns(a), self.ns(b));
        sh(&format!("ip link add {dev_a} netns {ns_a} type veth peer name {dev_b} netns {ns_b}"));
        for (ns, dev, end) in [(&ns_a, dev_a, end_a), (&ns_b, dev_b, end_b)] {
            sh(&format!(
                "ip netns exec {ns} ethtool -K {dev} tso off gso off gro off tx off >/dev/null && \
                 ip -n {ns} link set {dev} up && ip -n {ns} addr add 10.{net}.0.{end}/24 dev {dev} \
                 && ip -n {ns} addr add fd0{net}::{end}/64 dev {dev} nodad"
            ));
        }
    }

    pub fn ns(&self, host: &str) -> String {
        format!("{}-{host}", self.id)
    }

    pub fn exec(&self, host: &str, line: &str) -> String {
        sh(&format!("ip netns exec {} {line}", self.ns(host)))
    }

    /// Everything a gateway could have changed on a host, as text.
    pub fn state(&self, host: &str) -> String {
        [
            "nft list ruleset",
            "ip rule show",
            "ip -6 rule show",
            "ip route show table all",
            "ip -6 route show table all",
            "ip addr show",
            "sysctl net.ipv4 net.ipv6 net.core 2>/dev/null",
        ]
        .iter()
        .map(|line| {
            let text = sh(&format!("ip netns exec {} sh -c '{line}'", self.ns(host)));
            // Counters of the kernel that move by themselves.
            let kept = text.lines().filter(|line| {
                !["fib_sync_mem", "inet_peer", "mptcp", "tcp_mem", "fs."].iter().any(|k| line.contains(k))
            });
            format!("# {line}\n{}\n", kept.collect::<Vec<_>>().join("\n"))
        })
        .collect()
    }

    /// The configuration of a gateway on `host`'s side of the air.
    pub fn config(&self, host: &str) -> Config {
        let peer = if host == "a" { "10.2.0.2:4791" } else { "10.2.0.1:4791" };
        Config {
            name: format!("gw{host}"),
            peer: Some(peer.parse().unwrap()),
            insecure: true,
            run_directory: self.directory.clone(),
            realtime: None,
            ..Config::new("forward", "air")
        }
    }

    /// What starts a gateway, its standard error not yet set.
    pub fn command(&self, config: &Config, host: &str, option: &str) -> Command {
        let path = self.directory.join(format!("{}.json", config.name));
        std::fs::write(&path, serde_json::to_vec(config).unwrap()).unwrap();
        let mut command = self.program(host, env!("CARGO_BIN_EXE_airtcp-bare-gateway"));
        command.arg(path).args(Some(option).filter(|option| !option.is_empty()));
        command
    }

    /// What starts a program in the namespace of a host, where it does not survive the test.
    pub fn program(&self, host: &str, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.ns(host)]).arg(program);
        die_with_parent(&mut command);
        command
    }

    /// Starts a gateway and waits until it runs.
    pub fn gateway(&self, host: &str) -> Gateway {
        self.gateway_with(host, self.config(host), "")
    }

    pub fn gateway_with(&self, host: &str, config: Config, option: &str) -> Gateway {
        let log = self.directory.join(format!("{}.log", config.name));
        let errors = std::fs::File::create(&log).unwrap();
        let child = self.command(&config, host, option).stderr(errors).spawn().unwrap();
        let mut gateway = Gateway::new(child, config, log);
        if option.is_empty() {
            gateway.wait_until_running();
        } else {
            std::thread::sleep(Duration::from_millis(700));
        }
        gateway
    }

    /// Runs the gateway's program to its end: exit status, output and errors.
    pub fn gateway_output(&self, host: &str, config: &Config, option: &str) -> (bool, String) {
        let output = self.command(config, host, option).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// True if a ping from the sender reaches the receiver within a second.
    pub fn ping(&self) -> bool {
        self.ping_to(RECEIVER.0)
    }

    pub fn ping_to(&self, address: &str) -> bool {
        Command::new("ip")
            .args(["netns", "exec", &self.ns("s"), "ping", "-n", "-c1", "-W1", "-q", address])
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    /// Lets the neighbours find each other, so that no later packet waits for that.
    pub fn meet(&self) {
        for address in [RECEIVER.0, RECEIVER.1] {
            assert!((0..5).any(|_| self.ping_to(address)), "{address} is not reached");
        }
    }

    /// How long until a packet gets across; pings each 50 ms.
    pub fn time_to_recover(&self) -> Duration {
        let start = Stopwatch::start();
        let output = Command::new("ip")
            .args(["netns", "exec", &self.ns("s"), "ping", "-n", "-i0.05", "-c1", "-w10", "-q"])
            .arg(RECEIVER.0)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(output.success(), "no packet got across within 10 s");
        start.elapsed()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for host in ["s", "a", "b", "r"] {
            let ns = self.ns(host);
            // Only processes inside namespaces that this test made.
            let _ = Command::new("sh")
                .args(["-c", &format!("ip netns pids {ns} | xargs -r kill -9; ip netns del {ns}")])
                .stderr(Stdio::null())
                .status();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A running gateway; killed when dropped.
pub struct Gateway {
    child: Child,
    pub config: Config,
    /// What it writes to its standard error.
    log: PathBuf,
    ended: bool,
}

impl Gateway {
    pub fn new(child: Child, config: Config, log: PathBuf) -> Gateway {
        Gateway { child, config, log, ended: false }
    }

    pub fn supervisor(&self) -> u32 {
        self.child.id()
    }

    pub fn status(&self) -> Option<Status> {
        status::query(&self.config.run_directory, &self.config.name).ok()
    }

    pub fn worker(&self) -> u32 {
        self.status().expect("the gateway runs").pid
    }

    /// Processor time that its processes used so far.
    pub fn processor_time(&self) -> Duration {
        let supervisor = self.supervisor();
        let children = std::fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).unwrap();
        let processes = std::iter::once(supervisor).chain(children.split_whitespace().map(|pid| pid.parse().unwrap()));
        // Nanoseconds that it ran come first.
        let ran = |pid| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
            text.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        Duration::from_nanos(processes.map(ran).sum())
    }

    pub fn wait_until_running(&mut self) -> Status {
        self.wait_for("running", |_| true)
    }

    /// Waits up to 10 s for a state.
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let waiting = Stopwatch::start();
        loop {
            assert!(waiting.elapsed() < Duration::from_secs(10), "not {what} after 10 s: {}", self.said());
            assert!(self.child.try_wait().unwrap().is_none(), "the gateway ended: {}", self.said());
            // A status socket answers once traffic is diverted.
            if let Some(status) = self.status().filter(&wanted) {
                return status;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it wrote to its standard error.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn signal(&self, signal: &str) {
        kill(self.child.id(), signal);
    }

    /// Ends in good order.
    pub fn stop(mut self) {
        self.signal("TERM");
        let status = self.child.wait().unwrap();
        self.ended = true;
        assert!(status.success(), "the gateway ended with {status}");
    }

    /// As an accident would.
    pub fn kill_dash_nine(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.ended = true;
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal by name.
pub fn kill(pid: u32, signal: &str) {
    sh(&format!("kill -{signal} {pid}"));
}
