//! A drill: something happens while a file crosses both gateways. The file must arrive unchanged, and never wait longer
//! than 5 s. Fault and recovery come at times drawn from a printed seed.

use super::{Path, SCHEMES, family_name, is_long, seconds, sleep_ms, sleep_until};
use airtcp_core::{Duration, Instant, Rng};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{FlowResult, Outcome, RunningFlow, hex};
use std::collections::BTreeMap;

/// More than two seconds at the link's rate: under way when the fault comes, and after the recovery.
const FILE_BYTES: u64 = 25_000_000;
const STALL_MAX: Duration = Duration::from_secs(5);
const DEADLINE: Duration = Duration::from_secs(90);
/// What happens on the air besides.
pub const LOSS: &[(&str, &str)] = &[("loss", "2%")];

/// What a seed decides.
#[derive(Clone, Copy, Debug)]
pub struct Drill {
    pub scheme: &'static str,
    pub kind: &'static str,
    pub seed: u64,
    family: Family,
    fault_at: Duration,
    recovery_at: Duration,
    /// 0 or 1, for kinds with one victim.
    pub victim: usize,
}

impl Drill {
    /// The drill of a seed with this scheme, whose fault lasts for `least` or more.
    pub fn draw(scheme: &'static str, kind: &'static str, seed: u64, least: Duration) -> Drill {
        let mut rng = Rng::derive(seed, kind);
        let ms = |rng: &mut Rng, from, to| Duration::from_millis(from + rng.below(to - from));
        let family = Family::BOTH[rng.below(2) as usize];
        let fault_at = ms(&mut rng, 100, 1_200);
        let recovery_at = fault_at + ms(&mut rng, least.as_millis(), 1_500);
        Drill { scheme, kind, seed, family, fault_at, recovery_at, victim: rng.below(2) as usize }
    }

    /// Those that the variable AIRTCP_DRILL names (`kind:seed:scheme`), or each of the kinds `short` times, in the long form
    /// 20 times, with the schemes in turn; all of a scheme in a row. A fault lasts for `least` or more.
    pub fn all(kinds: impl Iterator<Item = &'static str> + Clone, short: u64, least: Duration) -> Vec<Drill> {
        if let Ok(one) = std::env::var("AIRTCP_DRILL") {
            let [name, seed, scheme] = one.split(':').collect::<Vec<_>>()[..] else {
                panic!("AIRTCP_DRILL is 'kind:seed:scheme'")
            };
            let seed = seed.parse().expect("a seed is a number");
            let scheme = SCHEMES.into_iter().find(|known| *known == scheme).expect("one of the schemes");
            return kinds.filter(|kind| *kind == name).map(|kind| Drill::draw(scheme, kind, seed, least)).collect();
        }
        let first = clock::wall_clock_ns() / 1_000_000 % 1_000_000;
        let times = if is_long() { 20 } else { short };
        let mut drills = Vec::new();
        for time in 0..times {
            for (index, kind) in kinds.clone().enumerate() {
                let scheme = SCHEMES[(first as usize + time as usize + index) % SCHEMES.len()];
                drills.push(Drill::draw(scheme, kind, first + time, least));
            }
        }
        drills.sort_by_key(|drill| drill.scheme);
        drills
    }

    /// How long the fault lasts.
    pub fn trouble(&self) -> Duration {
        self.recovery_at.saturating_sub(self.fault_at)
    }

    /// Sends a file while `strike` and later `recover` happen; what was received, or what is wrong with it.
    pub fn run<T>(
        &self,
        path: &Path,
        scene: &mut T,
        strike: impl FnOnce(&mut T),
        recover: impl FnOnce(&mut T),
    ) -> Result<FlowResult, String> {
        let origin = path.restart(self.seed, None);
        let flow = path.start(path.file(self.family, FILE_BYTES, self.seed, DEADLINE), origin);
        let begin = first_byte(&flow);
        sleep_until(begin, self.fault_at);
        let received = flow.progress().received_bytes();
        strike(scene);
        sleep_until(begin, self.recovery_at);
        recover(scene);
        let result = flow.join().expect("sockets");
        println!(
            "{:<14} {:<18} seed {:<6} {} fault {:.3} s, recovery {:.3} s, done {:6.3} s, longest stall {:.3} s, sha256 {} {}",
            self.scheme,
            self.kind,
            self.seed,
            family_name(self.family),
            seconds(self.fault_at),
            seconds(self.recovery_at),
            seconds((origin + result.last_byte_at.unwrap_or(DEADLINE)).saturating_since(begin)),
            seconds(result.longest_stall),
            hex(&result.receiver_sha256),
            if result.stream_is_intact() { "equal" } else { "DIFFERENT" },
        );
        judge(&result, received)?;
        Ok(result)
    }

    /// The sentence about a drill that failed, with the line that repeats it.
    pub fn failed(&self, test: &str, why: &str) -> String {
        let Drill { scheme, kind, seed, .. } = self;
        format!(
            "{kind}:{seed}:{scheme}: {why}\nagain: AIRTCP_DRILL='{kind}:{seed}:{scheme}' cargo test -p airtcp-linux --test {test} -- --nocapture"
        )
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
        let place = result.first_wrong_byte;
        return Err(format!("sent {}, received {}: first wrong byte {place:?}", hashes[0], hashes[1]));
    }
    if result.longest_stall > STALL_MAX {
        return Err(format!("nothing arrived for {}", result.longest_stall));
    }
    Ok(())
}

/// The longest stall of each kind with each scheme.
#[derive(Default)]
pub struct Worst(BTreeMap<(&'static str, &'static str), Duration>);

impl Worst {
    pub fn add(&mut self, drill: &Drill, stall: Duration) {
        let worst = self.0.entry((drill.scheme, drill.kind)).or_default();
        *worst = stall.max(*worst);
    }

    pub fn print(&self) {
        for ((scheme, kind), stall) in &self.0 {
            println!("{scheme:<14} {kind:<18} longest stall {:.3} s", seconds(*stall));
        }
    }
}
