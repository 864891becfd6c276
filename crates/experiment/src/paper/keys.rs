//! The keys of a paper's file, for its readers and help, and what the readers have in common.

use crate::scenario::document::Entry;
use crate::scenario::{Keys, ScenarioError};

/// Keys of the top level: key, example, meaning.
pub const PAPER_KEYS: &[(&str, &str, &str)] = &[
    ("schema", "1", "version of the file format; required"),
    ("slug", "\"gsnoop\"", "name of the folder, and of the scheme; required"),
    ("title", "\"…\"", "as printed; required"),
    ("citation", "\"…\"", "authors, venue, year; required"),
    ("quick", "[quick]", "merged into every experiment by reproduce --quick"),
    ("seed_bases", "3", "how many sets of seeds a verdict is made from; 3 if left out"),
    ("experiments", "[experiments.e1]", "a scenario each; required"),
    ("variants", "[variants.window-20]", "other readings of what the paper leaves open, and what is ours"),
    ("mutations", "[mutations.no-repair]", "the mechanism switched off, for reproduce --mutations"),
    ("sweeps", "[sweeps.jitter]", "values of a setting that had to be chosen"),
    ("claims", "[[claims]]", "what the paper says; required"),
];

/// Keys of an experiment besides those of a scenario: key, example, meaning.
pub const EXPERIMENT_KEYS: &[(&str, &str, &str)] = &[
    ("like", "\"e1\"", "an experiment above to start from; what is written here is merged into it"),
    ("world", "\"live\"", "where it runs: simulator or live (needs root); the simulator if left out"),
    ("quick", "{ runs = 3 }", "merged into this experiment by reproduce --quick"),
];

/// Keys of a variant: key, example, meaning.
pub const VARIANT_KEYS: &[(&str, &str, &str)] = &[
    ("item", "\"GSN-U3\"", "the item left open that it settles otherwise; ours if left out"),
    ("about", "\"…\"", "one sentence; required"),
    SET,
    CASES,
    ONLY,
];

/// Keys of a mutation: key, example, meaning.
pub const MUTATION_KEYS: &[(&str, &str, &str)] =
    &[("about", "\"…\"", "what is switched off, one sentence; required"), SET, CASES, ONLY];

/// Keys of a sweep: key, example, meaning.
pub const SWEEP_KEYS: &[(&str, &str, &str)] = &[
    ("about", "\"…\"", "what is swept, one sentence; required"),
    ("path", "\"links.air.jitter\"", "the key that is set, or a list of keys; required without variants"),
    ("values", "[\"0ms\", \"1ms\"]", "what it is set to, one after the other; required without variants"),
    ("cases", "{ scheme = [\"G-Snoop\"] }", "set it in these steps of vary.cases; in the experiment if left out"),
    ("set", "{ runs = 5 }", "put into every step besides"),
    ONLY,
    ("variants", "[\"window-20\", \"window-64\"]", "sweep over these variants, in place of path and values"),
];

const SET: (&str, &str, &str) =
    ("set", "{ defaults.flows.max_cwnd = 20 }", "put into every experiment; required without cases");
const CASES: (&str, &str, &str) =
    ("cases", "{ scheme.\"G-Snoop\" = { schemes.repair.icn = false } }", "put into these steps of vary.cases");
const ONLY: (&str, &str, &str) = ("experiments", "[\"e1\"]", "the experiments that are meant; all if left out");

/// Keys of a claim: key, example, meaning.
pub const CLAIM_KEYS: &[(&str, &str, &str)] = &[
    ("id", "\"GSN-C1\"", "item of the specification; required"),
    ("kind", "\"trend\"", "exact, trend, analytic or design; required"),
    ("sentence", "\"…\"", "what the paper claims; required"),
    ("comparative", "true", "it must not hold without the scheme; required for exact and trend"),
    (
        "mutation",
        "\"no-repair\"",
        "the mutation under which it must not hold; a comparative claim has one, or says why not",
    ),
    ("mutation_explained", "\"…\"", "why it holds under its mutation, or has none"),
    ("leans_on", "[\"GSN-U1\"]", "items left open that the outcome may depend on"),
    ("with", "\"window-20\"", "the variant it is said to need: where it holds with this one only, that is its verdict"),
    ("sensitivity", "[\"window-20\"]", "variants it is judged under again, beside its verdict"),
    ("sweeps", "[\"jitter\"]", "sweeps it is judged under: in how many of the settings it holds"),
    ("not_quick", "\"…\"", "why few and short runs cannot judge it"),
    ("checks", "[{ kind = \"ratio\", … }]", "all of them have to hold; required unless not_checkable"),
    ("not_checkable", "{ item = \"GSN-U1\", reason = \"…\" }", "why it cannot be checked here"),
];

pub(super) fn names<'a>(list: &'a [(&str, &str, &str)]) -> Vec<&'a str> {
    list.iter().map(|(key, ..)| *key).collect()
}

pub(super) fn text(keys: &Keys<'_>, key: &str, list: &[(&str, &str, &str)]) -> Result<String, ScenarioError> {
    let example = list.iter().find(|(known, ..)| *known == key).map_or("\"…\"", |(_, example, _)| example);
    keys.scalar(keys.required(key, &format!("{key} = {example}"))?, "text")
}

/// `GSN-U3`: three capitals, a dash, the letter of its sort, a number.
pub(super) fn check_item(keys: &Keys<'_>, entry: &Entry, item: &str, sorts: &[char]) -> Result<(), ScenarioError> {
    let is_item = item.split_once('-').is_some_and(|(system, rest)| {
        let number = rest.strip_prefix(sorts);
        system.len() == 3
            && system.chars().all(|c| c.is_ascii_uppercase())
            && number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
    });
    if is_item {
        return Ok(());
    }
    let example = format!("GSN-{}1", sorts[0]);
    Err(keys.bad(entry, format!("'{item}' is no item of the specification; write for example {example}")))
}
