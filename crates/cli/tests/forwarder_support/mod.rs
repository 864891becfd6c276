//! Two hosts with a forwarder each and a lossy link between them, and applications that prove what they see.
#![allow(dead_code, reason = "each test file uses its part")]

use airtcp_core::packet::fill_virtual;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::forwarder::Status;
use airtcp_linux::gateway::status;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family, LinkSpec, NodeSpec, Program, Testbed, TestbedSpec, check_available};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::time::Duration;

/// Where the near forwarder takes connections, and the far one leads them.
const TAKES: u16 = 8080;
const LEADS: u16 = 8081;
/// The near forwarder leads these where nobody listens, to a name, and where nothing is allowed.
pub const REFUSED: u16 = 8082;
pub const NAMED: u16 = 8083;
pub const FORBIDDEN: u16 = 8084;
/// Nothing is waited for any longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// No application waits longer for the next byte: what it has sent may take long.
const SILENCE_MAX: Duration = Duration::from_secs(240);
/// Bytes before what a client sends: how many follow, and how many it wants.
const HEADER: usize = 16;
/// Connections that wait for the server to take them.
const LISTEN_QUEUE: u32 = 16_384;
const NAMES: [&str; 2] = ["near", "far"];

/// Waits for this test's turn; `None`, with the reason told, where it cannot run.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    airtcp_test_support::turn(check_available().map_err(|why| why.to_string()))
}

/// See the module. `a` has the near forwarder, `b` the far one.
pub struct Pair {
    testbed: Testbed,
    directory: PathBuf,
    family: Family,
    programs: [Option<Program>; 2],
}

impl Pair {
    /// With both forwarders running. `link` are the settings of the link, `more` lines of both files.
    pub fn up(link: &[(&str, &str)], more: &str) -> Pair {
        Pair::with(link, more, |_, _| Default::default())
    }

    /// The same with `tails` behind each file, which knows the addresses and the directory.
    pub fn with(link: &[(&str, &str)], more: &str, tails: fn(&[IpAddr; 2], &Path) -> [String; 2]) -> Pair {
        Pair::over(Family::V4, link, more, tails)
    }

