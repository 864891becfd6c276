//! Fault drills: whatever is killed or stopped while a file crosses both gateways, the file
//! arrives unchanged and never waits longer than 5 s.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::traffic::FlowResult;
use live_support::drill::{Drill, LOSS, Worst};
use live_support::gateway::{Gateway, set_scheme, signal_worker};
use live_support::{Path, turn};

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

/// A fault lasts so long at least.
const LEAST: Duration = Duration::from_millis(50);

/// A drill's fault, and whom it strikes.
struct Blow {
    fault: Fault,
    victims: &'static [usize],
}

impl Blow {
    fn of(drill: &Drill) -> Blow {
        let (_, fault, victims) = *KINDS.iter().find(|(kind, ..)| *kind == drill.kind).expect("a kind of drill");
        Blow { fault, victims }
    }

    /// Runs a drill: what was received, or what is wrong with the outcome.
    fn run(&self, drill: &Drill, path: &Path, gateways: &mut [Gateway; 2]) -> Result<FlowResult, String> {
        for gateway in gateways.iter_mut() {
            gateway.wait_in_reach();
        }
        let workers = [0, 1].map(|index: usize| gateways[index].worker());
        let restarts = [0, 1].map(|index: usize| gateways[index].restarts());
        let strike = |gateways: &mut [Gateway; 2]| {
            self.victims.iter().for_each(|victim| self.strike(&gateways[*victim], workers[*victim]));
        };
        let recover = |gateways: &mut [Gateway; 2]| {
            self.victims.iter().for_each(|victim| self.recover(path, &mut gateways[*victim], workers[*victim]));
        };
        let result = drill.run(path, gateways, strike, recover)?;
        self.judge_effect(drill, &result)?;
        self.judge_restarts(gateways, restarts)?;
        Ok(result)
    }

    /// A stop that held nothing up has missed its gateway, or the gateway carries nothing.
    fn judge_effect(&self, drill: &Drill, result: &FlowResult) -> Result<(), String> {
        let stopped = match self.fault {
            Fault::Stop => drill.trouble(),
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
                let scheme = gateway.config.scheme.clone();
                *gateway = Gateway::spawn(path, node, |config| set_scheme(config, &scheme));
            }
            Fault::Stop => {
                signal_worker(worker, libc::SIGCONT);
                gateway.signal_supervisor(libc::SIGCONT);
            }
            Fault::KillWorker | Fault::StopWorker => {}
        }
    }
}

#[test]
fn live_transfers_survive_every_kill_and_stop_of_either_gateway_or_both() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(LOSS);
    let mut gateways = path.gateways();
    let (mut worst, mut failed) = (Worst::default(), Vec::new());
    for drill in Drill::all(KINDS.iter().map(|(kind, ..)| *kind), 2, LEAST) {
        if gateways[0].config.scheme != drill.scheme {
            drop(gateways);
            gateways = path.gateways_with(drill.scheme);
        }
        match Blow::of(&drill).run(&drill, &path, &mut gateways) {
            Ok(result) => worst.add(&drill, result.longest_stall),
            Err(why) => {
                let why = drill.failed("live_drills", &why);
                println!("FAILED: {why}");
                gateways.iter().for_each(|gateway| println!("{}: {}", gateway.config.name, gateway.log()));
                failed.push(why);
            }
        }
        for gateway in &mut gateways {
            gateway.assert_sound();
        }
    }
    worst.print();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
