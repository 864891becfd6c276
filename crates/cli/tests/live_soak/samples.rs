//! What is looked at every few seconds: each gateway's processes, what it has in the kernel, its tables, and the time of a ping
//! to a host behind it.

use crate::net::{METRICS, Net, SPOKES, names};
use crate::traffic::family;
use airtcp_core::{Duration, Instant};
use airtcp_linux::gateway::status::Status;
use airtcp_linux::sys::clock;
use airtcp_linux::traffic::{ProbeSpec, start_probe};
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;

/// Between two pings of a sample.
const PING_EVERY: Duration = Duration::from_millis(50);

/// A process, as /proc shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process {
    pub rss_kib: u64,
    pub peak_kib: u64,
    pub threads: u64,
    pub descriptors: u64,
}

/// A gateway at one time.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub name: String,
    pub worker_pid: u32,
    pub supervisor: Process,
    pub worker: Process,
    /// Devices, routing rules, filters at the link and lines of nftables in its namespace.
    pub kernel_objects: u64,
    pub flows: u64,
    pub memory_bytes: u64,
    pub restarts: u64,
}

/// All of them, and the ping to one of the hosts.
#[derive(Clone, Debug)]
pub struct Sample {
    pub at: Duration,
    pub gateways: Vec<Gateway>,
    pub host: usize,
    /// Median and 95th percentile in ms; `None` if none came back.
    pub ping_ms: Option<[f64; 2]>,
    pub pings_lost: u64,
    /// Bytes that the hub's metrics port answered.
    pub metrics_bytes: usize,
}

/// Pings the host whose turn it is for so long, then looks at everything.
pub fn take(net: &Net, number: usize, origin: Instant, every: Duration) -> Result<Sample, String> {
    let host = number % SPOKES;
    let at = clock::now().saturating_since(origin);
    let end = |node: &str| {
        let (namespace, address) = net.testbed.end(node, family(host)).expect("a node");
        (namespace.clone(), address)
    };
    let window = (at, at + every.saturating_sub(Duration::from_millis(500)));
    let to = end(&format!("host{host}"));
    let spec = ProbeSpec { name: "ping".into(), from: end("server"), to, every: PING_EVERY, size: 100, window };
    let probe = start_probe(spec, origin).and_then(|probe| probe.join()).map_err(|error| error.to_string())?;
    let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
    Ok(Sample {
        at,
        gateways: names().iter().filter_map(|name| look_at(net, name)).collect(),
        host,
        ping_ms: (probe.received > 0).then(|| [ms(probe.rtt.p50), ms(probe.rtt.p95)]),
        pings_lost: probe.sent - probe.received,
        metrics_bytes: metrics(net),
    })
}

/// `None` while it has no worker.
fn look_at(net: &Net, name: &str) -> Option<Gateway> {
    let status = net.status(name)?;
    let supervisor = field(&proc_status(status.pid)?, "PPid:")? as u32;
    let link = if name == "hub" { "air".to_owned() } else { name.replace("spoke", "air") };
    let objects = format!(
        "for way in ingress egress; do tc filter show dev {link} $way; done 2>&-; ip rule; ip -6 rule; ip -o link; nft list ruleset"
    );
    let (_, said) = net.try_run(name, &objects);
    Some(Gateway {
        name: name.to_owned(),
        worker_pid: status.pid,
        supervisor: process(supervisor)?,
        worker: process(status.pid)?,
        kernel_objects: said.lines().count() as u64,
        flows: gauge(&status, "flows"),
        memory_bytes: gauge(&status, "memory_bytes"),
        restarts: status.restarts,
    })
}

/// Of all peers.
fn gauge(status: &Status, name: &str) -> u64 {
    let of_peers = status.peers.iter().map(|peer| &peer.gauges);
    of_peers.chain([&status.gauges]).filter_map(|gauges| gauges.get(name)).sum()
}

fn proc_status(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn process(pid: u32) -> Option<Process> {
    let status = proc_status(pid)?;
    Some(Process {
        rss_kib: field(&status, "VmRSS:")?,
        peak_kib: field(&status, "VmHWM:")?,
        threads: field(&status, "Threads:")?,
        descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64,
    })
}

/// Asks the hub's metrics port once.
fn metrics(net: &Net) -> usize {
    let ask = || -> std::io::Result<usize> {
        let mut stream = TcpStream::connect(METRICS)?;
        stream.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n")?;
        stream.read_to_string(&mut String::new())
    };
    let namespace = net.testbed.namespace("hub").expect("a node");
    namespace.run(ask).and_then(|answer| answer).unwrap_or(0)
}

/// A line for each gateway of each sample.
pub fn csv(samples: &[Sample]) -> String {
    let mut text = "seconds,gateway,worker,supervisor_rss_kib,worker_rss_kib,worker_peak_kib,supervisor_descriptors,\
                    worker_descriptors,supervisor_threads,worker_threads,kernel_objects,flows,memory_bytes,restarts,\
                    pinged,ping_p50_ms,ping_p95_ms,pings_lost,metrics_bytes\n"
        .to_owned();
    for sample in samples {
        let [p50, p95] = sample.ping_ms.map_or([const { String::new() }; 2], |ms| ms.map(|ms| format!("{ms:.3}")));
        for g in &sample.gateways {
            let _ = writeln!(
                text,
                "{:.1},{},{},{},{},{},{},{},{},{},{},{},{},{},host{},{p50},{p95},{},{}",
                sample.at.as_nanos() as f64 / 1e9,
                g.name,
                g.worker_pid,
                g.supervisor.rss_kib,
                g.worker.rss_kib,
                g.worker.peak_kib,
                g.supervisor.descriptors,
                g.worker.descriptors,
                g.supervisor.threads,
                g.worker.threads,
                g.kernel_objects,
                g.flows,
                g.memory_bytes,
                g.restarts,
                sample.host,
                sample.pings_lost,
                sample.metrics_bytes,
            );
        }
    }
    text
}
