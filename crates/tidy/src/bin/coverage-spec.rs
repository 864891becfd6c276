//! `make coverage-spec`: every rule and claim of the specification without code or without test.

use airtcp_tidy::coverage::{self, Sort};
use airtcp_tidy::tree;
use std::process::ExitCode;

fn main() -> ExitCode {
    match report() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("coverage-spec: {sentence}");
            ExitCode::from(2)
        }
    }
}

/// Prints a line per system and per item that lacks something; false if a system that exists lacks any.
fn report() -> Result<bool, String> {
    let root = tree::root();
    let list =
        std::fs::read_to_string(root.join(coverage::ITEMS)).map_err(|error| format!("{}: {error}", coverage::ITEMS))?;
    let systems = coverage::systems(&list)?;
    let evidence = coverage::evidence(&tree::files(&root))?;
    for system in &systems {
        let count = |sort: Sort| {
            let items = || system.items.iter().filter(|item| item.sort == sort);
            let complete = items().filter(|item| coverage::missing(item, &evidence).is_none()).count();
            format!("{complete} of {}", items().count())
        };
        let state = if system.exists { "" } else { "  (not yet)" };
        println!("{:<12} {} rules, {} claims{state}", system.slug, count(Sort::Rule), count(Sort::Claim));
        for item in &system.items {
            // Of a system that nobody has begun every item is missing: that needs no list.
            let is_begun =
                system.exists || system.items.iter().any(|item| coverage::missing(item, &evidence).is_none());
            if let Some(what) = coverage::missing(item, &evidence).filter(|_| is_begun) {
                println!("  {:<10} {what:<20} {}", item.code, item.title);
            }
        }
    }
    Ok(coverage::check(&systems, &evidence).is_empty())
}
