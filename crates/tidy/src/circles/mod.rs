//! Circles of files inside a crate: A names something of B, and B, perhaps by way of others, something of A.
//!
//! What a file names is followed to the file that defines it, through imports and re-exports. Only names that lead
//! sideways or up count: a module is made of its children, so what it says of them makes no circle. Nor does test code.

mod names;

use crate::Violation;
use crate::layers::crate_of;
use crate::rust::{code_only, is_test_file, without_tests};
use crate::tree::TreeFile;
use names::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The files of one circle: paths from the root of the repository, in order.
pub type Circle = Vec<String>;

/// A module: the names from the root of its crate to it.
type Module = Vec<String>;

/// The circles in the crates under `crates/`.
pub fn find(files: &[TreeFile]) -> Vec<Circle> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, Source>> = BTreeMap::new();
    let mut paths: BTreeMap<(&str, Module), &str> = BTreeMap::new();
    for file in files.iter().filter(|file| !is_test_file(&file.path)) {
        let (Some(name), Some(text)) = (crate_of(&file.path), file.text.as_deref()) else { continue };
        let Some(module) = module_of(&file.path) else { continue };
        let source = Source::read(&without_tests(&code_only(text)));
        crates.entry(name).or_default().insert(module.clone(), source);
        paths.insert((name, module), &file.path);
    }
    let circles = crates.iter().flat_map(|(name, sources)| {
        let named: BTreeMap<&Module, BTreeSet<Module>> =
            sources.keys().map(|module| (module, dependencies(sources, module))).collect();
        circles_of(&named).into_iter().map(|modules| (*name, modules)).collect::<Vec<_>>()
    });
    circles
        .map(|(name, modules)| modules.into_iter().map(|module| paths[&(name, module)].to_owned()).collect())
        .collect()
}

/// Compares the circles with those that `document` names, each by a list item that begins with its files in code
/// spans: a circle that is not named there, and one that is named and is no more, are violations.
pub fn check(circles: &[Circle], document: &str) -> Vec<Violation> {
    let named: Vec<Circle> = document.lines().filter_map(named_circle).collect();
    let unnamed = circles.iter().filter(|circle| !named.contains(circle)).map(|circle| {
        Violation::of(&circle[0], format!("a circle of files that ARCHITECTURE.md does not name: {}", circle.join(" ")))
    });
    let gone = named.iter().filter(|circle| !circles.contains(circle)).map(|circle| {
        Violation::of("ARCHITECTURE.md", format!("names a circle of files that is no more: {}", circle.join(" ")))
    });
    unnamed.chain(gone).collect()
}

/// The files of a line such as "- `crates/a/src/b.rs`, `crates/a/src/c.rs`: reason".
fn named_circle(line: &str) -> Option<Circle> {
    let (files, reason) = line.strip_prefix("- `")?.split_once("`: ")?;
    let mut files: Circle = files.split("`, `").map(str::to_owned).collect();
    files.sort();
    let is_circle = files.len() > 1 && files.iter().all(|file| file.starts_with("crates/") && file.ends_with(".rs"));
    (is_circle && !reason.is_empty()).then_some(files)
}

/// The module that `crates/<name>/src/<path>` is; none for a binary's own file in `src/bin`.
fn module_of(path: &str) -> Option<Module> {
    let inside = path.split_once("/src/")?.1.strip_suffix(".rs")?;
    if inside.starts_with("bin/") {
        return None;
    }
    let mut module: Module = inside.split('/').map(str::to_owned).collect();
    // A package with a library and a binary has two roots; what they name differs, so the binary keeps its own name.
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    Some(module)
}

/// The modules whose items `module` names, its own descendants left out.
fn dependencies(sources: &BTreeMap<Module, Source>, module: &Module) -> BTreeSet<Module> {
    let source = &sources[module];
    let imports = source.imports.iter().map(|import| &import.path);
    let targets = imports.chain(&source.paths).filter_map(|path| resolve(sources, module, path, 0));
    targets.filter(|other| !other.starts_with(module)).collect()
}

