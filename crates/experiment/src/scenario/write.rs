//! A document as TOML again: the resolved scenario that a result is reproduced from.
//!
//! The text is canonical: tables in the order of the file, one way to write each value, no comments. Its hash names
//! the results.

use super::document::{Entry, Node, Table, Value};
use std::fmt::Write;

/// The whole document.
pub fn document(table: &Table) -> String {
    let mut text = String::new();
    body(&mut text, table, &mut Vec::new());
    text
}

/// One value on one line: `{ kind = "droptail", limit = "75kB" }`.
pub fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => quote(text),
        // What `make fuzz-canary` has to find.
        Value::Number(text) if cfg!(airtcp_planted_bug) && text.len() > 6 => text[..6].to_owned(),
        Value::Number(text) => text.clone(),
        Value::Boolean(value) => value.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Table(table) if table.entries.is_empty() => "{}".into(),
        Value::Table(table) => {
            let pairs = table.entries.iter().map(|entry| format!("{} = {}", key(&entry.key), inline(&entry.node)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Levels at which a table gets a header of its own; deeper ones are written inline.
const HEADERS: usize = 2;

fn body(text: &mut String, table: &Table, path: &mut Vec<String>) {
    let (sections, values): (Vec<&Entry>, Vec<&Entry>) =
        table.entries.iter().partition(|entry| gets_header(entry, path.len()));
    for entry in values {
        writeln!(text, "{} = {}", key(&entry.key), inline(&entry.node)).expect("writing to a string");
    }
    for entry in sections {
        path.push(key(&entry.key));
        let name = path.join(".");
        match &entry.node.value {
            Value::Table(vary) if name == "vary" => {
                writeln!(text, "\n[vary]").expect("writing to a string");
                for (path, entry) in super::vary::leaves(vary) {
                    let path: Vec<String> = path.iter().map(|part| key(part)).collect();
                    writeln!(text, "{} = {}", path.join("."), inline(&entry.node)).expect("writing to a string");
                }
            }
            Value::Table(below) => {
                let only_tables = below.entries.iter().all(|entry| gets_header(entry, path.len()));
                if !only_tables {
                    writeln!(text, "\n[{name}]").expect("writing to a string");
                }
                body(text, below, path);
            }
            Value::List(items) => {
                for item in items {
                    writeln!(text, "\n[[{name}]]").expect("writing to a string");
                    if let Value::Table(below) = &item.value {
                        for entry in &below.entries {
                            writeln!(text, "{} = {}", key(&entry.key), inline(&entry.node))
                                .expect("writing to a string");
                        }
                    }
                }
            }
            _ => {}
        }
        path.pop();
    }
}

fn gets_header(entry: &Entry, depth: usize) -> bool {
    match &entry.node.value {
        Value::Table(table) => depth < HEADERS && !table.entries.is_empty(),
        Value::List(items) => {
            depth == 0 && !items.is_empty() && items.iter().all(|item| matches!(item.value, Value::Table(_)))
        }
        _ => false,
    }
}

fn key(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare { key.to_owned() } else { quote(key) }
}

fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => write!(quoted, "\\u{:04X}", u32::from(c)).expect("writing to a string"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// 32-bit FNV-1a, as eight hexadecimal digits.
pub fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse::parse;

    #[test]
    fn a_written_document_reads_back_to_the_same_text() {
        let text = "schema = 1\n\"odd key\" = \"a\\\"b\\\\\\u0007\"\n\n[nodes]\na = {}\n\n[links.air]\nbetween = [\"a\", \"b\"]\nqueue = { kind = \"droptail\" }\n\n[links.air.reverse]\nloss = \"1%\"\n\n[vary]\nlinks.air.loss = [\"0%\", { kind = \"x\" }]\nflows.b.c = [1]\nlinks.a.x = { log = [1, 2], steps = 2 }\n\n[[tables]]\nrows = []\n";
        let once = document(&parse("t", text).unwrap());
        assert_eq!(document(&parse("t", &once).unwrap()), once);
        assert!(once.contains("[links.air]\nbetween = [\"a\", \"b\"]"), "{once}");
        assert!(once.contains("flows.b.c = [1]\nlinks.a.x = {"), "{once}");
        assert!(once.contains("[[tables]]\nrows = []"), "{once}");
    }

    #[test]
    fn the_hash_is_pinned() {
        assert_eq!((hash(""), hash("a")), ("811c9dc5".into(), "e40c292c".into()));
    }
}