    /// The same whose forwarders reach each other, and the server, by addresses of this family.
    pub fn over(
        family: Family,
        link: &[(&str, &str)],
        more: &str,
        tails: fn(&[IpAddr; 2], &Path) -> [String; 2],
    ) -> Pair {
        let mut settings = LinkSettings::default();
        link.iter().for_each(|(key, value)| settings.set(key, &(*value).into()).expect("a setting"));
        let spec = TestbedSpec {
            nodes: ["a", "b"].map(|name| NodeSpec { name: name.into(), forwards: false }).into(),
            links: vec![LinkSpec::new("air", ["a", "b"], settings.clone(), settings)],
            default_controller: "cubic".into(),
            emulator: EmulatorOptions::default(),
        };
        let testbed = Testbed::up(spec).expect("a testbed");
        let directory = std::env::temp_dir().join(format!("{}-forwarders-{}", testbed.prefix(), std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut pair = Pair { testbed, directory, family, programs: [None, None] };
        let tails = tails(&pair.addresses(), &pair.directory);
        pair.configure(more, &tails);
        pair.start(0);
        pair.start(1);
        pair.wait_until_up();
        pair
    }

    /// Addresses of both hosts.
    pub fn addresses(&self) -> [IpAddr; 2] {
        ["a", "b"].map(|node| self.testbed.address(node, self.family).expect("a node"))
    }

    fn configure(&self, more: &str, tails: &[String; 2]) {
        let key = self.directory.join("key");
        let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&key).expect("a key");
        file.write_all(b"a secret of this test alone").expect("a key");
        let addresses = self.addresses();
        for (end, name) in NAMES.iter().enumerate() {
            let [own, other] = [end, 1 - end].map(|end| at(addresses[end]));
            let (key, directory) = (key.display(), self.directory.display());
            let mut text = format!(
                "schema = 1\nname = \"{name}\"\npeer = \"{other}:4792\"\nlisten = \"{own}:4792\"\nkey = \"{key}\"\n\
                 run_directory = \"{directory}\"\n{more}\n"
            );
            if end == 0 {
                let far = at(addresses[1]);
                for (takes, to) in [
                    (TAKES, format!("{far}:{LEADS}")),
                    (REFUSED, format!("{far}:1")),
                    (NAMED, format!("localhost:{LEADS}")),
                    (FORBIDDEN, format!("{far}:22")),
                ] {
                    text += &format!("[[forward]]\nlisten = \"127.0.0.1:{takes}\"\nto = \"{to}\"\n");
                }
            } else {
                text += &format!("allow = [\"{own}:{LEADS}\", \"{own}:1\", \"localhost:{LEADS}\"]\n");
            }
            text += &tails[end];
            std::fs::write(self.directory.join(format!("{name}.toml")), text).expect("a file");
        }
    }

    /// Starts the forwarder of one end.
    pub fn start(&mut self, end: usize) {
        let file = self.directory.join(format!("{}.toml", NAMES[end]));
        let log = self.directory.join(format!("{}.log", NAMES[end]));
        let exec = Exec::new(env!("CARGO_BIN_EXE_airtcp")).arg("forward").arg(file).log(log);
        self.programs[end] = Some(self.testbed.start(["a", "b"][end], &exec).expect("it starts"));
    }

    /// Sends a signal to the forwarder of one end.
    pub fn signal(&self, end: usize, signal: i32) {
        self.programs[end].as_ref().expect("it runs").signal(signal).expect("it takes signals");
    }

    /// Kills it as nothing else does.
    pub fn kill(&mut self, end: usize) {
        self.signal(end, libc_sigkill());
        if let Some(mut program) = self.programs[end].take() {
            let _ = program.wait();
        }
    }

    /// What it tells; none while it does not answer.
    pub fn status(&self, end: usize) -> Option<Status> {
        let answer = status::ask(&self.directory, NAMES[end], "status").ok()?;
        serde_json::from_str(&answer).ok()
    }

    /// A counter of the one end.
    pub fn count(&self, end: usize, name: &str) -> u64 {
        let status = self.status(end).expect("it answers");
        [&status.counters, &status.gauges, &status.ignored]
            .iter()
            .find_map(|table| table.get(name).copied())
            .unwrap_or(0)
    }

    /// Waits until each has heard of the other.
    pub fn wait_until_up(&self) {
        let is_up = |end: usize| self.status(end).is_some_and(|status| status.state == "forwarding");
        wait_for("both forwarders to find each other", || is_up(0) && is_up(1));
    }

    /// The most memory that its process ever had resident, in MiB, and its descriptors.
    pub fn resources(&self, end: usize) -> (u64, usize) {
        let id = self.programs[end].as_ref().expect("it runs").id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its memory");
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd")).expect("its descriptors").count();
        (kib / 1024, descriptors)
    }

    /// A server at the far host that serves each client in a thread, and says how each ended.
    pub fn serve(&self) -> Server {
        let address = SocketAddr::new(self.addresses()[1], LEADS);
        let any: IpAddr = if self.family == Family::V4 { [0; 4].into() } else { [0; 16].into() };
        let any = SocketAddr::new(any, address.port());
        let listening = || -> io::Result<TcpListener> {
            let socket = Socket::new(Domain::for_address(any), Type::STREAM, None)?;
            socket.bind(&any.into())?;
            // Where this queue overflows, Linux's SYN cookies lose connections that the other host takes for open.
            std::fs::write("/proc/sys/net/core/somaxconn", LISTEN_QUEUE.to_string())?;
            socket.listen(LISTEN_QUEUE as i32)?;
            Ok(socket.into())
        };
        Server { listener: self.on(1, listening).expect("it listens") }
    }

    /// So many connections to the near forwarder, from its own host.
    pub fn connect(&self, port: u16, count: usize) -> Vec<TcpStream> {
        let namespace = self.testbed.namespace("a").expect("a node");
        let connect = || (0..count).map(|_| TcpStream::connect(("127.0.0.1", port))).collect::<io::Result<Vec<_>>>();
        namespace.run(connect).and_then(|connected| connected).expect("the kernel takes them")
    }

    /// Does something on the host of one end.
    pub fn on<T: Send>(&self, end: usize, work: impl FnOnce() -> T + Send) -> T {
        let namespace = self.testbed.namespace(["a", "b"][end]).expect("a node");
        namespace.run(work).expect("a thread")
    }

    /// Runs a program there, to its end.
    pub fn command(&self, end: usize, program: &str, arguments: &[&str]) {
        let exec = Exec::new(program).args(arguments.iter().copied());
        let status = self.testbed.start(["a", "b"][end], &exec).and_then(|mut program| program.wait());
        assert!(status.as_ref().is_ok_and(|status| status.success()), "{program} {arguments:?}: {status:?}");
    }

    /// The host's device for the link.
    pub fn device(&self, end: usize) -> String {
        let names = || std::fs::read_to_string("/proc/thread-self/net/dev").expect("devices");
        let all = self.on(end, names);
        let mut names = all.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
        names.rfind(|name| *name != "lo").expect("a device").to_owned()
    }

    /// Fragments that the host has made of packets.
    pub fn fragments(&self, end: usize) -> u64 {
        let all = self.on(end, || std::fs::read_to_string("/proc/thread-self/net/snmp").expect("counters"));
        let rows: Vec<Vec<&str>> =
            all.lines().filter(|line| line.starts_with("Ip:")).map(|line| line.split_whitespace().collect()).collect();
        let place = rows[0].iter().position(|name| *name == "FragCreates").expect("the counter");
        rows[1][place].parse().expect("a number")
    }

    /// Where files and sockets of this pair are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The port that leads to the server.
    pub fn port() -> u16 {
        TAKES
    }

    /// The testbed's prefix of names of namespaces.
    pub fn prefix(&self) -> String {
        self.testbed.prefix().to_owned()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (end, name) in NAMES.iter().enumerate() {
                println!("{name}: {:#?}", self.status(end));
                let log = std::fs::read_to_string(self.directory.join(format!("{name}.log")));
                println!("{}", log.unwrap_or_default());
            }
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// An address as it stands before a port.
fn at(address: IpAddr) -> String {
    if address.is_ipv6() { format!("[{address}]") } else { address.to_string() }
}

fn libc_sigkill() -> i32 {
    9
}

/// Time since `begun`.
pub fn elapsed(begun: airtcp_core::Instant) -> Duration {
    Duration::from_nanos(clock::now().saturating_since(begun).as_nanos())
}

/// Waits for something that has to come within [`PATIENCE`].
pub fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let begun = clock::now();
    while !is_there() {
        assert!(elapsed(begun) < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How a connection ended for one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All came, as it was sent, and the end behind it.
    Whole,
    /// The system said that it broke.
    Broken(io::ErrorKind),
    /// An end, or other bytes than were sent: what must never be.
    Wrong(String),
    /// Nothing came, and no error.
    Silent,
}

fn broken(error: &io::Error) -> Fate {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if error.raw_os_error() != Some(110) => Fate::Silent,
        kind => Fate::Broken(kind),
    }
}

fn patient(stream: &TcpStream) {
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(SILENCE_MAX)).expect("a socket");
    stream.set_write_timeout(Some(SILENCE_MAX)).expect("a socket");
}

/// Writes `bytes` of the stream `seed`.
fn write_stream(stream: &mut TcpStream, seed: u64, bytes: u64) -> io::Result<()> {
    let (mut buffer, mut sent) = (vec![0; 16 << 10], 0);
    while sent < bytes {
        let length = (bytes - sent).min(buffer.len() as u64) as usize;
        fill_virtual(seed, sent, &mut buffer[..length]);
        stream.write_all(&buffer[..length])?;
        sent += length as u64;
    }
    Ok(())
}

/// Reads to the end what must be `bytes` of the stream `seed`.
fn read_stream(stream: &mut TcpStream, seed: u64, bytes: u64) -> Fate {
    let (mut buffer, mut expected, mut read) = (vec![0; 16 << 10], vec![0; 16 << 10], 0);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) if read == bytes => return Fate::Whole,
            Ok(0) => return Fate::Wrong(format!("a clean end after {read} of {bytes} bytes")),
            Ok(length) => {
                fill_virtual(seed, read, &mut expected[..length]);
                if buffer[..length] != expected[..length] {
                    return Fate::Wrong(format!("other bytes behind {read} of {bytes}"));
                }
                read += length as u64;
            }
            Err(error) => return broken(&error),
        }
    }
}

