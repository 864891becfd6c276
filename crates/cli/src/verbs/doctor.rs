//! `airtcp doctor`: what this machine can do, why not, and the command that fixes it.

use crate::{Failure, gateway_file, output};
use airtcp_experiment::Catalogue;
use airtcp_linux::doctor;
use airtcp_linux::finding::{Finding, Level};
use airtcp_linux::gateway;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Gateway file; also check what it needs
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a command can do on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Gateways and forwarders.
    Router,
    /// Also live runs and congestion controllers.
    Everything,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>, scope: Scope) -> Result<(), Failure> {
    // Who has a gateway file asks for a router.
    let mut findings = match (scope, &arguments.file) {
        (Scope::Everything, None) => doctor::examine(),
        _ => doctor::examine_router(),
    };
    if let Some(file) = &arguments.file {
        let config = gateway_file::load(file, catalogue).map_err(Failure::input)?;
        let mut more = gateway::check(&config);
        more.extend(gateway::path_test::findings(&config));
        findings.extend(more.into_iter().filter(|finding| !findings.contains(finding)).collect::<Vec<_>>());
    }
    match show(&findings, arguments.json) {
        // Without a file nothing was asked for that could be refused: not every machine is to be a router.
        Err(Failure::Code(_)) if arguments.file.is_none() => Ok(()),
        result => result,
    }
}

/// Prints findings; fails if one of them is a refusal.
pub(super) fn show(findings: &[Finding], as_json: bool) -> Result<(), Failure> {
    if as_json {
        output::print(&format!(
            "{:#}",
            json!({"schema": "airtcp.findings/1", "findings": findings.iter().map(to_json).collect::<Vec<_>>()})
        ));
    } else {
        let style = output::style();
        for finding in findings {
            let (mark, what) = match finding.level {
                Level::Good => ("ok ", finding.what.clone()),
                Level::Warning => ("!  ", style.bold(&finding.what)),
                Level::Refusal => ("NO ", style.bold(&finding.what)),
            };
            output::print(&format!("{mark} {what}"));
            if !finding.fix.is_empty() {
                output::print(&format!("    {}", finding.fix));
            }
        }
    }
    let refused = findings.iter().any(|finding| finding.level == Level::Refusal);
    if refused { Err(Failure::Code(1)) } else { Ok(()) }
}

fn to_json(finding: &Finding) -> serde_json::Value {
    let level = match finding.level {
        Level::Good => "good",
        Level::Warning => "warning",
        Level::Refusal => "refusal",
    };
    json!({"level": level, "what": finding.what, "fix": finding.fix})
}
