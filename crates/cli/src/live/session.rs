//! A scenario's hosts, routers and links, up and running.

use super::forwarders::Forwarders;
use super::gateways::Gateways;
use super::{failed, not_run};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::ResolvedScenario;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::testbed::{LinkSpec, NodeSpec, Testbed, TestbedSpec};
use std::path::{Path, PathBuf};

/// A testbed and a directory for the files of its gateways; both go when it is dropped.
pub(crate) struct Session<'a> {
    testbed: Testbed,
    cell: &'a ResolvedScenario,
    directory: PathBuf,
}

impl<'a> Session<'a> {
    /// Builds the testbed of `cell`.
    pub(crate) fn up(cell: &'a ResolvedScenario, seed: u64) -> Result<Self, NotRun> {
        let testbed = Testbed::up(spec(cell, seed)).map_err(not_run)?;
        let directory = std::env::temp_dir().join(format!("{}-{}", testbed.prefix(), std::process::id()));
        std::fs::create_dir_all(&directory).map_err(failed)?;
        Ok(Session { testbed, cell, directory })
    }

    /// The testbed.
    pub(crate) fn testbed(&self) -> &Testbed {
        &self.testbed
    }

    /// Starts the gateways of every scheme.
    pub(crate) fn start_gateways(&self) -> Result<Gateways<'_>, NotRun> {
        Gateways::start(&self.testbed, self.cell, &self.directory)
    }

    /// Starts the forwarders of every flow that has some, and waits until they have found each other.
    pub(crate) fn start_forwarders(&self) -> Result<Forwarders, NotRun> {
        Forwarders::start(&self.testbed, self.cell, &self.directory)
    }

    /// Where gateway files, sockets and logs are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // What cannot be removed is a few small files in the system's temporary directory.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn spec(cell: &ResolvedScenario, seed: u64) -> TestbedSpec {
    let degree = |node: usize| cell.links.iter().filter(|link| link.between.contains(&node)).count();
    let node = |(index, name): (usize, &String)| NodeSpec {
        name: name.clone(),
        forwards: !cell.is_host(index) || degree(index) > 1,
    };
    let link = |link: &airtcp_experiment::scenario::LinkSpec| {
        let between = link.between.map(|node| cell.nodes[node].as_str());
        LinkSpec::new(&link.name, between, link.forward.clone(), link.reverse.clone())
    };
    TestbedSpec {
        nodes: cell.nodes.iter().enumerate().map(node).collect(),
        links: cell.links.iter().map(link).collect(),
        default_controller: "cubic".into(),
        emulator: EmulatorOptions { seed, ..EmulatorOptions::default() },
    }
}