/// A client that sends `up` bytes, ends, and reads `down` bytes to their end.
pub fn client(mut stream: TcpStream, seed: u64, up: u64, down: u64) -> Fate {
    patient(&stream);
    let mut header = [0; HEADER + 8];
    header[..8].copy_from_slice(&up.to_be_bytes());
    header[8..16].copy_from_slice(&down.to_be_bytes());
    header[16..].copy_from_slice(&seed.to_be_bytes());
    let sent = stream.write_all(&header).and_then(|()| write_stream(&mut stream, seed, up));
    if let Err(error) = sent.and_then(|()| stream.shutdown(Shutdown::Write)) {
        return broken(&error);
    }
    read_stream(&mut stream, !seed, down)
}

/// The other end: reads to the end, and then sends what was wanted.
pub fn serve_one(mut stream: TcpStream) -> Fate {
    patient(&stream);
    let mut header = [0; HEADER + 8];
    if let Err(error) = stream.read_exact(&mut header) {
        // An end before anything was sent is a connection that nobody used.
        let is_end = error.kind() == io::ErrorKind::UnexpectedEof;
        return if is_end { Fate::Wrong("a clean end within the header".into()) } else { broken(&error) };
    }
    let number = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let (up, down, seed) = (number(0), number(8), number(16));
    match read_stream(&mut stream, seed, up) {
        Fate::Whole => {}
        other => return other,
    }
    match write_stream(&mut stream, !seed, down).and_then(|()| stream.shutdown(Shutdown::Write)) {
        Ok(()) => Fate::Whole,
        Err(error) => broken(&error),
    }
}

/// A listening socket at the far host.
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// The next connection.
    pub fn accept(&self) -> TcpStream {
        self.listener.accept().expect("a connection").0
    }

    /// The next connection that is there within `wait`.
    pub fn accept_within(&self, wait: Duration) -> Option<TcpStream> {
        self.listener.set_nonblocking(true).expect("a socket");
        let begun = clock::now();
        let found = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break Some(stream),
                Err(_) if elapsed(begun) >= wait => break None,
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        self.listener.set_nonblocking(false).expect("a socket");
        found
    }
}

/// True if a namespace of this prefix is left.
pub fn has_leftovers(prefix: &str) -> bool {
    let names = std::fs::read_dir(Path::new("/run/netns")).into_iter().flatten().flatten();
    names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
}
