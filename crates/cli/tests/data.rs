//! Each block of docs/data.md opens the results of `airtcp run sweep` as it is written, in pandas, R and DuckDB.

use airtcp_test_support::{Scratch, python, skip};
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/data.md");
/// What the page calls the directory.
const NAME: &str = "results/sweep-1a2b3c4d";

/// A directory with the results of a short sweep under the page's name.
struct Sweep(Scratch);

impl Sweep {
    fn run(name: &str) -> Sweep {
        let root = Scratch::new(&format!("data-{name}"));
        let sets = ["duration=2s", "warmup=1s", "runs=1", "flows.bulk.controller=cubic"];
        let output = Command::new(env!("CARGO_BIN_EXE_airtcp"))
            .args(["run", "sweep"])
            .args(sets.iter().flat_map(|set| ["--set", set]))
            .current_dir(root.path())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let results = root.path().join("results");
        let made = std::fs::read_dir(&results).unwrap().next().unwrap().unwrap().path();
        std::fs::rename(made, root.path().join(NAME)).unwrap();
        Sweep(root)
    }
}

/// The blocks of the page in a language.
fn blocks(language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let parts = PAGE.split(&begin).skip(1);
    parts.map(|part| part.split("```").next().expect("there is always a first part").to_owned()).collect()
}

fn can(program: &Path, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// What `program` prints when it runs `code` where the results are.
fn printed(sweep: &Sweep, program: &Path, option: &str, code: &str) -> String {
    let output = Command::new(program).args([option, code]).current_dir(sweep.0.path()).output().expect("it starts");
    assert!(output.status.success(), "{code}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Losses are numbers, in their order: 10 % comes behind 3.162 %.
fn assert_losses_in_order(text: &str) {
    let places: Vec<_> = ["0.001", "0.00316", "0.01", "0.0316", "0.1"]
        .iter()
        .map(|loss| {
            let is_it = |word: &str| word.starts_with(loss) && word[loss.len()..].chars().all(|c| "02".contains(c));
            text.split(|c: char| !c.is_ascii_digit() && c != '.').position(is_it)
        })
        .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
}

#[test]
fn pandas_opens_results_as_the_page_says() {
    let python = python();
    if !can(&python, &["-c", "import pandas, pyarrow"]) {
        return skip("no Python with pandas; scripts/setup python makes one");
    }
    let sweep = Sweep::run("pandas");
    let blocks = blocks("python");
    assert_eq!(blocks.len(), 2);
    let first = printed(&sweep, &python, "-c", &blocks[0]);
    assert_losses_in_order(&first);
    assert!(first.contains("gsnoop (paper)"), "{first}");
    let second = printed(&sweep, &python, "-c", &blocks[1]);
    assert!(second.contains("cwnd_bytes") && second.contains("[") && second.contains(" rows x 3 columns]"), "{second}");
}

#[test]
fn duckdb_opens_results_as_the_page_says() {
    let python = python();
    let with_python = can(&python, &["-c", "import duckdb"]);
    if !with_python && !can(Path::new("duckdb"), &["-version"]) {
        return skip("no DuckDB; scripts/setup python makes one");
    }
    let sweep = Sweep::run("duckdb");
    let [query] = &blocks("sql")[..] else { panic!("one block of SQL") };
    let text = if with_python {
        printed(&sweep, &python, "-c", &format!("import duckdb\nduckdb.sql('''{query}''').show(max_rows=100)"))
    } else {
        printed(&sweep, Path::new("duckdb"), "-c", query)
    };
    assert_losses_in_order(&text);
}

#[test]
fn r_opens_results_as_the_page_says() {
    let r = Path::new("Rscript");
    if !can(r, &["-e", "library(nanoparquet)"]) {
        return skip("no R with the package nanoparquet");
    }
    let sweep = Sweep::run("r");
    let [code] = &blocks("r")[..] else { panic!("one block of R") };
    assert_losses_in_order(&printed(&sweep, r, "-e", code));
}
