//! Random traces: our sender over a path that loses, reorders, repeats and delays, in virtual time; what it received is
//! then given to the kernel's sender, which must send the same segments and have the same window and state.
//!
//! The scripts compare what somebody thought of. A trace compares what happens.

mod again;
mod host;
mod path;
mod record;
mod replay;
mod setting;
mod trace;

pub use again::retrace;
pub use host::Host;
pub use record::record;
pub use replay::replay;
pub use setting::Setting;
pub use trace::{Event, Trace, What};

use crate::kernel::Kernel;
use crate::script::Script;
use airtcp_core::Duration;
use airtcp_linux::sys::clock;
use anyhow::Context;
use std::sync::Mutex;

/// On a busy machine the kernel plays a trace too late now and then, which looks like a difference: it is played again, so
/// often in all.
const ATTEMPTS: usize = 4;

/// How a trace went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// What it is about.
    pub setting: String,
    /// How often it was played.
    pub attempts: usize,
    /// Where the kernel does something else, if it does.
    pub difference: Option<String>,
}

/// The trace of `seed`, given to the kernel until it agrees or has had its attempts.
///
/// # Errors
/// What the machine lacks.
pub fn compare(seed: u64) -> anyhow::Result<Outcome> {
    let setting = Setting::of(seed);
    let host = Host::linux(clock::tick());
    let trace = record(&setting, host);
    let (mut difference, mut attempts) = (None, 0);
    while attempts < ATTEMPTS {
        attempts += 1;
        let mut kernel = Kernel::new(&Script::default())?;
        // A paced controller leaves in bursts, which our TCP has, too.
        if setting.controller != "bbr" {
            kernel.send_one_by_one().context("the device cannot be told to take segments one by one")?;
        }
        let again = |trace: &Trace, times: &[Duration]| retrace(&setting, host, trace, times);
        difference = replay(&trace, &mut kernel, &again).err();
        if difference.is_none() {
            break;
        }
    }
    Ok(Outcome { seed, setting: setting.to_string(), attempts, difference })
}

/// The traces of `seeds`, `at_once` at a time: they wait more than they work. `see` is told of each as it ends.
///
/// # Errors
/// What the machine lacks.
pub fn compare_all(
    seeds: std::ops::Range<u64>,
    at_once: usize,
    see: impl Fn(&Outcome) + Sync,
) -> anyhow::Result<Vec<Outcome>> {
    let (left, outcomes) = (Mutex::new(seeds), Mutex::new(Vec::new()));
    let lock = || outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::thread::scope(|scope| {
        let work = || -> anyhow::Result<()> {
            while let Some(seed) = { left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next() } {
                let outcome = compare(seed)?;
                see(&outcome);
                lock().push(outcome);
            }
            Ok(())
        };
        let workers: Vec<_> = (0..at_once.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a player panicked"))?)
    })?;
    let mut outcomes = std::mem::take(&mut *lock());
    outcomes.sort_by_key(|outcome| outcome.seed);
    Ok(outcomes)
}
