//! Fault drills: whatever is killed or stopped while a file crosses both gateways, the file
//! arrives unchanged and never waits longer than 5 s.
//!
//! Fault and recovery come at times drawn from a printed seed. A drill that failed is repeated
//! with the line it prints: `AIRTCP_DRILL='kill A:123' cargo test … live_drills`.

mod live_support;

use airtcp_core::{Duration, Instant, Rng};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{FlowResult, Outcome, RunningFlow, hex};
use live_support::gateway::{Gateway, signal_worker};
use live_support::{Path, family_name, is_long, seconds, sleep_ms, sleep_until, turn};
use std::collections::BTreeMap;

/// More than two seconds at the link's rate: under way when the fault comes, and after the recovery.
const FILE_BYTES: u64 = 25_000_000;
const STALL_MAX: Duration = Duration::from_secs(5);
const DEADLINE: Duration = Duration::from_secs(90);
const LOSS: &[(&str, &str)] = &[("loss", "2%")];

/// What is done to a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// `kill -9` of the supervisor; the worker dies with it. Started again later.
    Kill,
    /// `kill -9` of the worker; its supervisor starts another.
    KillWorker,
    /// SIGSTOP of both processes; SIGCONT later.
    Stop,
    /// SIGSTOP of the worker; its supervisor kills it and starts another.
    StopWorker,
}

/// A kind of drill: its name, what is done, and to which gateways (0 is A, 1 is B).
const KINDS: &[(&str, Fault, &[usize])] = &[
    ("kill A", Fault::Kill, &[0]),
    ("kill B", Fault::Kill, &[1]),
    ("kill both", Fault::Kill, &[0, 1]),
    ("kill worker A", Fault::KillWorker, &[0]),
    ("kill worker B", Fault::KillWorker, &[1]),
    ("kill both workers", Fault::KillWorker, &[0, 1]),
    ("stop A", Fault::Stop, &[0]),
    ("stop B", Fault::Stop, &[1]),
    ("stop both", Fault::Stop, &[0, 1]),
    ("stop worker A", Fault::StopWorker, &[0]),
    ("stop worker B", Fault::StopWorker, &[1]),
];

struct Drill {
    kind: &'static str,
    fault: Fault,
    victims: &'static [usize],
    seed: u64,
    family: Family,
    fault_at: Duration,
    recovery_at: Duration,
}

impl Drill {
    fn draw((kind, fault, victims): (&'static str, Fault, &'static [usize]), seed: u64) -> Drill {
        let mut rng = Rng::derive(seed, kind);
        let ms = |rng: &mut Rng, from, to| Duration::from_millis(from + rng.below(to - from));
        let family = Family::BOTH[rng.below(2) as usize];
        let fault_at = ms(&mut rng, 100, 1_200);
        let recovery_at = fault_at + ms(&mut rng, 50, 1_500);
        Drill { kind, fault, victims, seed, family, fault_at, recovery_at }
    }

    /// Runs it: when the file was there and the longest stall, or what is wrong with the outcome.
    fn run(&self, path: &Path, gateways: &mut [Gateway; 2]) -> Result<(Duration, Duration), String> {
        for gateway in gateways.iter_mut() {
            gateway.wait_in_reach();
        }
        let workers = [0, 1].map(|index: usize| gateways[index].worker());
        let restarts = [0, 1].map(|index: usize| gateways[index].restarts());
        let origin = path.restart(self.seed, None);
        let flow = path.start(path.file(self.family, FILE_BYTES, self.seed, DEADLINE), origin);
        let begin = first_byte(&flow);
        sleep_until(begin, self.fault_at);
        let received = flow.progress().received_bytes();
        for victim in self.victims {
            self.strike(&gateways[*victim], workers[*victim]);
        }
        sleep_until(begin, self.recovery_at);
        for victim in self.victims {
            self.recover(path, &mut gateways[*victim], workers[*victim]);
        }
        let result = flow.join().expect("sockets");
        let done = (origin + result.last_byte_at.unwrap_or(DEADLINE)).saturating_since(begin);
        println!(
            "{:<18} seed {:<6} {} fault {:.3} s, recovery {:.3} s, done {:6.3} s, longest stall {:.3} s, sha256 {} {}",
            self.kind,
            self.seed,
            family_name(self.family),
            seconds(self.fault_at),
            seconds(self.recovery_at),
            seconds(done),
            seconds(result.longest_stall),
            hex(&result.receiver_sha256),
            if result.stream_is_intact() { "equal" } else { "DIFFERENT" },
        );
        judge(&result, received)?;
        self.judge_effect(&result)?;
        self.judge_restarts(gateways, restarts)?;
        Ok((done, result.longest_stall))
    }

    /// A stop that held nothing up has missed its gateway, or the gateway carries nothing.
    fn judge_effect(&self, result: &FlowResult) -> Result<(), String> {
        let stopped = match self.fault {
            Fault::Stop => self.recovery_at.saturating_sub(self.fault_at),
            Fault::StopWorker => Duration::MAX,
            Fault::Kill | Fault::KillWorker => Duration::ZERO,
        };
        let least = stopped.min(Duration::from_secs(1)) / 2;
        match result.longest_stall >= least {
            true => Ok(()),
            false => Err(format!("the fault was not felt: the longest stall was {}", result.longest_stall)),
        }
    }

