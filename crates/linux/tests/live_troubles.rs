//! Drills of what a machine does to a gateway: its program, log, disk, link or rules are gone, or the other gateway is of
//! another version. The file that crosses both gateways arrives unchanged and never waits longer than 5 s; afterwards both
//! gateways work again.

mod live_support;

use airtcp_core::control::Header;
use airtcp_core::{Duration, Instant};
use airtcp_linux::gateway::divert::Method;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::FlowResult;
use live_support::drill::{Drill, LOSS, Worst};
use live_support::gateway::{Gateway, Launch, PORT, set_scheme, signal_worker};
use live_support::impostor::socket_on;
use live_support::trouble::{Disk, Log, Shell};
use live_support::{Path, sleep_ms, turn};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// What happens, to one gateway, which the seed chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The worker is killed and its program is away.
    NoProgram,
    /// The worker is killed, and nobody reads what its supervisor says of it.
    NoLog,
    /// Killed, and started on a disk on which nothing has room.
    FullDisk,
    LinkRenamed,
    LinkDown,
    /// Killed, and started before its link is there.
    LateLink,
    /// The programs at the link, of a kernel without TCX.
    FiltersDeleted,
    /// The routing rules of the second best way.
    RulesDeleted,
    /// Killed; in its place one that speaks another version of the protocol.
    OtherVersion,
}

const KINDS: &[(&str, Trouble)] = &[
    ("no program", Trouble::NoProgram),
    ("no log", Trouble::NoLog),
    ("full disk", Trouble::FullDisk),
    ("link renamed", Trouble::LinkRenamed),
    ("link down", Trouble::LinkDown),
    ("late link", Trouble::LateLink),
    ("filters deleted", Trouble::FiltersDeleted),
    ("rules deleted", Trouble::RulesDeleted),
    ("other version", Trouble::OtherVersion),
];

/// A trouble lasts so long at least: a supervisor tries to start a worker within it, and a peer of another version is heard.
const LEAST: Duration = Duration::from_millis(400);
/// What is under way when a link goes down arrives within this time: the delay, and a queue of a round trip.
const UNDER_WAY: Duration = Duration::from_millis(30);

/// The place of a drill.
struct Scene<'a> {
    path: &'a Path,
    scheme: &'static str,
    trouble: Trouble,
    /// 0 is A, 1 is B.
    victim: usize,
    gateways: [Option<Gateway>; 2],
    shell: Shell<'a>,
    program: PathBuf,
    log: Log,
    disk: Option<Disk>,
    stranger: Option<Stranger>,
    restarts: [u64; 2],
    /// When the link was down for certain, and for how long: to set it takes time, too.
    down_since: Instant,
    down_for: Duration,
}

const NODES: [&str; 2] = ["a", "b"];

