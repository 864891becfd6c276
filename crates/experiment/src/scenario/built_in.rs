//! Scenarios that ship with the program, and where a scenario is looked for.

use super::error::{Problem, ScenarioError};
use super::{Origin, Scenario, Source};
use crate::catalogue::Catalogue;
use airtcp_core::parameters::nearest;
use std::path::Path;

/// Scenarios that need no file: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("demo", include_str!("../../../../scenarios/demo.toml")),
    ("showcase", include_str!("../../../../scenarios/showcase.toml")),
    ("showcase-field", include_str!("../../../../scenarios/showcase-field.toml")),
    ("sweep", include_str!("../../../../scenarios/sweep.toml")),
    ("satellite", include_str!("../../../../scenarios/satellite.toml")),
    ("wifi-upload", include_str!("../../../../scenarios/wifi-upload.toml")),
    ("wifi-aggregated", include_str!("../../../../scenarios/wifi-aggregated.toml")),
    ("wifi-acks", include_str!("../../../../scenarios/wifi-acks.toml")),
    ("wifi-today", include_str!("../../../../scenarios/wifi-today.toml")),
    ("newzag", include_str!("../../../../scenarios/newzag.toml")),
    ("trunk", include_str!("../../../../scenarios/trunk.toml")),
    ("decoupling-socket", include_str!("../../../../scenarios/decoupling-socket.toml")),
    ("decoupling-live", include_str!("../../../../scenarios/decoupling-live.toml")),
    ("streaming", include_str!("../../../../scenarios/streaming.toml")),
    ("router-queue", include_str!("../../../../scenarios/router-queue.toml")),
    ("shared-hop", include_str!("../../../../scenarios/shared-hop.toml")),
    ("newzag-harm", include_str!("../../../../scenarios/newzag-harm.toml")),
    ("wrong-rate", include_str!("../../../../scenarios/wrong-rate.toml")),
    ("field", include_str!("../../../../scenarios/field.toml")),
    ("field-belief", include_str!("../../../../scenarios/field-belief.toml")),
    ("rfc9743", include_str!("../../../../scenarios/rfc9743.toml")),
    ("l4s", include_str!("../../../../scenarios/l4s.toml")),
    ("rivals", include_str!("../../../../scenarios/rivals.toml")),
    ("rivals-tuned", include_str!("../../../../scenarios/rivals-tuned.toml")),
    ("any-traffic", include_str!("../../../../scenarios/any-traffic.toml")),
    ("long-hop", include_str!("../../../../scenarios/long-hop.toml")),
    ("web", include_str!("../../../../scenarios/web.toml")),
    ("web-mixed", include_str!("../../../../scenarios/web-mixed.toml")),
    ("bundler", include_str!("../../../../scenarios/bundler.toml")),
    ("accept-50mbit", include_str!("../../../../scenarios/accept-50mbit.toml")),
];

impl Scenario {
    /// Reads the scenario of a file, or a built-in one by its name. A base that is no file beside a file is a built-in one,
    /// too: `base = "demo"` works from anywhere.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key; of a name that is neither, what it may have been meant for.
    pub fn named(file: &str, sets: &[String], catalogue: &Catalogue<'_>) -> Result<Scenario, ScenarioError> {
        let path = Path::new(file);
        if path.exists() && !path.is_dir() {
            let mut open = |name: &str| base_beside(path, name);
            return Scenario::read(&Source::read(path)?, sets, catalogue, &mut open);
        }
        match built_in(file) {
            // `demo.toml` is a file that is not there; `demo` is the scenario.
            Some(source) if source.file != file => {
                // A trace that `--set` names is a file here.
                let mut open = |name: &str| built_in(name).map_or_else(|| Source::read(Path::new(name)), Ok);
                Scenario::read(&source, sets, catalogue, &mut open)
            }
            _ => Err(nothing_called(file)),
        }
    }

    /// Reads `text`, of which errors say that it stands in `file`; its base and traces are beside that, or built in.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn of_text(
        file: &str,
        text: &str,
        sets: &[String],
        catalogue: &Catalogue<'_>,
    ) -> Result<Scenario, ScenarioError> {
        let source = Source { file: file.to_owned(), text: text.to_owned() };
        Scenario::read(&source, sets, catalogue, &mut |name| base_beside(Path::new(file), name))
    }
}

/// The file `name` beside `path`, or else the built-in scenario of this name.
fn base_beside(path: &Path, name: &str) -> Result<Source, ScenarioError> {
    let beside = path.with_file_name(name);
    built_in(name).filter(|_| !beside.exists()).map_or_else(|| Source::read(&beside), Ok)
}

/// `demo`, or `demo.toml`.
fn built_in(name: &str) -> Option<Source> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name.trim_end_matches(".toml"))?;
    Some(Source { file: format!("{name}.toml"), text: (*text).to_owned() })
}

fn nothing_called(file: &str) -> ScenarioError {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let reason = match Source::read(Path::new(file)).err().map(|error| *error.problem) {
        Some(Problem::Unreadable(reason)) => reason,
        _ => "it was not there a moment ago".to_owned(),
    };
    let hint = match nearest(file.trim_end_matches(".toml"), &names) {
        Some(near) => format!("did you mean '{near}'?"),
        None => "airtcp show lists the scenarios that need no file".to_owned(),
    };
    Problem::Unreadable(format!("{reason}; {hint}")).at(&Origin::of_file(file))
}
