//! The simulators that race.

use crate::network::Network;
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A simulator that can run a [`Network`].
pub struct Rival {
    /// Name in the table.
    pub name: &'static str,
    program: PathBuf,
    /// Before the network.
    first: Vec<String>,
    is_ours: bool,
}

impl Rival {
    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments for a network.
    pub fn arguments(&self, network: &Network) -> Vec<String> {
        let Network { flows, mbit, delay_ms, queue, seconds, .. } = network;
        let (rate, delay) = match self.name {
            "ns-2" => (format!("{mbit}Mb"), format!("{delay_ms}ms")),
            "ns-3" => (format!("{mbit}Mbps"), format!("{delay_ms}ms")),
            _ => (mbit.to_string(), delay_ms.to_string()),
        };
        let mut all = self.first.clone();
        all.extend([flows.to_string(), rate, delay, queue.to_string(), seconds.to_string()]);
        if self.is_ours {
            all.extend(network.modern.then(|| "--modern".to_owned()));
            all.extend(network.checks.then(|| "--checks".to_owned()));
        }
        all
    }

    /// airtcp: this program.
    pub fn ours() -> anyhow::Result<Rival> {
        let program = std::env::current_exe()?;
        Ok(Rival { name: "airtcp", program, first: vec!["simulate".into()], is_ours: true })
    }

    /// ns-2.35 of Debian.
    pub fn ns2() -> anyhow::Result<Rival> {
        let found = Command::new("sh").args(["-c", "command -v ns"]).output()?;
        let program = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        ensure!(!program.is_empty(), "ns-2 is missing; install it: scripts/setup bench");
        let script = root().join("bench/ns2/dumbbell.tcl").display().to_string();
        Ok(Rival { name: "ns-2", program: program.into(), first: vec![script], is_ours: false })
    }

    /// ns-3 of Debian, with the network compiled against its libraries.
    pub fn ns3() -> anyhow::Result<Rival> {
        let program = std::env::current_exe()?.with_file_name("airtcp-bench-ns3");
        let headers = beginning("/usr/include", "ns3")?.context("ns-3 is missing; install it: scripts/setup bench")?;
        let version = headers.file_name().and_then(|name| name.to_str()).unwrap_or("ns3").to_owned();
        let mut compile = Command::new("c++");
        compile.args(["-std=c++17", "-O2", "-o"]).arg(&program).arg(root().join("bench/ns3/dumbbell.cc"));
        // With its version in the path the headers are one level further down. Their own directory must not be
        // searched: it has a string.h.
        if !headers.join("core-module.h").exists() {
            compile.arg("-I").arg(&headers);
        }
        for module in ["applications", "internet", "network", "point-to-point", "traffic-control", "core"] {
            compile.arg(library(&version, module)?);
        }
        let output = compile.output().context("cannot run c++")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "bench/ns3/dumbbell.cc does not compile: {message}");
        Ok(Rival { name: "ns-3", program, first: Vec::new(), is_ours: false })
    }
}

/// `-l` of a module: its pkg-config files are broken in Debian, so the library is looked for.
fn library(version: &str, module: &str) -> anyhow::Result<String> {
    let prefix = format!("lib{version}-{module}");
    for directory in ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"] {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let found = names.filter(|name| {
            let rest = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".so"));
            rest.is_some_and(|rest| rest.is_empty() || rest == "-default" || rest == "-release")
        });
        if let Some(name) = found.min() {
            return Ok(format!("{directory}/{name}"));
        }
    }
    bail!("there is no {prefix}*.so; install libns3-dev: scripts/setup bench")
}

/// The entry of `directory` whose name begins so, the last if there are several.
fn beginning(directory: &str, prefix: &str) -> anyhow::Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(directory)?.flatten().map(|entry| entry.path());
    let starts = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    Ok(entries.filter(starts).max())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
