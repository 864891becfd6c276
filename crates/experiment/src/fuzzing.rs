//! Properties for the fuzzers: each takes arbitrary bytes and panics when a property fails.

use crate::Catalogue;
use crate::scenario::{Scenario, ScenarioError, Source};

/// Whatever a scenario in the fuzzer names as its base.
const BASE: &str = include_str!("../../../scenarios/demo.toml");

/// More combinations than this only cost time.
const MAX_CELLS: usize = 200;

/// The scenario parser: any text is a scenario or an error that stands somewhere in it, and a scenario written out
/// reads back as itself.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines = text.lines().count().max(BASE.lines().count()) as u32;
    match read(text) {
        Err(error) => {
            assert!(error.origin.line <= lines + 1, "{error} is beyond line {lines}");
        }
        Ok(scenario) => {
            let again = read(&scenario.resolved).unwrap_or_else(|error| panic!("{error}\nin\n{}", scenario.resolved));
            assert_eq!(again.resolved, scenario.resolved);
            assert_eq!(format!("{:?}", again.cells), format!("{:?}", scenario.cells), "{}", scenario.resolved);
            assert_eq!((again.name, again.runs, again.seed), (scenario.name, scenario.runs, scenario.seed));
        }
    }
}

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let source = Source { file: "fuzz.toml".into(), text: text.into() };
    let mut base = |name: &str| Ok(Source { file: name.into(), text: BASE.into() });
    Scenario::read_at_most(MAX_CELLS, &source, &[], &Catalogue::BUILT_IN, &mut base)
}