impl<'a> Scene<'a> {
    /// Both gateways in reach of each other, the victim as the drill needs it.
    fn new(path: &'a Path, drill: &Drill) -> Scene<'a> {
        let (_, trouble) = *KINDS.iter().find(|(kind, _)| *kind == drill.kind).expect("a kind of drill");
        let node = NODES[drill.victim];
        let program = path.directory.join("victim");
        std::fs::copy(env!("CARGO_BIN_EXE_airtcp-bare-gateway"), &program).unwrap();
        let disk = (trouble == Trouble::FullDisk).then(|| Disk::mount(&path.directory.join("disk")));
        let log = match (&disk, trouble) {
            (Some(disk), _) => Log::file(disk.path.join("log")),
            (None, Trouble::NoLog) => Log::pipe(path.directory.join("pipe")),
            _ => Log::file(path.directory.join(format!("gw{node}.log"))),
        };
        let mut scene = Scene {
            path,
            scheme: drill.scheme,
            trouble,
            victim: drill.victim,
            gateways: [None, None],
            shell: Shell { path, node },
            program,
            log,
            disk,
            stranger: None,
            restarts: [0; 2],
            down_since: Instant::ZERO,
            down_for: Duration::ZERO,
        };
        scene.gateways[1 - drill.victim] = Some(Gateway::spawn(path, NODES[1 - drill.victim], |config| {
            set_scheme(config, drill.scheme);
        }));
        scene.start_victim();
        for index in 0..2 {
            scene.gateway(index).wait_in_reach();
            scene.restarts[index] = scene.gateway(index).restarts();
        }
        scene
    }

    fn gateway(&mut self, index: usize) -> &mut Gateway {
        self.gateways[index].as_mut().expect("started")
    }

    fn start_victim(&mut self) {
        let method = match self.trouble {
            Trouble::FiltersDeleted => Some(Method::Clsact),
            Trouble::RulesDeleted => Some(Method::Routed),
            _ => None,
        };
        let disk = self.disk.as_ref().map(|disk| disk.path.clone());
        let (program, log) = (self.program.clone(), self.log.path.clone());
        let launch = Launch { path: self.path, node: NODES[self.victim], program, log };
        self.gateways[self.victim] = Some(Gateway::spawn_as(&launch, |config| {
            set_scheme(config, self.scheme);
            config.method = method;
            if let Some(disk) = disk {
                config.run_directory = disk;
            }
        }));
    }

    fn kill_victim(&mut self) {
        let victim = self.gateway(self.victim);
        victim.signal_supervisor(libc::SIGKILL);
        victim.bury();
    }

    fn kill_worker(&mut self) {
        let worker = self.gateway(self.victim).worker();
        signal_worker(worker, libc::SIGKILL);
    }

    fn strike(&mut self) {
        match self.trouble {
            Trouble::NoProgram => {
                std::fs::rename(&self.program, self.program.with_extension("away")).unwrap();
                self.kill_worker();
            }
            Trouble::NoLog => {
                self.log.close();
                self.kill_worker();
            }
            Trouble::FullDisk => {
                self.kill_victim();
                self.disk.as_ref().expect("mounted").fill();
                self.start_victim();
            }
            Trouble::LinkRenamed => self.shell.run("ip link set dev air name elsewhere"),
            Trouble::LinkDown => {
                self.shell.take_link_down();
                self.down_since = clock::now();
            }
            Trouble::LateLink => {
                self.kill_victim();
                self.shell.run("ip link set dev air name elsewhere");
                self.start_victim();
            }
            Trouble::FiltersDeleted => self.shell.run("tc qdisc del dev air clsact"),
            Trouble::RulesDeleted => self.shell.run("ip rule del protocol 167"),
            Trouble::OtherVersion => {
                self.kill_victim();
                // The worker dies with its supervisor, but after it, and the status socket is the last that it holds.
                while self.gateway(self.victim).status().is_some() {
                    sleep_ms(1);
                }
                self.stranger = Some(Stranger::speak(self.path, self.victim));
            }
        }
    }

    fn recover(&mut self) {
        match self.trouble {
            Trouble::NoProgram => std::fs::rename(self.program.with_extension("away"), &self.program).unwrap(),
            Trouble::FullDisk => self.disk.as_ref().expect("mounted").free(),
            Trouble::LinkRenamed | Trouble::LateLink => self.shell.run("ip link set dev elsewhere name air"),
            Trouble::LinkDown => {
                self.down_for = clock::now().saturating_since(self.down_since);
                self.shell.bring_link_up();
            }
            Trouble::OtherVersion => {
                self.stranger.take().expect("speaks").be_silent();
                self.start_victim();
            }
            Trouble::NoLog | Trouble::FiltersDeleted | Trouble::RulesDeleted => {}
        }
    }

    /// The trouble was one, all is well after it, and the other gateway went on.
    fn judge(&mut self, result: &FlowResult) -> Result<(), String> {
        for index in 0..2 {
            self.gateway(index).wait_in_reach();
            self.gateway(index).assert_sound();
        }
        let other = self.gateway(1 - self.victim).assert_sound();
        if other.restarts != self.restarts[1 - self.victim] {
            return Err(format!("the other gateway was restarted {} times", other.restarts));
        }
        let (restarts, log) = (self.gateway(self.victim).restarts(), self.gateway(self.victim).log());
        let was_felt = match self.trouble {
            // The next worker is of the program that runs, wherever its file is.
            Trouble::NoProgram => restarts == 1 && !log.contains("could not be started"),
            Trouble::NoLog | Trouble::FiltersDeleted | Trouble::RulesDeleted => restarts == 1,
            Trouble::FullDisk => restarts == 0,
            // It holds the link, whatever its name.
            Trouble::LinkRenamed => restarts == 0 && !log.contains("Waiting"),
            Trouble::LateLink => log.contains("Waiting"),
            Trouble::LinkDown => result.longest_stall + UNDER_WAY >= self.down_for && self.down_for >= LEAST / 2,
            Trouble::OtherVersion => other.control_ignored["version"] > 0,
        };
        if was_felt { Ok(()) } else { Err(format!("the trouble was not felt: {restarts} restarts, log: {log}")) }
    }
}

/// Somebody at a gateway's place who speaks another version.
struct Stranger {
    is_done: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Stranger {
    fn speak(path: &Path, place: usize) -> Stranger {
        let address = |node| path.testbed.link_address("air", node, Family::V4).expect("an end of the air");
        let socket = socket_on(path, NODES[place], address(NODES[place]), PORT);
        let to = (address(NODES[1 - place]), PORT);
        let header = Header { is_handshake: true, epoch: 1, sequence: 1, ..Header::default() };
        let mut datagram = header.encode();
        let version = &mut datagram[4];
        *version += 1;
        let is_done = Arc::new(AtomicBool::new(false));
        let until = is_done.clone();
        let speak = move || {
            while !until.load(Ordering::Relaxed) {
                let _ = socket.send_to(&datagram, to);
                sleep_ms(10);
            }
        };
        Stranger { is_done, thread: std::thread::spawn(speak) }
    }

    fn be_silent(self) {
        self.is_done.store(true, Ordering::Relaxed);
        self.thread.join().expect("sends only");
    }
}

#[test]
fn live_transfers_survive_what_a_machine_does_to_a_gateway() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(LOSS);
    let (mut worst, mut failed) = (Worst::default(), Vec::new());
    for drill in Drill::all(KINDS.iter().map(|(kind, _)| *kind), 1, LEAST) {
        let mut scene = Scene::new(&path, &drill);
        let outcome = drill.run(&path, &mut scene, Scene::strike, Scene::recover);
        match outcome.and_then(|result| scene.judge(&result).map(|()| result)) {
            Ok(result) => worst.add(&drill, result.longest_stall),
            Err(why) => {
                let why = drill.failed("live_troubles", &why);
                println!("FAILED: {why}");
                scene.gateways.iter().flatten().for_each(|gateway| println!("{}", gateway.log()));
                failed.push(why);
            }
        }
    }
    worst.print();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
