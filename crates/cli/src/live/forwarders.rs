//! The forwarders of a live run: an `airtcp forward` process at both hosts of each flow with a reliable decoupling socket or a
//! stream over a circuit, configured by a file as an operator would write it. The flow's kernel TCP runs from its sender to the
//! one and from the other to its receiver, each on its host; the stream's datagrams enter by a Unix socket, so that a greedy
//! sender waits as that of the simulator does.

use super::{carriers, failed};
use crate::own_program::own_program;
use airtcp_core::parameters::{Field, Parameters};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::{FlowSpec, IpVersion, ResolvedScenario};
use airtcp_linux::forwarder;
use airtcp_linux::forwarder::stream::AROUND;
use airtcp_linux::gateway::status;
use airtcp_linux::sys::entropy;
use airtcp_linux::testbed::{Exec, Family, Program, Testbed};
use airtcp_linux::traffic::{self, Carrier, Stream};
use airtcp_schemes::papers::decoupling::datagrams::{STREAMING, SourceSettings};
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Ports of the first such flow: of datagrams, of the sender's forwarder, of the receiver. Those of the others follow.
const DATAGRAMS: u16 = 4792;
const TAKES: u16 = 5792;
const LEADS: u16 = 6792;
/// How long forwarders may take until each has heard of the other.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const POLL: std::time::Duration = std::time::Duration::from_millis(20);

/// Running forwarders. Dropping them ends them.
pub(crate) struct Forwarders {
    /// Position of the flow, and its two processes.
    pairs: Vec<(usize, [Program; 2])>,
    directory: PathBuf,
}

impl Forwarders {
    pub(super) fn start(testbed: &Testbed, cell: &ResolvedScenario, directory: &Path) -> Result<Self, NotRun> {
        let mut forwarders = Forwarders { pairs: Vec::new(), directory: directory.to_owned() };
        for (index, flow) in cell.flows.iter().enumerate().filter(|(_, flow)| carriers::is_forwarded(flow)) {
            let pair = pair(testbed, cell, directory, index, flow)?;
            forwarders.pairs.push((index, pair));
        }
        for (index, programs) in &mut forwarders.pairs {
            for (end, program) in programs.iter_mut().enumerate() {
                wait_until_up(directory, &name(*index, end), program)?;
            }
        }
        Ok(forwarders)
    }

    /// The flow at this position, over its forwarders if it has some.
    pub(super) fn lead(&self, index: usize, spec: traffic::FlowSpec) -> traffic::FlowSpec {
        if self.pairs.iter().all(|(pair, _)| *pair != index) {
            return spec;
        }
        let [_, takes, leads] = ports(index);
        if let Carrier::Datagrams(stream) = spec.carrier {
            // As long on the wire as the scenario says, with what the forwarders put around it.
            let packet = stream.packet.saturating_sub(AROUND as u32);
            let via = Some(inlet(&self.directory, index));
            let carrier = Carrier::Datagrams(Stream { packet, via, ..stream });
            return traffic::FlowSpec { port: leads, carrier, ..spec };
        }
        // The sender's own address is on its host only, and of the right family.
        traffic::FlowSpec { port: leads, via: Some(SocketAddr::new(spec.source, takes)), ..spec }
    }
}

fn ports(index: usize) -> [u16; 3] {
    [DATAGRAMS, TAKES, LEADS].map(|first| first + index as u16)
}

/// Where datagrams of the flow enter.
fn inlet(directory: &Path, index: usize) -> PathBuf {
    directory.join(format!("stream{index}"))
}

fn name(index: usize, end: usize) -> String {
    format!("forwarder{index}-{}", ["near", "far"][end])
}

