//! The pages of `airtcp show` about papers: what each contains, and how to write a file of your own.

use super::topic::{Key, Section, Topic, plain_keys};
use airtcp_experiment::formula::FORMULAS;
use airtcp_experiment::paper::{
    CHECK_KINDS, CLAIM_KEYS, EXPERIMENT_KEYS, MUTATION_KEYS, Mode, PAPER_KEYS, Paper, SWEEP_KEYS, VARIANT_KEYS,
    built_in,
};
use airtcp_experiment::{Catalogue, ScenarioError};

/// The papers there are; one that cannot be read says why.
pub(super) fn all(catalogue: &Catalogue<'_>) -> Vec<(&'static str, Result<Paper, ScenarioError>)> {
    read(catalogue, |_| true)
}

fn read(
    catalogue: &Catalogue<'_>,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<(&'static str, Result<Paper, ScenarioError>)> {
    let read = |paper: &built_in::BuiltIn| paper.file().and_then(|file| file.read(Mode::default(), &[], catalogue));
    built_in::PAPERS.iter().filter(|paper| is_wanted(paper.slug)).map(|paper| (paper.slug, read(paper))).collect()
}

/// What a paper has, in one line.
pub(super) fn summary(paper: &Result<Paper, ScenarioError>) -> String {
    let paper = match paper {
        Ok(paper) => paper,
        Err(error) => return error.to_string(),
    };
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let figures = paper.experiments.iter().map(|experiment| experiment.scenario.figures.len()).sum();
    format!(
        "{} ({}, {}, {}, {})",
        paper.title,
        count(paper.experiments.len(), "experiment"),
        count(figures, "figure"),
        count(paper.claims.len(), "claim"),
        count(paper.variants.len(), "variant"),
    )
}

/// Adds the pages about papers, that of a paper to that of the scheme of the same name, where there is one. Reading papers
/// takes its time, so where only the page `wanted` is, only what it tells of is read; the others stay empty.
pub(super) fn add_pages(topics: &mut Vec<Topic>, catalogue: &Catalogue<'_>, wanted: Option<&str>) {
    let papers = match wanted {
        None | Some("papers") => all(catalogue),
        Some(name) => read(catalogue, |slug| slug == name),
    };
    let page_of = |slug: &str| Topic {
        name: slug.to_owned(),
        about: "A paper.".to_owned(),
        example: example(slug),
        ..Topic::default()
    };
    for paper in built_in::PAPERS {
        if topics.iter().all(|topic| topic.name != paper.slug) {
            topics.push(page_of(paper.slug));
        }
    }
    for (slug, paper) in &papers {
        let page = topics.iter_mut().find(|topic| topic.name == *slug).expect("each paper has a page");
        page.notes.push(format!("Paper: {}. airtcp reproduce {slug} judges its claims.", summary(paper)));
        page.sections.extend(paper.as_ref().map(sections).unwrap_or_default());
    }
    let notes: Vec<String> = papers.iter().map(|(slug, paper)| format!("{slug}: {}", summary(paper))).collect();
    let about = "Papers that airtcp reproduce knows by name; a folder of your own works, too.".to_owned();
    let first = built_in::PAPERS.first().map_or("my-paper", |paper| paper.slug);
    topics.push(Topic { name: "papers".into(), about, notes, sections: Vec::new(), example: example(first) });
    topics.push(file());
}

fn example(slug: &str) -> String {
    format!("airtcp reproduce {slug} --quick\n")
}

fn sections(paper: &Paper) -> Vec<Section> {
    let plain = |name: &str, about: String| Key {
        name: name.into(),
        value: String::new(),
        kind: String::new(),
        about,
        source: String::new(),
    };
    let experiments = paper.experiments.iter().map(|experiment| {
        let scenario = &experiment.scenario;
        plain(&experiment.id, format!("{} ({} cells of {} runs)", scenario.about, scenario.cells.len(), scenario.runs))
    });
    let claims = paper.claims.iter().map(|claim| plain(&claim.id, claim.sentence.clone()));
    let variants =
        paper.variants.iter().map(|variant| plain(&variant.name, format!("{}: {}", variant.item, variant.about)));
    vec![
        Section { title: "experiments of the paper".into(), keys: experiments.collect() },
        Section { title: "claims of the paper".into(), keys: claims.collect() },
        Section { title: "variants: other readings of what the paper leaves open".into(), keys: variants.collect() },
    ]
}

/// How a `paper.toml` is written.
fn file() -> Topic {
    let section = |title: &str, keys: &[(&str, &str, &str)]| Section { title: title.into(), keys: plain_keys(keys) };
    let mut sections = vec![
        section("at the top level", PAPER_KEYS),
        section("in [experiments.<id>], besides the keys of a scenario (airtcp show scenario)", EXPERIMENT_KEYS),
        section("in [variants.<name>]", VARIANT_KEYS),
        section("in [mutations.<name>]", MUTATION_KEYS),
        section("in [sweeps.<name>]", SWEEP_KEYS),
        section("in [[claims]]", CLAIM_KEYS),
    ];
    for kind in CHECK_KINDS {
        sections.push(section(&format!("checks = [{{ kind = \"{}\", … }}]: {}", kind.name, kind.about), kind.keys));
    }
    for formula in FORMULAS {
        let inputs: Vec<(&str, &str, &str)> =
            formula.inputs.iter().map(|(name, example)| (*name, *example, "")).collect();
        sections.push(section(&format!("inputs of {}: {} [{}]", formula.name, formula.about, formula.source), &inputs));
    }
    Topic {
        name: "paper".into(),
        about: "The file of a paper: experiments, and claims with the checks that decide them.".into(),
        notes: vec!["A check holds only if the whole 95 % interval is on the right side of its threshold.".into()],
        sections,
        example: EXAMPLE.into(),
    }
}

const EXAMPLE: &str = include_str!("example-paper.toml");
