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
    /// Part of the swarm that finds it.
    pub finder: Finder,
    /// Seeds, from 0 on, within which it must be found.
    pub budget: u64,
}

/// A part of the swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finder {
    /// Random operations on the element.
    Operations,
    /// Random networks.
    Networks,
}

/// Every planted bug; a bug that both parts find is there twice.
pub const CANARIES: &[Canary] = &[
    canary(
        "loses a byte in a million",
        || settings_for(byte_loser::make::<true>),
        || settings_for(byte_loser::make::<false>),
        Finder::Operations,
        50,
    ),
    canary(
        "loses a byte in a million",
        || settings_for(byte_loser::make::<true>),
        || settings_for(byte_loser::make::<false>),
        Finder::Networks,
        20,
    ),
    canary(
        "leaks a flow in a thousand",
        || settings_for(flow_leaker::make::<true>),
        || settings_for(flow_leaker::make::<false>),
        Finder::Operations,
        50,
    ),
    canary(
        "forgets the wrap",
        || settings_for(wrap_forgetter::make::<true>),
        || settings_for(wrap_forgetter::make::<false>),
        Finder::Networks,
        50,
    ),
    canary(
        "drops silently",
        || settings_for(silent_dropper::make::<true>),
        || settings_for(silent_dropper::make::<false>),
        Finder::Operations,
        20,
    ),
    canary(
        "drops silently",
        || settings_for(silent_dropper::make::<true>),
        || settings_for(silent_dropper::make::<false>),
        Finder::Networks,
        20,
    ),
];

const fn canary(about: &'static str, planted: Settings, honest: Settings, finder: Finder, budget: u64) -> Canary {
    Canary { planted: entry(about, planted), honest: entry(about, honest), finder, budget }
}

const fn entry(about: &'static str, settings: Settings) -> SchemeEntry {
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
    /// The first seed that finds the bug, and its message. If no seed within the budget finds it, the swarm has failed.
    pub fn find(&self) -> Option<(u64, String)> {
        (0..self.budget).find_map(|seed| Some((seed, self.check(seed, self.planted).err()?)))
    }

    /// What a seed says of the element with or without the bug.
    ///
    /// # Errors
    /// What was found.
    pub fn check(&self, seed: u64, entry: SchemeEntry) -> Result<(), String> {
        let tables = Tables { schemes: &[entry], ..Tables::built_in() };
        match self.finder {
            Finder::Operations => crate::check_elements(seed, &tables),
            Finder::Networks => crate::check_scenario(seed, &tables),
        }
    }
}

type Settings = fn() -> Box<dyn SchemeSettings>;

/// An element that passes every packet on through `work`, or ends it there.
struct Relay<F>(F);

impl<F: FnMut(&mut Context<'_>, Packet) -> Option<Packet>> Element for Relay<F> {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if let Some(packet) = (self.0)(cx, packet) {
            cx.send(port.opposite(), packet);
        }
    }
}

fn relay(work: impl FnMut(&mut Context<'_>, Packet) -> Option<Packet> + Send + 'static) -> Made {
    Ok(Box::new(Relay(work)))
}
