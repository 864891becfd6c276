//! Controllers of ours that a live run's senders have: loaded for its time, or found loaded by `airtcp cc load`.

use super::failed;
use airtcp_experiment::{NotRun, ResolvedScenario};
use airtcp_linux::bpf::{self, BpfError, Program, Registration};

/// The controllers that one run loaded; they go when this is dropped, and when the process ends.
pub(super) struct Controllers(Vec<(&'static Program, Registration)>);

impl Controllers {
    /// Loads what the flows of `cell` need and the kernel does not have.
    pub(super) fn load(cell: &ResolvedScenario) -> Result<Controllers, NotRun> {
        let mut loaded = Controllers(Vec::new());
        let mut seen: Vec<(&str, &[(String, String)])> = Vec::new();
        for flow in &cell.flows {
            let Ok(program) = bpf::program(&flow.controller) else { continue };
            let settings = flow.config.controller.settings();
            match seen.iter().find(|(slug, _)| *slug == program.slug) {
                Some((_, first)) if *first == settings => continue,
                Some(_) => {
                    let sentence = format!("the kernel has one '{}'; its flows need the same options", program.slug);
                    return Err(NotRun::Skipped(sentence));
                }
                None => seen.push((program.slug, settings)),
            }
            match Registration::new(program, program.slug, settings) {
                Ok(registration) => loaded.0.push((program, registration)),
                Err(BpfError::Taken(_)) if settings.is_empty() => {}
                Err(BpfError::Taken(_)) => {
                    let slug = program.slug;
                    let sentence = format!(
                        "'{slug}' is loaded already, with options of its own; `airtcp cc unload {slug}` takes it away"
                    );
                    return Err(NotRun::Skipped(sentence));
                }
                Err(error) => return Err(NotRun::Skipped(error.to_string())),
            }
        }
        Ok(loaded)
    }

    /// What `slug` counted, of all flows that have it; empty where it was loaded by somebody else.
    pub(super) fn counters(&self, slug: &str) -> Result<Vec<(String, u64)>, NotRun> {
        let Some((program, registration)) = self.0.iter().find(|(program, _)| program.slug == slug) else {
            return Ok(Vec::new());
        };
        let counts = registration.counters().map_err(failed)?;
        Ok(program.counter_names().into_iter().map(str::to_owned).zip(counts).collect())
    }
}