    /// A worker that was replaced without need would hide that a fault missed it.
    fn judge_restarts(&self, gateways: &mut [Gateway; 2], before: [u64; 2]) -> Result<(), String> {
        for (index, (gateway, before)) in gateways.iter_mut().zip(before).enumerate() {
            let is_victim = self.victims.contains(&index);
            let allowed = match self.fault {
                _ if !is_victim => before..=before,
                Fault::Kill => 0..=0,
                Fault::KillWorker | Fault::StopWorker => before + 1..=before + 1,
                // A supervisor that goes on before its worker may take it for hanging.
                Fault::Stop => before..=before + 1,
            };
            let after = gateway.restarts();
            if !allowed.contains(&after) {
                return Err(format!("{} was restarted {after} times, not {allowed:?}", gateway.config.name));
            }
        }
        Ok(())
    }

    fn strike(&self, gateway: &Gateway, worker: u32) {
        match self.fault {
            Fault::Kill => gateway.signal_supervisor(libc::SIGKILL),
            Fault::KillWorker => signal_worker(worker, libc::SIGKILL),
            Fault::Stop => {
                gateway.signal_supervisor(libc::SIGSTOP);
                signal_worker(worker, libc::SIGSTOP);
            }
            Fault::StopWorker => signal_worker(worker, libc::SIGSTOP),
        }
    }

    fn recover(&self, path: &Path, gateway: &mut Gateway, worker: u32) {
        match self.fault {
            Fault::Kill => {
                gateway.bury();
                let node = if gateway.config.facts.far_end { "b" } else { "a" };
                *gateway = Gateway::spawn(path, node, |_| {});
            }
            Fault::Stop => {
                signal_worker(worker, libc::SIGCONT);
                gateway.signal_supervisor(libc::SIGCONT);
            }
            Fault::KillWorker | Fault::StopWorker => {}
        }
    }
}

/// Waits until the transfer is under way; all times of a drill count from then. Before it the
/// loss of the handshake's last packet, which is nobody's to repair, costs a second or more.
fn first_byte(flow: &RunningFlow) -> Instant {
    while flow.progress().received_bytes() == 0 && !flow.is_finished() {
        sleep_ms(1);
    }
    clock::now()
}

fn judge(result: &FlowResult, received_before: u64) -> Result<(), String> {
    if received_before >= FILE_BYTES {
        return Err("the file had arrived before the fault: it is too short".into());
    }
    if result.outcome != Outcome::Complete || result.received_bytes != FILE_BYTES {
        return Err(format!("{:?} after {} bytes", result.outcome, result.received_bytes));
    }
    if !result.stream_is_intact() {
        let hashes = [&result.sender_sha256, &result.receiver_sha256].map(hex);
        return Err(format!(
            "sent {}, received {}: first wrong byte {:?}",
            hashes[0], hashes[1], result.first_wrong_byte
        ));
    }
    if result.longest_stall > STALL_MAX {
        return Err(format!("nothing arrived for {}", result.longest_stall));
    }
    Ok(())
}

/// The drills to run: those of AIRTCP_DRILL (`kind:seed`), or each kind often enough.
fn drills() -> Vec<Drill> {
    if let Ok(one) = std::env::var("AIRTCP_DRILL") {
        let (name, seed) = one.split_once(':').expect("AIRTCP_DRILL is 'kind:seed'");
        let kind = KINDS.iter().find(|(kind, ..)| *kind == name).expect("a kind of drill");
        return vec![Drill::draw(*kind, seed.parse().expect("a seed is a number"))];
    }
    let first = clock::wall_clock_ns() / 1_000_000 % 1_000_000;
    let times = if is_long() { 20 } else { 3 };
    (0..times).flat_map(|time| KINDS.iter().map(move |kind| Drill::draw(*kind, first + time))).collect()
}

#[test]
fn live_transfers_survive_every_kill_and_stop_of_either_gateway_or_both() {
    let Some(_turn) = turn("live_drills") else { return };
    let path = Path::up(LOSS);
    let mut gateways = path.gateways();
    let mut worst: BTreeMap<&str, (Duration, Duration)> = BTreeMap::new();
    let mut failed = Vec::new();
    for drill in drills() {
        match drill.run(&path, &mut gateways) {
            Ok((done, stall)) => {
                let worst = worst.entry(drill.kind).or_default();
                *worst = (worst.0.max(done), worst.1.max(stall));
            }
            Err(why) => {
                println!("FAILED: {why}");
                gateways.iter().for_each(|gateway| println!("{}: {}", gateway.config.name, gateway.log()));
                println!(
                    "again: AIRTCP_DRILL='{}:{}' cargo test -p airtcp-linux --test live_drills -- --nocapture",
                    drill.kind, drill.seed
                );
                failed.push(format!("{}:{}: {why}", drill.kind, drill.seed));
            }
        }
        for gateway in &mut gateways {
            gateway.assert_sound();
        }
    }
    for (kind, (done, stall)) in &worst {
        println!("{kind:<18} slowest {:.3} s, longest stall {:.3} s", seconds(*done), seconds(*stall));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
