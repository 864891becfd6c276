//! How the JSON files of results are laid out: a field on each line, and of its list an item on each line.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How much of a file waits in memory to be written at once.
pub(crate) const BUFFER: usize = 1 << 16;

/// Writes a file to `path`, laid out as in [`to_text`].
///
/// # Errors
/// The file system's.
pub(super) fn write(path: &Path, file: &impl Serialize) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(BUFFER, File::create(path)?);
    file.serialize(&mut Serializer::with_formatter(&mut to, Lines::default()))?;
    to.write_all(b"\n")?;
    to.flush()
}

/// A file's text: one line per cell, so that a difference is a difference of lines.
///
/// # Panics
/// The file is no JSON object.
pub fn to_text(file: &impl Serialize) -> String {
    let mut text = Vec::new();
    let written = file.serialize(&mut Serializer::with_formatter(&mut text, Lines::default()));
    assert!(written.is_ok() && text.starts_with(b"{"), "a file is an object");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// The layout, by how deep a value is.
#[derive(Default)]
struct Lines {
    /// Objects and lists that are open.
    depth: usize,
    /// Whether the list of a field has items.
    has_items: bool,
}

/// Depth of the file's fields, and of the items of their lists.
const FIELDS: usize = 1;
const ITEMS: usize = 2;

impl Lines {
    fn open(&mut self, writer: &mut (impl ?Sized + Write), bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(bracket)
    }

    fn close(&mut self, writer: &mut (impl ?Sized + Write), bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (first, self.depth) {
            (true, _) => Ok(()),
            (false, FIELDS) => writer.write_all(b",\n "),
            (false, _) => writer.write_all(b","),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.depth == FIELDS { b": " } else { b":" })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.has_items &= self.depth != FIELDS;
        self.open(writer, b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        let is_item = self.depth == ITEMS;
        self.has_items |= is_item;
        match (first, is_item) {
            (true, true) => writer.write_all(b"\n  "),
            (false, true) => writer.write_all(b",\n  "),
            (true, false) => Ok(()),
            (false, false) => writer.write_all(b","),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_list_of_items = self.depth == ITEMS && self.has_items;
        self.close(writer, if is_list_of_items { b"\n ]" } else { b"]" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_and_items_have_a_line_each_and_what_is_in_them_has_none() {
        let inner = json!({"list": [1, [2, {"deep": [3]}]], "none": [], "object": {"key": null}});
        let file = json!({"schema": "x/1", "id": {"name": "n", "ends": [1.5, 2.0]}, "empty": [], "items": [inner, []], "last": [0]});
        let text = to_text(&file);
        let lines = [
            r#"{"schema": "x/1","#,
            r#" "id": {"name":"n","ends":[1.5,2.0]},"#,
            r#" "empty": [],"#,
            r#" "items": ["#,
            r#"  {"list":[1,[2,{"deep":[3]}]],"none":[],"object":{"key":null}},"#,
            "  []",
            " ],",
            r#" "last": ["#,
            "  0",
            " ]}",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), file);
    }
}
