//! Bugs planted on purpose, each in an element of its own. They show that the checks would find a bug if there were one
//! (after TigerBeetle's canaries).
//!
//! Each element is a plausible small scheme that is right but for one line, and exists twice, with the bug and without.
//! The bug must be found within a stated number of seeds, and nothing may be found without it.

mod byte_loser;
mod flow_leaker;
mod silent_dropper;
mod wrap_forgetter;

use crate::Tables;
use airtcp_core::{Context, Element, Packet, Port};
use airtcp_schemes::{Made, Placement, Reports, SchemeEntry, SchemeSettings, settings_for};

/// A planted bug.
#[derive(Clone, Copy)]
pub struct Canary {
    /// The scheme with the bug.
    pub planted: SchemeEntry,
    /// The same without it.
    pub honest: SchemeEntry,
    /// Parts of the swarm that find it, each with the seeds, from 0 on, within which it must.
    pub budgets: &'static [(Finder, u64)],
}

/// A part of the swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finder {
    /// Random operations on the element.
    Operations,
    /// Random networks.
    Networks,
}

/// Every planted bug.
pub const CANARIES: &[Canary] = &[
    Canary {
        planted: entry("loses a byte in a million", || settings_for(byte_loser::make::<true>)),
        honest: entry("cuts segments anew", || settings_for(byte_loser::make::<false>)),
        budgets: &[(Finder::Operations, 50), (Finder::Networks, 20)],
    },
    Canary {
        planted: entry("leaks a flow in a thousand", || settings_for(flow_leaker::make::<true>)),
        honest: entry("counts packets of flows", || settings_for(flow_leaker::make::<false>)),
        budgets: &[(Finder::Operations, 50)],
    },
    Canary {
        planted: entry("forgets the wrap", || settings_for(wrap_forgetter::make::<true>)),
        honest: entry("filters stale segments", || settings_for(wrap_forgetter::make::<false>)),
        budgets: &[(Finder::Networks, 50)],
    },
    Canary {
        planted: entry("drops silently", || settings_for(silent_dropper::make::<true>)),
        honest: entry("passes packets on", || settings_for(silent_dropper::make::<false>)),
        budgets: &[(Finder::Operations, 20), (Finder::Networks, 20)],
    },
];

const fn entry(about: &'static str, settings: fn() -> Box<dyn SchemeSettings>) -> SchemeEntry {
    SchemeEntry {
        slug: "canary",
        about,
        source: "a bug planted on purpose",
        placement: Placement::NearEnd,
        keeps_end_to_end: true,
        reports: Reports::NONE,
        settings,
    }
}

impl Canary {
    /// The first seed with which `finder` finds the bug, and its message. If no seed of its budget does, the swarm has
    /// failed.
    ///
    /// # Errors
    /// The bug was not found, or something was found without it.
    pub fn find(&self, (finder, budget): (Finder, u64)) -> Result<(u64, String), String> {
        let found = (0..budget).find_map(|seed| Some((seed, check(finder, seed, self.planted).err()?)));
        let (seed, what) = found.ok_or_else(|| format!("not found with {budget} seeds"))?;
        match check(finder, seed, self.honest) {
            Ok(()) => Ok((seed, what)),
            Err(what) => Err(format!("seed {seed} fails without the bug too: {what}")),
        }
    }
}

/// What a seed says of an element.
fn check(finder: Finder, seed: u64, entry: SchemeEntry) -> Result<(), String> {
    let tables = Tables { schemes: &[entry], ..Tables::built_in() };
    match finder {
        Finder::Operations => crate::check_elements(seed, &tables),
        Finder::Networks => crate::check_scenario(seed, &tables),
    }
}

/// An element that passes every packet on through `work`, or ends it there.
struct Relay<F>(F);

impl<F: FnMut(&mut Context<'_>, Packet) -> Option<Packet> + 'static> Element for Relay<F> {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if let Some(packet) = (self.0)(cx, packet) {
            cx.send(port.opposite(), packet);
        }
    }
}

fn relay(work: impl FnMut(&mut Context<'_>, Packet) -> Option<Packet> + Send + 'static) -> Made {
    Ok(Box::new(Relay(work)))
}
