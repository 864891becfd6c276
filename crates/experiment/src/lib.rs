//! Experiments as data: a scenario file becomes cells, cells become runs in a [`World`], runs become results.
//!
//! [`scenario`] reads and multiplies out a file, [`world`] says what a run tells, [`simulator`] is the world of virtual
//! time, [`results`] runs everything and keeps it, [`metric`] says what is measured, [`table`], [`figure`] and [`html`] show it, [`capture`] keeps the
//! packets.
#![forbid(unsafe_code)]

pub mod capture;
pub mod catalogue;
pub mod figure;
pub mod formula;
#[doc(hidden)]
pub mod fuzzing;
pub mod html;
pub mod marked;
mod markup;
pub mod metric;
pub mod paper;
pub mod quantity;
pub mod results;
pub mod scenario;
pub mod simulator;
pub mod table;
pub mod world;

pub use catalogue::Catalogue;
pub use scenario::{Cell, ResolvedScenario, Scenario, ScenarioError};
pub use simulator::Simulator;
pub use world::{NotRun, RunOutcome, World};
