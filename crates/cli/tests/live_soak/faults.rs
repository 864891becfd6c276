//! What a soak does to its gateways, one thing in each cycle, and what may have changed afterwards.

use crate::net::{MOVING, Net, SPOKES, names};
use airtcp_core::{Duration, Rng};
use airtcp_linux::gateway::ask_upgrade;
use airtcp_linux::gateway::status::Status;
use airtcp_linux::sys::clock;
use airtcp_linux::sys::process::send_signal;
use airtcp_linux::testbed::Program;
use signal_hook::consts::{SIGCONT, SIGKILL, SIGSTOP, SIGTERM};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration as StdDuration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    WorkerKilled,
    WorkerStopped,
    SupervisorKilled,
    /// Both processes, and they go on.
    BothStopped,
    /// Ended in good order, and started again.
    Leaves,
    Upgraded,
    /// The upgrade is to a program that cannot take over.
    UpgradeRefused,
    /// A file that is applied in place.
    Reloaded,
    /// A file that is none.
    ReloadRefused,
    /// A key of a spoke, here and there.
    KeyChanged,
    /// A spoke is no peer of the hub for a while.
    PeerRemoved,
    /// The spoke that is known by its key has another address.
    Moved,
    /// Somebody drops the control messages.
    Firewall,
    LinkDown,
    LinkRemade,
    /// No room where sockets, process ids and logs are, while a gateway is killed and started.
    DiskFull,
}

use Fault::{
    BothStopped, DiskFull, Firewall, KeyChanged, Leaves, LinkDown, LinkRemade, Moved, PeerRemoved, ReloadRefused,
    Reloaded, SupervisorKilled, UpgradeRefused, Upgraded, WorkerKilled, WorkerStopped,
};

/// Faults that replace the hub's worker.
const AT_HUB: [Fault; 6] = [WorkerKilled, WorkerStopped, SupervisorKilled, Upgraded, PeerRemoved, LinkRemade];
/// Faults after which the hub has the worker that it had, and those of a spoke.
const ELSEWHERE: [(Fault, bool); 16] = [
    (UpgradeRefused, true),
    (Reloaded, true),
    (ReloadRefused, true),
    (Firewall, true),
    (LinkDown, true),
    (KeyChanged, false),
    (Moved, false),
    (WorkerKilled, false),
    (WorkerStopped, false),
    (SupervisorKilled, false),
    (BothStopped, false),
    (Leaves, false),
    (Upgraded, false),
    (Reloaded, false),
    (ReloadRefused, false),
    (DiskFull, false),
];

/// A fault, and the gateway that it strikes.
#[derive(Clone, Debug)]
pub struct Blow {
    pub fault: Fault,
    pub victim: String,
}

/// What the cycles bring, drawn from a seed: each fault once before any comes again. In the first half all of them; in the
/// second none that replaces the hub's worker, so that this one has half of the soak to show whether it grows.
pub fn plan(seed: u64, cycles: usize) -> Vec<Blow> {
    let mut rng = Rng::derive(seed, "faults");
    let at_hub = AT_HUB.map(|fault| (fault, true));
    let mut deck: Vec<(Fault, bool)> = Vec::new();
    let mut blows = Vec::new();
    for cycle in 0..cycles {
        let is_first_half = cycle < cycles / 2;
        if cycle == cycles / 2 {
            deck.clear();
        }
        if deck.is_empty() {
            deck = ELSEWHERE.into_iter().chain(at_hub.into_iter().filter(|_| is_first_half)).collect();
        }
        let (fault, is_at_hub) = deck.swap_remove(rng.below(deck.len() as u64) as usize);
        // The first spoke is left alone.
        let spoke = if fault == Moved { MOVING } else { 1 + rng.below(SPOKES as u64 - 1) as usize };
        let victim = if is_at_hub { "hub".to_owned() } else { format!("spoke{spoke}") };
        blows.push(Blow { fault, victim });
    }
    blows
}

/// The gateways' processes, and what is known of them.
pub struct Gateways {
    programs: BTreeMap<String, Program>,
    /// Each as it is known to be.
    known: BTreeMap<String, Known>,
    /// Workers of each that did not come up in time.
    slow_starts: BTreeMap<String, u64>,
    /// How often one that could not start was started again.
    pub started_again: u64,
}

/// What tells whether a gateway is the one that it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    worker: u32,
    restarts: u64,
    /// Workers that did not come up in time: the machine gave them none.
    slow_starts: u64,
}

impl Gateways {
    /// Writes all files, installs all programs, starts all.
    pub fn start(net: &Net) -> Result<Gateways, String> {
        let mut programs = BTreeMap::new();
        for name in names() {
            net.install(&name);
            net.write(&name);
            programs.insert(name.clone(), net.start(&name));
        }
        let mut gateways =
            Gateways { programs, known: BTreeMap::new(), slow_starts: BTreeMap::new(), started_again: 0 };
        gateways.settle(net)?;
        gateways.known = gateways.look(net);
        Ok(gateways)
    }

