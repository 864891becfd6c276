//! `cargo run -p airtcp-tidy --bin production-lines [-- FOLDER]`: lines of production code by crate, of this tree or of
//! another one, such as a `git worktree` of an older commit.

use airtcp_tidy::{lines, tree};
use std::path::PathBuf;

fn main() {
    let root = std::env::args_os().nth(1).map_or_else(tree::root, PathBuf::from);
    let files = tree::files(&root);
    let counted = lines::production(&files);
    for (name, lines) in &counted {
        println!("{name:<12} {lines:>6}");
    }
    println!("{:<12} {:>6}", "all", counted.values().sum::<usize>());
}
