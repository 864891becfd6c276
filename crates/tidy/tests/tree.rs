//! Runs every check over this repository.

use airtcp_tidy::tree::{self, TreeFile};
use airtcp_tidy::{
    Violation, circles, claims, commands, coverage, dependencies, layers, links, pages, test_files, text, thresholds,
};

fn is_rust(file: &TreeFile) -> bool {
    file.path.ends_with(".rs")
}

/// Files that people write: not lock files, not what a fuzzer wrote.
fn is_written(file: &TreeFile) -> bool {
    !file.path.ends_with(".lock") && !file.path.starts_with("fuzz/corpus/")
}

fn check(keep: impl Fn(&TreeFile) -> bool, rule: impl Fn(&str, &str) -> Vec<Violation>) {
    let files = tree::files(&tree::root());
    let kept = files.iter().filter(|file| keep(file));
    let found = kept.filter_map(|file| Some(rule(&file.path, file.text.as_deref()?))).flatten().collect();
    assert_none(found);
}

fn assert_none(found: Vec<Violation>) {
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn dependencies_point_one_way() {
    assert_none(dependencies::check(&dependencies::metadata(&tree::root())));
}

#[test]
fn no_paper_stands_on_a_baseline() {
    let is_paper = |file: &TreeFile| is_rust(file) && file.path.starts_with("crates/schemes/src/papers/");
    assert!(tree::files(&tree::root()).iter().any(is_paper), "the papers have moved: change this rule");
    check(is_paper, |path, text| {
        let names = text.lines().any(|line| line.contains("baselines::"));
        names
            .then(|| Violation::of(path, "a paper uses a baseline: move what both need beside the two folders"))
            .into_iter()
            .collect()
    });
}

#[test]
fn no_source_file_is_too_long() {
    check(is_rust, text::check_length);
}

#[test]
fn every_test_file_runs() {
    assert_none(test_files::check(&tree::files(&tree::root())));
}

#[test]
fn nothing_is_unfinished() {
    check(is_written, text::check_finished);
}

/// A script that was emptied by mistake runs, and does nothing.
#[test]
fn no_file_is_empty() {
    let has_content = |file: &TreeFile| is_written(file) && !file.path.ends_with("py.typed");
    check(has_content, |path, text| {
        text.is_empty().then(|| Violation::of(path, "the file is empty")).into_iter().collect()
    });
}

#[test]
fn nothing_names_a_path_of_one_machine() {
    check(is_written, text::check_portable);
}

#[test]
fn protocol_crates_are_no_std_and_safe() {
    check(is_rust, layers::check_attributes);
    for name in layers::PROTOCOL_CRATES {
        assert!(tree::root().join(format!("crates/{name}/src/lib.rs")).exists(), "crates/{name} is a protocol crate");
    }
}

#[test]
fn unsafe_code_is_in_one_crate() {
    check(is_rust, layers::check_unsafe);
}

#[test]
fn protocols_use_no_floating_point() {
    check(is_rust, layers::check_floats);
}

#[test]
fn documents_name_files_that_exist() {
    let root = tree::root();
    check(
        |file| file.path.ends_with(".md"),
        |path, text| links::check(path, text, |target| target.is_empty() || root.join(target).exists()),
    );
}

#[test]
fn documents_name_headings_that_exist() {
    assert_none(pages::check_anchors(&tree::files(&tree::root())));
}

#[test]
fn the_first_page_leads_to_every_page() {
    assert_none(pages::check_listed(&tree::files(&tree::root())));
}

#[test]
fn every_figure_of_the_first_page_has_its_source() {
    check(|file| file.path == "README.md", pages::check_sources);
}

#[test]
fn documents_show_commands_that_exist() {
    let files = tree::files(&tree::root());
    let texts = |prefix: &'static str| {
        files.iter().filter(move |file| file.path.starts_with(prefix)).filter_map(|file| file.text.as_deref())
    };
    let verbs = commands::verbs(texts("crates/cli/src/"));
    let targets: Vec<String> = texts("Makefile").flat_map(commands::targets).collect();
    assert!(verbs.len() > 1, "no verbs found in crates/cli/src");
    check(|file| file.path.ends_with(".md"), |path, text| commands::check(path, text, &verbs, &targets));
}

#[test]
fn no_tracked_file_is_large() {
    assert_none(tree::check_sizes(&tree::files(&tree::root())));
}

#[test]
fn every_item_of_the_specification_has_code_and_test_where_the_system_exists() {
    let files = tree::files(&tree::root());
    let list = files.iter().find(|file| file.path == coverage::ITEMS).and_then(|file| file.text.as_deref());
    let systems = coverage::systems(list.expect("the list of items")).expect("it reads");
    assert_none(coverage::check(&systems, &coverage::evidence(&files).expect("papers are TOML")));
}

#[test]
fn every_threshold_of_a_paper_says_where_it_comes_from() {
    assert_none(thresholds::check(&tree::files(&tree::root())));
}

#[test]
fn files_of_a_crate_import_each_other_one_way() {
    let files = tree::files(&tree::root());
    let circles = circles::find(&files);
    assert!(circles.len() <= 3, "{circles:?}");
    let architecture = files.iter().find(|file| file.path == "ARCHITECTURE.md").and_then(|file| file.text.as_deref());
    assert_none(circles::check(&circles, architecture.expect("it is there")));
}

#[test]
fn every_claim_of_acceptance_has_a_number_of_its_own() {
    assert_none(claims::check(&tree::files(&tree::root())));
}
