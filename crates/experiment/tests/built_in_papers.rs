//! The papers of this repository read, in every mode and under every variant.

use airtcp_experiment::Catalogue;
use airtcp_experiment::paper::{Mode, PaperFile, Plan, Subject, built_in};
use std::path::{Path, PathBuf};

#[test]
fn every_paper_reads_in_every_mode_and_under_every_variant() {
    for paper in built_in::PAPERS {
        let file = paper.file().unwrap_or_else(|error| panic!("{error}"));
        for mode in 0..6 {
            let mode = Mode { quick: mode % 2 == 1, control: mode / 2 == 1, mutations: mode / 2 == 2 };
            let plan = Plan::new(&file, mode, &Catalogue::BUILT_IN);
            let plan = plan.unwrap_or_else(|error| panic!("{mode:?}: {error}"));
            assert_eq!(plan.paper.slug, paper.slug);
        }
    }
}

#[test]
fn every_file_of_acceptance_reads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../acceptance");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 3);
    for path in files {
        let file = PaperFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        for control in [false, true] {
            let plan = Plan::new(&file, Mode { control, ..Mode::default() }, &Catalogue::BUILT_IN);
            plan.unwrap_or_else(|error| panic!("control {control}: {error}"));
        }
    }
}

/// `reproduce` says of a test that is not there that its claim cannot be checked, which is no failure.
#[test]
fn every_test_that_a_claim_names_is_there() {
    for paper in built_in::PAPERS {
        let plan = Plan::new(&paper.file().unwrap(), Mode::default(), &Catalogue::BUILT_IN).unwrap();
        for (package, names) in plan.tests() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package.trim_start_matches("airtcp-"));
            let source = source_below(&folder);
            for name in names {
                let is_meant = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
                let is_there = source.split(&format!("fn {name}")).skip(1).any(is_meant);
                assert!(is_there, "{}: there is no test {name} in {package}", paper.slug);
            }
        }
    }
}

/// All Rust below a folder, one text.
fn source_below(folder: &Path) -> String {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => source_below(&path),
        Some(extension) if extension == "rs" => std::fs::read_to_string(&path).unwrap(),
        _ => String::new(),
    };
    paths.map(text).collect()
}

/// A median without its interval may decide about a few long live runs, and never about a paper.
#[test]
fn no_claim_of_a_paper_is_decided_by_a_median_alone() {
    for paper in built_in::PAPERS {
        assert!(paper.files.iter().all(|(_, text)| !text.contains("by_median")), "{}", paper.slug);
    }
}

#[test]
fn every_paper_is_named_like_its_folder_and_has_notes() {
    for paper in built_in::PAPERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers").join(paper.slug);
        assert_eq!(std::fs::read_to_string(folder.join("notes.md")).unwrap(), paper.notes);
        for (name, text) in paper.files {
            assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), *text);
        }
    }
}

/// A new paper is its folder and one line: this test says which line is missing.
#[test]
fn every_folder_of_papers_has_its_line_with_all_of_its_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let names = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(&root), built_in::PAPERS.iter().map(|paper| paper.slug.to_owned()).collect());
    for paper in built_in::PAPERS {
        let mut files = names(&root.join(paper.slug));
        files.retain(|file| file.ends_with(".toml"));
        assert_eq!(files, paper.files.iter().map(|(name, _)| (*name).to_owned()).collect(), "{}", paper.slug);
    }
}

#[test]
fn as_tcp_has_thirteen_claims_and_four_figures_one_of_them_three_times() {
    let file = built_in::find("as-tcp").unwrap().file().unwrap();
    let paper = file.read(Mode::default(), &[], &Catalogue::BUILT_IN).unwrap();
    let ids: Vec<String> = paper.claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(ids, (1..=13).map(|number| format!("AST-C{number}")).collect::<Vec<_>>());
    let figures = paper.experiments.iter().flat_map(|experiment| &experiment.scenario.figures);
    let names: Vec<&str> = figures.map(|figure| figure.name.as_str()).collect();
    let expected = [
        "fig3-throughput",
        "fig4-fairness",
        "fig5-errors",
        "fig6-transfer-time",
        "fig6-slowest",
        "fig6-without-handshake",
    ];
    assert_eq!(names, expected);
}

#[test]
fn decoupling_has_twenty_nine_claims_and_both_figures_with_their_bounds() {
    let file = built_in::find("decoupling").unwrap().file().unwrap();
    let paper = file.read(Mode::default(), &[], &Catalogue::BUILT_IN).unwrap();
    let ids: Vec<String> = paper.claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(ids, (1..=29).map(|number| format!("DEC-C{number}")).collect::<Vec<_>>());
    let figures = paper.experiments.iter().flat_map(|experiment| &experiment.scenario.figures);
    let of_the_paper: Vec<_> = figures.filter(|figure| figure.name.starts_with("fig")).collect();
    assert_eq!(of_the_paper.iter().map(|figure| figure.curves.len()).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn fast_tcp_has_twelve_claims_and_the_papers_four_figures() {
    let file = built_in::find("fast-tcp").unwrap().file().unwrap();
    let paper = file.read(Mode::default(), &[], &Catalogue::BUILT_IN).unwrap();
    let ids: Vec<String> = paper.claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(ids, (1..=12).map(|number| format!("FTC-C{number}")).collect::<Vec<_>>());
    let figures = paper.experiments.iter().flat_map(|experiment| &experiment.scenario.figures);
    let of_the_paper = figures.filter(|figure| figure.name.starts_with("fig") && figure.is_over_time());
    assert_eq!(of_the_paper.count(), 4);
}

#[test]
fn newzag_has_fifteen_claims_and_six_figures() {
    let file = built_in::find("newzag").unwrap().file().unwrap();
    let paper = file.read(Mode::default(), &[], &Catalogue::BUILT_IN).unwrap();
    let ids: Vec<String> = paper.claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(ids, (1..=15).map(|number| format!("NZG-C{number}")).collect::<Vec<_>>());
    let figures: usize = paper.experiments.iter().map(|experiment| experiment.scenario.figures.len()).sum();
    assert_eq!(figures, 6);
}

#[test]
fn gsnoop_has_ten_claims_four_figures_and_judges_every_trend_by_measurement() {
    let file = built_in::find("gsnoop").unwrap().file().unwrap();
    let paper = file.read(Mode::default(), &[], &Catalogue::BUILT_IN).unwrap();
    let ids: Vec<String> = paper.claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(ids, (1..=10).map(|number| format!("GSN-C{number}")).collect::<Vec<_>>());
    let figures: usize = paper.experiments.iter().map(|experiment| experiment.scenario.figures.len()).sum();
    assert_eq!(figures, 4);
    for claim in paper.claims.iter().filter(|claim| claim.comparative) {
        let Subject::Checks(checks) = &claim.subject else { panic!("{} has no checks", claim.id) };
        assert!(checks.iter().all(|check| !check.points.is_empty()), "{}", claim.id);
    }
}