    fn look(&self, net: &Net) -> BTreeMap<String, Known> {
        let of = |name: String| {
            let (status, slow_starts) = (net.status(&name)?, net.slow_starts(&name));
            Some((name, Known { worker: status.pid, restarts: status.restarts, slow_starts }))
        };
        names().into_iter().filter_map(of).collect()
    }

    /// What was replaced without anybody's doing since the last look.
    pub fn unexplained(&self, net: &Net) -> Vec<String> {
        self.changes(net, None)
    }

    /// What is not as it should be after a blow; it is known from now on.
    pub fn judge(&mut self, net: &Net, blow: &Blow) -> Vec<String> {
        let wrong = self.changes(net, Some(blow));
        self.known = self.look(net);
        wrong
    }

    fn changes(&self, net: &Net, blow: Option<&Blow>) -> Vec<String> {
        let now = self.look(net);
        let wrong = |(name, before): (&String, &Known)| {
            let Some(after) = now.get(name) else { return Some(format!("{name} does not answer: {}", net.log(name))) };
            let allowed = blow.map_or(Effect::Same, |blow| blow.fault.effect_at(name, &blow.victim));
            let slow = after.slow_starts.saturating_sub(before.slow_starts);
            let is_allowed = match &allowed {
                Effect::Same => after == before,
                Effect::NewWorker(times) => times.contains(&after.restarts.saturating_sub(before.restarts + slow)),
                Effect::NewDaemon => after.worker != before.worker,
            };
            (!is_allowed).then(|| format!("{name}: {before:?} before, {after:?} after, not {allowed:?}"))
        };
        self.known.iter().filter_map(wrong).collect()
    }

    fn worker(&self, name: &str) -> u32 {
        self.known[name].worker
    }

    fn signal(&self, name: &str, signal: i32) {
        self.programs[name].signal(signal).expect("it lives");
    }

    fn kill(&mut self, name: &str) {
        let program = self.programs.get_mut(name).expect("a gateway");
        program.signal(SIGKILL).expect("it lives");
        program.wait().expect("a child");
    }

    fn restart(&mut self, net: &Net, name: &str) {
        self.programs.insert(name.to_owned(), net.start(name));
    }

    /// Starts again, as the package's unit does, what ended because its worker did not come up in time, and nothing else.
    fn revive(&mut self, net: &Net) {
        for name in names() {
            let program = self.programs.get_mut(&name).expect("a gateway");
            let ended = program.wait_at_most(StdDuration::ZERO).expect("a child");
            let slow_starts = net.slow_starts(&name);
            let was_slow = slow_starts > self.slow_starts.insert(name.clone(), slow_starts).unwrap_or(0);
            if was_slow && ended.is_some_and(|status| !status.success()) {
                self.restart(net, &name);
                self.started_again += 1;
            }
        }
    }

    /// Waits until all gateways are sound and have all their peers; how long that took.
    pub fn settle(&mut self, net: &Net) -> Result<Duration, String> {
        let begin = clock::now();
        loop {
            let is_missing = |name: &String| !net.status(name).is_some_and(|status| is_whole(&status));
            let missing: Vec<String> = names().into_iter().filter(is_missing).collect();
            if missing.is_empty() {
                return Ok(clock::now().saturating_since(begin));
            }
            if clock::now().saturating_since(begin) > PATIENCE {
                let logs: Vec<String> = missing.iter().map(|name| format!("{name}:\n{}", net.log(name))).collect();
                return Err(format!("not whole after {PATIENCE}: {}", logs.join("\n")));
            }
            self.revive(net);
            std::thread::sleep(StdDuration::from_millis(20));
        }
    }

    /// Ends one in good order.
    fn end(&mut self, name: &str) -> Result<(), String> {
        self.signal(name, SIGTERM);
        let program = self.programs.get_mut(name).expect("a gateway");
        match program.wait_at_most(StdDuration::from_secs(10)).expect("a child") {
            Some(status) if status.success() => Ok(()),
            other => Err(format!("{name} did not end in good order: {other:?}")),
        }
    }

    /// Ends all in good order.
    pub fn end_all(&mut self) -> Vec<String> {
        names().iter().filter_map(|name| self.end(name).err()).collect()
    }

    /// Does it.
    pub fn strike(&mut self, net: &Net, blow: &Blow) -> Result<(), String> {
        let victim = blow.victim.as_str();
        match blow.fault {
            WorkerKilled => signal(self.worker(victim), SIGKILL),
            WorkerStopped => signal(self.worker(victim), SIGSTOP),
            SupervisorKilled => self.kill(victim),
            BothStopped => {
                self.signal(victim, SIGSTOP);
                signal(self.worker(victim), SIGSTOP);
            }
            Leaves => self.end(victim)?,
            DiskFull => {
                net.fill_disk();
                self.kill(victim);
                self.restart(net, victim);
            }
            Moved => net.move_spoke(),
            Firewall => net.run(
                victim,
                "nft add table inet soak; nft add chain inet soak in '{ type filter hook input priority 0; }'; \
                 nft add rule inet soak in udp dport 4791 counter drop",
            ),
            LinkDown => net.run("hub", "ip link set dev air down"),
            LinkRemade => net.run("hub", "ip link del dev air"),
            Upgraded | UpgradeRefused | Reloaded | ReloadRefused | KeyChanged | PeerRemoved => {
                change_files(net, blow)?;
            }
        }
        Ok(())
    }

