//! Twelve hours of a gateway's life in one: a hub and four spokes, run as the package runs them, under connections that come and
//! go, and a fault in each cycle. Afterwards memory, descriptors, what is in the kernel and latency must be what they were, no
//! long connection may have broken, and nothing may be left. `make soak` runs an hour of it; AIRTCP_SOAK_SECONDS, AIRTCP_SOAK_SCHEME
//! and AIRTCP_SOAK_SEED choose otherwise, and AIRTCPD another build of `airtcpd`.

mod faults;
mod lives;
mod net;
mod pauses;
mod report;
mod samples;
mod traffic;
mod trend;

use airtcp_core::{Duration, Instant};
use airtcp_linux::gateway::command::is_installed;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::check_available;
use airtcp_test_support::{is_long, skip, turn};
use faults::{Blow, Gateways, plan};
use net::{Net, SPOKES};
use pauses::Pauses;
use report::{Cycle, Outcome};
use samples::Sample;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use traffic::{Churn, judge_long_flow, long_flow};

/// What a run is like.
struct Form {
    seed: u64,
    scheme: String,
    cycle: Duration,
    cycles: usize,
    /// When a fault comes in its cycle, and when it ends.
    fault: [Duration; 2],
    sample_every: Duration,
}

impl Form {
    /// What the environment asks for; `None` if that is nothing.
    fn asked() -> Option<Form> {
        let variable = |name: &str| std::env::var(name).ok();
        let number =
            |name: &str| variable(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: a number")));
        let length = number("AIRTCP_SOAK_SECONDS").or(is_long().then_some(84))?;
        // In a short one, faults come every 14 s.
        let is_short = length < 600;
        let cycle: u64 = if is_short { 14 } else { 60 };
        let seconds = Duration::from_secs;
        Some(Form {
            seed: number("AIRTCP_SOAK_SEED").unwrap_or_else(|| clock::wall_clock_ns() / 1_000_000 % 1_000_000),
            scheme: variable("AIRTCP_SOAK_SCHEME").unwrap_or_else(|| "gsnoop".to_owned()),
            cycle: seconds(cycle),
            cycles: (length / cycle).max(2) as usize,
            fault: if is_short { [seconds(2), seconds(4)] } else { [seconds(10), seconds(14)] },
            sample_every: seconds(if is_short { 2 } else { 5 }),
        })
    }

    fn length(&self) -> Duration {
        self.cycle.saturating_mul(self.cycles as u64)
    }
}

fn sleep_until(at: Instant) {
    std::thread::sleep(std::time::Duration::from_nanos(at.saturating_since(clock::now()).as_nanos()));
}

/// What a cycle needs besides its number and its fault.
struct Stage<'a> {
    form: &'a Form,
    net: &'a Net,
    origin: Instant,
    pauses: &'a Pauses,
}

/// One cycle: its connections, its fault, and what is wrong afterwards.
fn run_cycle(stage: &Stage<'_>, gateways: &mut Gateways, number: usize, blow: &Blow) -> Cycle {
    let Stage { form, net, origin, pauses } = *stage;
    let begin = form.cycle.saturating_mul(number as u64);
    let mut wrong = gateways.unexplained(net);
    let churn = Churn::start(net, origin, form.seed + number as u64, [begin, begin + form.cycle]);
    sleep_until(origin + begin + form.fault[0]);
    wrong.extend(gateways.strike(net, blow).err());
    sleep_until(origin + begin + form.fault[1]);
    wrong.extend(gateways.recover(net, blow).err());
    let settled = gateways.settle(net);
    wrong.extend(settled.clone().err());
    wrong.extend(gateways.judge(net, blow));
    let churned = churn.join();
    wrong.extend(churned.clone().err());
    let (blow, settled, churned) = (blow.clone(), settled.ok(), churned.unwrap_or_default());
    let cycle = Cycle { number, blow, settled, churned, pause: pauses.take(), wrong };
    println!("{}", cycle.line());
    cycle
}

/// All cycles, beside connections that last and somebody who looks all the time.
fn run(form: &Form, net: &Net, gateways: &mut Gateways) -> Outcome {
    let origin = net.testbed.emulator().restart(form.seed, None, Duration::ZERO).expect("the emulator runs");
    let long: Vec<_> = (0..SPOKES).map(|n| long_flow(net, n, origin, form.length())).collect();
    let (is_over, pauses) = (AtomicBool::new(false), Pauses::default());
    let stage = Stage { form, net, origin, pauses: &pauses };
    let (cycles, samples) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut samples: Vec<Sample> = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                samples.push(samples::take(net, samples.len(), origin, form.sample_every).expect("pings can be sent"));
            }
            samples
        });
        scope.spawn(|| pauses.watch(&is_over));
        let blows = plan(form.seed, form.cycles);
        let numbered = blows.iter().enumerate();
        let cycles: Vec<Cycle> = numbered.map(|(number, blow)| run_cycle(&stage, gateways, number, blow)).collect();
        is_over.store(true, Ordering::Relaxed);
        (cycles, watcher.join().expect("it only looks"))
    });
    Outcome {
        length: form.length(),
        cycles,
        samples,
        long: long.into_iter().map(judge_long_flow).collect(),
        started_again: 0,
        leftovers: Vec::new(),
    }
}

/// What is left on the machine, and in the gateways' namespaces, once they have ended in good order.
fn leftovers(net: &Net, gateways: &mut Gateways, samples: &[Sample]) -> Vec<String> {
    let mut left = gateways.end_all();
    for name in net::names() {
        left.extend(net.traces_of(&name));
    }
    let pids = samples.last().into_iter().flat_map(|sample| sample.gateways.iter().map(|gateway| gateway.worker_pid));
    left.extend(
        pids.filter(|pid| PathBuf::from(format!("/proc/{pid}/exe")).exists()).map(|pid| format!("worker {pid}")),
    );
    left
}

#[test]
fn live_an_hour_of_churn_and_faults_leaves_a_gateway_as_it_was() {
    let Some(form) = Form::asked() else {
        return skip("only in the long form, make test-long, and in make soak");
    };
    let has_nft = || is_installed("nft").then_some(()).ok_or("the program 'nft' is missing".to_owned());
    let Some(_turn) = turn(check_available().map_err(|why| why.to_string()).and_then(|()| has_nft())) else { return };
    let program = std::env::var_os("AIRTCPD").unwrap_or(env!("CARGO_BIN_EXE_airtcpd").into());
    println!("{}, seed {}, {} cycles of {}", form.scheme, form.seed, form.cycles, form.cycle);
    let net = Net::up(&form.scheme, &PathBuf::from(program));
    let mut gateways = Gateways::start(&net).expect("all are whole");
    let mut outcome = run(&form, &net, &mut gateways);
    outcome.started_again = gateways.started_again;
    outcome.leftovers = leftovers(&net, &mut gateways, &outcome.samples);
    outcome.tell();
}
