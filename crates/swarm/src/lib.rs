//! Random operations and random networks: what the tables hold must survive them.
//!
//! One seed is one test. [`operations`] drives every scheme and every congestion controller by itself with anything a
//! world could do to it; [`scenario`] puts them into a random network, lets everything go wrong, heals the links and
//! demands progress; [`cell`] is a random 802.11 cell. A scheme, controller or socket that is new in its table is included without a change here. [`canary`] has
//! planted bugs that prove the checks would find real ones.
//!
//! Everything follows from the seed, so a failure is reproduced by the one line that is printed with it.
#![forbid(unsafe_code)]

pub mod canary;
pub mod cell;
pub mod draw;
pub mod operations;
mod panics;
pub mod parameters;
pub mod scenario;
pub mod seeds;
mod site;
pub mod trace;

pub use panics::quietly;

use airtcp_schemes::socket::SocketEntry;
use airtcp_schemes::{SCHEMES, SOCKETS, SchemeEntry};
use airtcp_tcp::congestion::{CONTROLLERS, ControllerEntry};

/// What is under test.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// Schemes.
    pub schemes: &'a [SchemeEntry],
    /// Congestion controllers; at least one.
    pub controllers: &'a [ControllerEntry],
    /// Sockets.
    pub sockets: &'a [SocketEntry],
}

impl Tables<'static> {
    /// The tables as everybody uses them.
    pub fn built_in() -> Tables<'static> {
        Tables { schemes: SCHEMES, controllers: CONTROLLERS, sockets: SOCKETS }
    }
}

/// One scenario in so many is run twice, to see that it is the same.
const TWICE_IN: u64 = 10;

/// Runs everything that belongs to a seed.
///
/// # Errors
/// A sentence: which part failed, and what was demanded of it.
pub fn check(seed: u64, tables: &Tables<'_>) -> Result<(), String> {
    check_elements(seed, tables)?;
    check_controllers(seed, tables)?;
    check_scenario(seed, tables)?;
    check_cell(seed, tables)
}

/// Runs the operations of a seed on every scheme.
///
/// # Errors
/// See [`check`].
pub fn check_elements(seed: u64, tables: &Tables<'_>) -> Result<(), String> {
    tables.schemes.iter().try_for_each(|entry| {
        let result = quietly(|| operations::element::drive_twice(seed, entry));
        result.map(drop).map_err(|what| format!("operations on {}: {what}", entry.slug))
    })
}

/// Runs the steps of a seed on every controller.
///
/// # Errors
/// See [`check`].
pub fn check_controllers(seed: u64, tables: &Tables<'_>) -> Result<(), String> {
    tables.controllers.iter().try_for_each(|entry| {
        let result = quietly(|| operations::controller::drive_twice(seed, entry));
        result.map(drop).map_err(|what| format!("hooks of {}: {what}", entry.slug))
    })
}

/// Runs the network of a seed.
///
/// # Errors
/// See [`check`].
pub fn check_scenario(seed: u64, tables: &Tables<'_>) -> Result<(), String> {
    let result = quietly(|| {
        let scenario = scenario::scenario(seed, tables);
        let is_run_twice = seed.is_multiple_of(TWICE_IN);
        if is_run_twice { scenario::judge::run_twice(&scenario) } else { scenario::judge::run(&scenario) }
    });
    result.map(drop).map_err(|what| format!("network: {what}"))
}

/// Runs the cell of a seed.
///
/// # Errors
/// See [`check`].
pub fn check_cell(seed: u64, tables: &Tables<'_>) -> Result<(), String> {
    let result = quietly(|| {
        let cell = cell::cell(seed, tables);
        if seed.is_multiple_of(TWICE_IN) { cell::judge::run_twice(&cell) } else { cell::judge::run(&cell) }
    });
    result.map(drop).map_err(|what| format!("cell: {what}"))
}