    /// Ends it, as far as it does not end by itself.
    pub fn recover(&mut self, net: &Net, blow: &Blow) -> Result<(), String> {
        let victim = blow.victim.as_str();
        match blow.fault {
            SupervisorKilled | Leaves => self.restart(net, victim),
            BothStopped => {
                signal(self.worker(victim), SIGCONT);
                self.signal(victim, SIGCONT);
            }
            ReloadRefused => {
                net.write(victim);
                net.ask("reload", victim)?;
            }
            PeerRemoved => {
                net.files().is_member = [true; SPOKES];
                net.write("hub");
                net.ask("reload", "hub")?;
            }
            Firewall => net.run(victim, "nft delete table inet soak"),
            LinkDown | LinkRemade => net.connect_hub(),
            DiskFull => net.free_disk(),
            WorkerKilled | WorkerStopped | Upgraded | UpgradeRefused | Reloaded | KeyChanged | Moved => {}
        }
        Ok(())
    }
}

/// Changes files or the program, and has gateways go on with them.
fn change_files(net: &Net, blow: &Blow) -> Result<(), String> {
    let victim = blow.victim.as_str();
    let reload = |name: &str| {
        net.write(name);
        net.ask("reload", name).map(drop)
    };
    match blow.fault {
        Upgraded => {
            net.install(victim);
            net.ask("upgrade", victim).map(drop)
        }
        UpgradeRefused => refuse_upgrade(net, victim),
        Reloaded => {
            net.change_queue();
            reload(victim)
        }
        ReloadRefused => {
            net.write_text(victim, "no gateway file");
            net.ask("reload", victim).err().map(drop).ok_or_else(|| "a file that is none was applied".to_owned())
        }
        KeyChanged => {
            net.change_key(victim.trim_start_matches("spoke").parse().expect("a spoke"));
            reload("hub").and_then(|()| reload(victim))
        }
        PeerRemoved => {
            net.files().is_member[SPOKES - 1] = false;
            reload("hub")
        }
        _ => Ok(()),
    }
}

/// Asks for an upgrade to a program that cannot take over, and puts the former one back.
fn refuse_upgrade(net: &Net, name: &str) -> Result<(), String> {
    let program = net.program(name);
    let [new, kept] = ["new", "kept"].map(|end| program.with_extension(end));
    std::fs::write(&new, "#!/bin/sh\necho too old; exit 3\n").expect("a file");
    std::fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    std::fs::rename(&program, &kept).expect("the same directory");
    std::fs::rename(&new, &program).expect("the same directory");
    let told = ask_upgrade(&net.run_directory(), name).map_err(|error| error.to_string());
    std::fs::rename(kept, program).expect("the same directory");
    told?.err().map(drop).ok_or_else(|| "a program that is none was started".to_owned())
}

/// What may have become of a gateway.
#[derive(Clone, Debug)]
enum Effect {
    Same,
    /// So many times, from the same supervisor.
    NewWorker(RangeInclusive<u64>),
    NewDaemon,
}

impl Fault {
    fn effect_at(self, name: &str, victim: &str) -> Effect {
        if name != victim {
            return Effect::Same;
        }
        match self {
            WorkerKilled | WorkerStopped => Effect::NewWorker(1..=1),
            // The supervisor may go on first, and take its worker for one that hangs.
            BothStopped => Effect::NewWorker(0..=1),
            // One that finds the link half made gives up once more.
            LinkRemade => Effect::NewWorker(1..=3),
            PeerRemoved => Effect::NewWorker(2..=2),
            SupervisorKilled | Leaves | Upgraded | DiskFull => Effect::NewDaemon,
            UpgradeRefused | Reloaded | ReloadRefused | KeyChanged | Moved | Firewall | LinkDown => Effect::Same,
        }
    }
}

fn signal(pid: u32, signal: i32) {
    send_signal(pid, signal).expect("it lives");
}

/// Other programs may have the machine meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

fn is_whole(status: &Status) -> bool {
    let up = if status.peers.is_empty() {
        status.peer_state.as_ref().is_some_and(|state| state.up)
    } else {
        status.peers.len() == SPOKES
            && status.peers.iter().all(|peer| peer.peer_state.as_ref().is_some_and(|state| state.up))
    };
    status.conserved && status.broken.is_none() && status.diverting && up
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_every_fault_and_its_second_half_leaves_the_hubs_worker_alone() {
        for seed in 0..100 {
            let blows = plan(seed, 60);
            let at_hub = |blow: &&Blow| blow.victim == "hub" && AT_HUB.contains(&blow.fault);
            assert!(AT_HUB.iter().all(|fault| blows.iter().filter(at_hub).any(|blow| blow.fault == *fault)));
            assert!(ELSEWHERE.iter().all(|(fault, _)| blows.iter().any(|blow| blow.fault == *fault)));
            assert_eq!(blows[30..].iter().filter(at_hub).count(), 0);
            assert!(blows.iter().all(|blow| blow.victim != "spoke0"));
        }
    }
}
