//! The simulators that race.

use crate::network::{Dialect, Network};
use anyhow::{Context, bail, ensure};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A simulator of networks of one sort.
pub struct Rival<N> {
    dialect: Dialect,
    program: PathBuf,
    /// Before the network.
    first: Vec<String>,
    network: PhantomData<N>,
}

impl<N: Network> Rival<N> {
    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Whether it takes so long that it gets less to do.
    pub fn is_slow(&self) -> bool {
        self.dialect == Dialect::Ns3
    }

    /// The arguments for a network.
    pub fn arguments(&self, network: &N) -> Vec<String> {
        [self.first.clone(), network.arguments(self.dialect)].concat()
    }

    fn new(dialect: Dialect, program: PathBuf, first: Vec<String>) -> Self {
        Rival { dialect, program, first, network: PhantomData }
    }

    /// airtcp: this program.
    pub fn ours() -> anyhow::Result<Self> {
        Ok(Rival::new(Dialect::Ours, std::env::current_exe()?, vec!["simulate".into(), N::NAME.into()]))
    }

    /// ns-2.35 of Debian.
    pub fn ns2() -> anyhow::Result<Self> {
        let found = Command::new("sh").args(["-c", "command -v ns"]).output()?;
        let program = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        ensure!(!program.is_empty(), "ns-2 is missing; install it: scripts/setup bench");
        let script = root().join(format!("bench/ns2/{}.tcl", N::NAME)).display().to_string();
        Ok(Rival::new(Dialect::Ns2, program.into(), vec![script]))
    }

    /// ns-3 of Debian, with the network compiled against its libraries.
    pub fn ns3() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name(format!("airtcp-bench-ns3-{}", N::NAME));
        let headers = beginning("/usr/include", "ns3")?.context("ns-3 is missing; install it: scripts/setup bench")?;
        let version = headers.file_name().and_then(|name| name.to_str()).unwrap_or("ns3").to_owned();
        let source = root().join(format!("bench/ns3/{}.cc", N::NAME));
        let mut compile = Command::new("c++");
        compile.args(["-std=c++17", "-O2", "-o"]).arg(&program).arg(&source);
        // With its version in the path the headers are one level further down. Their own directory must not be
        // searched: it has a string.h.
        if !headers.join("core-module.h").exists() {
            compile.arg("-I").arg(&headers);
        }
        for module in N::MODULES {
            compile.arg(library(&version, module)?);
        }
        let output = compile.output().context("cannot run c++")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} does not compile: {message}", source.display());
        Ok(Rival::new(Dialect::Ns3, program, Vec::new()))
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