/// Starts both ends of a flow.
fn pair(
    testbed: &Testbed,
    cell: &ResolvedScenario,
    directory: &Path,
    index: usize,
    flow: &FlowSpec,
) -> Result<[Program; 2], NotRun> {
    let family = if flow.ip == IpVersion::V4 { Family::V4 } else { Family::V6 };
    let nodes = [flow.from, flow.to].map(|node| cell.nodes[node].as_str());
    let address = |node: &str| -> Result<IpAddr, NotRun> {
        testbed.address(node, family).ok_or_else(|| NotRun::Failed(format!("the testbed has no node '{node}'")))
    };
    let addresses = [address(nodes[0])?, address(nodes[1])?];
    let key = directory.join(format!("forwarder{index}.key"));
    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&key).map_err(failed)?;
    let secret = entropy::bytes::<32>().map_err(failed)?.map(|byte| format!("{byte:02x}")).concat();
    file.write_all(secret.as_bytes()).map_err(failed)?;
    let start = |end: usize| {
        let text = file_of(index, end, &addresses, &key, directory, flow);
        let file = directory.join(format!("{}.toml", name(index, end)));
        std::fs::write(&file, text).map_err(failed)?;
        let log = directory.join(format!("{}.log", name(index, end)));
        let program = own_program().map_err(failed)?;
        testbed.start(nodes[end], &Exec::new(program).arg("forward").arg(&file).log(&log)).map_err(failed)
    };
    Ok([start(0)?, start(1)?])
}

/// The file of one end: the sender's takes connections, the receiver's leads them to it.
fn file_of(index: usize, end: usize, addresses: &[IpAddr; 2], key: &Path, directory: &Path, flow: &FlowSpec) -> String {
    let [datagrams, takes, leads] = ports(index);
    let at = |end: usize, port: u16| SocketAddr::new(addresses[end], port);
    let mut text = format!(
        "schema = 1\nname = \"{}\"\npeer = \"{}\"\nlisten = \"{}\"\nkey = \"{}\"\nrun_directory = \"{}\"\n",
        name(index, end),
        at(1 - end, datagrams),
        at(end, datagrams),
        key.display(),
        directory.display(),
    );
    let buffer = flow.config.receive_buffer.0.max(forwarder::config::LEAST_BUFFER.0);
    let mut put = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    put(format!("buffer = \"{buffer}B\"\nmtu = {}", flow.config.mtu));
    let leads = at(1, leads);
    let is_stream = flow.socket.entry.slug == STREAMING.slug;
    put(match (end, is_stream) {
        (0, false) => format!("[[forward]]\nlisten = \"{}\"\nto = \"{leads}\"", at(0, takes)),
        (0, true) => format!("[[stream]]\nlisten = \"{}\"\nto = \"{leads}\"", inlet(directory, index).display()),
        (_, false) => format!("allow = [\"{leads}\"]"),
        (_, true) => format!("allow_streams = [\"{leads}\"]"),
    });
    put(if is_stream { "[streaming]" } else { "[decoupling]" }.into());
    // Those are about who sends.
    let source = SourceSettings::default().fields();
    let is_source = |field: &Field| is_stream && source.iter().any(|own| own.name == field.name);
    for Field { name, value, .. } in flow.socket.settings.fields().into_iter().filter(|field| !is_source(field)) {
        // A value that is a table stands for itself.
        let is_bare = value.starts_with('{');
        put(if is_bare { format!("{name} = {value}") } else { format!("{name} = \"{value}\"") });
    }
    text
}

fn wait_until_up(directory: &Path, name: &str, program: &mut Program) -> Result<(), NotRun> {
    let mut waited = std::time::Duration::ZERO;
    loop {
        let answer = status::ask(directory, name, "status").ok();
        let told = answer.and_then(|answer| serde_json::from_str::<forwarder::Status>(&answer).ok());
        if told.is_some_and(|status| status.peer_state.up) {
            return Ok(());
        }
        let ended = program.status().map_err(failed)?.is_some();
        if ended || waited >= PATIENCE {
            let log = program.log().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
            let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            let what = if ended { "ended" } else { "is not up after 10 s" };
            return Err(NotRun::Failed(format!("forwarder {name} {what}: {last}")));
        }
        std::thread::sleep(POLL);
        waited += POLL;
    }
}
