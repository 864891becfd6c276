//! Several keys changed at once: a case of `vary.cases`, an experiment that is like another, a quick variant.
//!
//! The patch has the shape of the file. Tables are merged key by key; a table that names a `kind`, a range, a list or a
//! single value replaces what stands there.

use super::document::{Origin, Table, Value};

/// Puts everything in `patch` into `document`.
pub fn overlay(document: &mut Table, patch: &Table) {
    for entry in &patch.entries {
        match document.entries.iter_mut().find(|here| here.key == entry.key) {
            Some(here) => match (&mut here.node.value, &entry.node.value) {
                (Value::Table(here), Value::Table(below)) if !is_whole(below) => overlay(here, below),
                // The key stays where it was written first, so that axes keep their order.
                _ => here.node = entry.node.clone(),
            },
            None => document.entries.push(entry.clone()),
        }
    }
}

/// The path of everything that `patch` puts in, and where it says so.
pub fn paths(patch: &Table) -> Vec<(Vec<String>, Origin)> {
    let mut found = Vec::new();
    for entry in &patch.entries {
        match &entry.node.value {
            Value::Table(below) if !is_whole(below) => {
                let prefixed = |(path, origin): (Vec<String>, Origin)| {
                    (std::iter::once(entry.key.clone()).chain(path).collect(), origin)
                };
                found.extend(paths(below).into_iter().map(prefixed));
            }
            _ => found.push((vec![entry.key.clone()], entry.origin.clone())),
        }
    }
    found
}

fn is_whole(table: &Table) -> bool {
    table.entries.is_empty() || table.get("kind").is_some() || is_range(table)
}

/// True for `{ linear = …, steps = … }` and `{ log = …, steps = … }`.
pub fn is_range(table: &Table) -> bool {
    table.get("linear").is_some() || table.get("log").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{parse::parse, write};

    fn overlaid(document: &str, patch: &str) -> String {
        let mut document = parse("d", document).unwrap();
        overlay(&mut document, &parse("p", patch).unwrap());
        write::document(&document)
    }

    #[test]
    fn keys_beside_those_of_the_patch_stay() {
        assert_eq!(overlaid("a = { x = 1, y = 2 }", "a.y = 3\nb = 4"), "b = 4\n\n[a]\nx = 1\ny = 3\n");
    }

    #[test]
    fn a_table_with_a_kind_and_a_list_replace_what_is_there() {
        let document = "q = { kind = \"droptail\", limit = 5 }\nl = [1, 2]";
        assert_eq!(overlaid(document, "q = { kind = \"red\" }\nl = [3]"), "l = [3]\n\n[q]\nkind = \"red\"\n");
    }

    #[test]
    fn a_path_ends_where_something_is_replaced() {
        let patch = parse("p", "schemes.repair = { kind = \"x\", on = \"y\" }\nlinks.air.loss = \"1%\"").unwrap();
        let paths: Vec<String> = paths(&patch).into_iter().map(|(path, _)| path.join(".")).collect();
        assert_eq!(paths, ["schemes.repair", "links.air.loss"]);
    }
}
