//! Controllers of ours that a live run's senders have: loaded for its time, or found loaded by `airtcp cc load`.

use super::failed;
use airtcp_experiment::{NotRun, ResolvedScenario};
use airtcp_linux::bpf::{self, BpfError, Options, Program, Registration, pinned};
use airtcp_schemes::socket::quic;

/// The controllers that one run loaded; they go when this is dropped, and when the process ends.
pub(super) struct Controllers(Vec<(&'static Program, Registration)>);

impl Controllers {
    /// Loads what the flows of `cell` need and the kernel does not have.
    pub(super) fn load(cell: &ResolvedScenario) -> Result<Controllers, NotRun> {
        let mut loaded = Controllers(Vec::new());
        let mut seen: Vec<(&str, Options)> = Vec::new();
        // QUIC brings its own.
        for flow in cell.flows.iter().filter(|flow| flow.socket.entry.slug != quic::ENTRY.slug) {
            let Ok(program) = bpf::program(&flow.controller) else {
                if flow.config.controller.given().is_empty() {
                    continue;
                }
                let sentence = format!("the kernel's '{}' takes no options; run it without --live", flow.controller);
                return Err(NotRun::Skipped(sentence));
            };
            let given = flow.config.controller.given().into_iter();
            let settings: Options = given.map(|field| (field.name.to_owned(), field.value)).collect();
            match seen.iter().find(|(slug, _)| *slug == program.slug) {
                Some((_, first)) if *first == settings => continue,
                Some(_) => {
                    let sentence =
                        format!("the kernel has one '{}'; all its flows need the same options", program.slug);
                    return Err(NotRun::Skipped(sentence));
                }
                None => seen.push((program.slug, settings.clone())),
            }
            match Registration::new(program, program.slug, &settings) {
                Ok(registration) => loaded.0.push((program, registration)),
                Err(taken @ BpfError::Taken(_)) => {
                    let listed = pinned::list().map_err(failed)?;
                    let found = listed.iter().find(|loaded| loaded.name == program.slug);
                    // A controller that `airtcp cc load` did not load belongs to the kernel or to another run.
                    let found = found.ok_or_else(|| NotRun::Skipped(taken.to_string()))?;
                    let wanted = program.options(&settings).map_err(failed)?;
                    same_options(program.slug, &found.options, &wanted).map_err(NotRun::Skipped)?;
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

/// Refuses what `airtcp cc load` loaded with other options than a flow wants.
fn same_options(slug: &str, loaded: &[(String, String)], wanted: &[(String, String)]) -> Result<(), String> {
    if loaded == wanted {
        return Ok(());
    }
    let others: Vec<String> = loaded
        .iter()
        .filter(|option| !wanted.contains(option))
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    Err(format!("'{slug}' is already loaded with {}; `airtcp cc unload {slug}` removes it", others.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_with_other_options_is_refused_and_the_options_are_named() {
        let program = bpf::program("newzag").unwrap();
        let options = |lda: &str| program.options(&[("lda".into(), lda.into())]).unwrap();
        assert_eq!(same_options("newzag", &options("adjusted"), &program.options(&[]).unwrap()), Ok(()));
        assert_eq!(
            same_options("newzag", &options("original"), &options("adjusted")).unwrap_err(),
            "'newzag' is already loaded with lda = original; `airtcp cc unload newzag` removes it"
        );
    }
}