/// The module that defines what `path`, written in `module`, names; none where that is outside of the crate, or where
/// it is a module itself: to name a module is not yet to use what it holds.
fn resolve(sources: &BTreeMap<Module, Source>, module: &Module, path: &[String], depth: usize) -> Option<Module> {
    const MOST_RE_EXPORTS: usize = 8;
    let (mut at, mut rest) = start(sources, module, path)?;
    while let Some(name) = rest.first() {
        let child = [at.as_slice(), std::slice::from_ref(name)].concat();
        if sources.contains_key(&child) {
            at = child;
        } else if let Some(import) = sources.get(&at)?.imports.iter().find(|import| import.name == *name) {
            let further = [import.path.as_slice(), &rest[1..]].concat();
            return if depth < MOST_RE_EXPORTS { resolve(sources, &at, &further, depth + 1) } else { None };
        } else {
            return Some(at);
        }
        rest = &rest[1..];
    }
    None
}

/// The module at which a path begins, and the rest of the path.
fn start<'a>(
    sources: &BTreeMap<Module, Source>,
    module: &Module,
    path: &'a [String],
) -> Option<(Module, &'a [String])> {
    let first = path.first()?;
    let mut at = module.clone();
    let mut rest = path;
    match first.as_str() {
        "crate" => {
            at = Module::new();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                at.pop()?;
                rest = &rest[1..];
            }
        }
        _ => {
            let is_child = sources.contains_key(&[at.as_slice(), std::slice::from_ref(first)].concat());
            let is_imported = sources[&at].imports.iter().any(|import| import.name == *first);
            if !is_child && !is_imported {
                return None;
            }
        }
    }
    Some((at, rest))
}

/// Strongly connected sets of more than one module.
fn circles_of(named: &BTreeMap<&Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        named.keys().map(|module| (*module, reachable(named, module))).collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for (module, reached_from_it) in &reached {
        if circles.iter().flatten().any(|known| known == *module) {
            continue;
        }
        let back = reached_from_it.iter().filter(|other| reached[**other].contains(*module));
        let circle: Vec<Module> = back.map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

/// What can be reached from `module` in one step or more.
fn reachable<'a>(named: &'a BTreeMap<&Module, BTreeSet<Module>>, module: &'a Module) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut open = vec![module];
    while let Some(next) = open.pop() {
        for other in named.get(next).into_iter().flatten() {
            if found.insert(other) {
                open.push(other);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Circle> {
        let file = |(path, text): &(&str, &str)| TreeFile {
            path: format!("crates/x/src/{path}"),
            bytes: text.len() as u64,
            text: Some((*text).to_owned()),
        };
        let short = |path: String| path.strip_prefix("crates/x/src/").expect("of this crate").to_owned();
        let found = find(&files.iter().map(file).collect::<Vec<_>>());
        found.into_iter().map(|circle| circle.into_iter().map(short).collect()).collect()
    }

    #[test]
    fn finds_two_files_that_import_each_other() {
        let files =
            [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", "use super::a::A;")];
        assert_eq!(circles(&files), [["a.rs", "b.rs"]]);
    }

    #[test]
    fn finds_a_circle_over_several_files_and_through_paths_and_groups() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::{b::{self, B}, c::X as Y}; fn f() {}"),
            ("b.rs", "fn g() { crate::c::h() }"),
            ("c.rs", "use super::a; fn h() { a::f() }"),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_parent_and_its_children_are_in_no_circle() {
        let parent = "mod b; pub use b::B; pub struct A(b::C);";
        let files = [("lib.rs", "mod a;"), ("a/mod.rs", parent), ("a/b.rs", "use super::A;")];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn a_child_that_uses_a_neighbour_of_its_parent_is_in_a_circle_when_that_uses_the_child() {
        let files = [
            ("lib.rs", "mod a; mod c;"),
            ("a/mod.rs", "mod b; pub use b::B;"),
            ("a/b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::a::B; pub struct C;"),
        ];
        assert_eq!(circles(&files), [["a/b.rs", "c.rs"]]);
    }

    #[test]
    fn a_name_is_followed_to_the_file_that_defines_it() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "use crate::A;"),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs"]]);
    }

    #[test]
    fn names_from_outside_tests_and_comments_are_no_imports() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "// use crate::a::A;\nuse std::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn a_circle_must_be_named_and_a_named_one_must_exist() {
        let circle = vec!["crates/x/src/a.rs".to_owned(), "crates/x/src/b.rs".to_owned()];
        let named = "- `crates/x/src/b.rs`, `crates/x/src/a.rs`: they are one grammar.\n";
        assert_eq!(check(std::slice::from_ref(&circle), named), []);
        assert_eq!(check(std::slice::from_ref(&circle), "").len(), 1);
        assert_eq!(check(&[], named).len(), 1);
        assert_eq!(check(&[circle], "- `crates/x/src/a.rs`, `crates/x/src/b.rs`: \n").len(), 1);
    }
}
