//! The page: what is written here, and the data that the scripts in it draw.
//!
//! A part of the report writes markup with [`Page::put`], always through [`escape`] for what comes from files, and
//! leaves places that are drawn in the browser with [`Page::draw`]. Parts stand one below the other in the order of
//! the calls in [`super::write`]. What is drawn is kept as it is and becomes text only on its way into the file, as it is most of
//! a report.

use crate::markup::escape;
use crate::results::lines;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{self, BufWriter, Write};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In this order: the first defines what the others use.
const SCRIPTS: [&str; 3] = [include_str!("draw.js"), include_str!("sweep.js"), include_str!("over_time.js")];

/// A page in the making.
#[derive(Default)]
pub struct Page<'a> {
    body: String,
    drawn: Vec<Box<dyn Drawn + 'a>>,
}

/// Where a page is written to: it consists of small pieces.
type Target<'a> = BufWriter<&'a mut dyn Write>;

/// Something that a script draws.
trait Drawn {
    /// Writes it as JSON.
    fn write(&self, to: &mut Target<'_>) -> io::Result<()>;
}

impl<T: Serialize> Drawn for T {
    fn write(&self, to: &mut Target<'_>) -> io::Result<()> {
        Ok(self.serialize(&mut Serializer::with_formatter(to, InScript))?)
    }
}

/// JSON in a script element: `<` is escaped so that no text in it can end the element.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for (place, part) in fragment.split('<').enumerate() {
            let before: &[u8] = if place == 0 { b"" } else { b"\\u003c" };
            writer.write_all(before)?;
            writer.write_all(part.as_bytes())?;
        }
        Ok(())
    }
}

impl<'a> Page<'a> {
    /// Adds markup.
    pub fn put(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Adds an element with text in it; `class` may be empty.
    pub fn text(&mut self, element: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.put(&format!("<{element}{class}>{}</{element}>", escape(text)));
    }

    /// Adds a place where the script for `class` draws `data`, which can be written as JSON.
    pub fn draw(&mut self, class: &str, data: impl Serialize + 'a) {
        self.put(&format!("<div class=\"{class}\" data-index=\"{}\"></div>", self.drawn.len()));
        self.drawn.push(Box::new(data));
    }

    /// Writes the file.
    ///
    /// # Errors
    /// That of `to`.
    pub fn finish(self, title: &str, to: &mut dyn Write) -> io::Result<()> {
        let mut to = Target::with_capacity(lines::BUFFER, to);
        let fill: [(&str, &Fill<'_>); 5] = [
            ("{{title}}", &|to| to.write_all(escape(title).as_bytes())),
            ("{{style}}", &|to| to.write_all(STYLE.as_bytes())),
            ("{{body}}", &|to| to.write_all(self.body.as_bytes())),
            ("{{data}}", &|to| write_list(&self.drawn, to)),
            ("{{script}}", &|to| SCRIPTS.iter().try_for_each(|script| to.write_all(script.as_bytes()))),
        ];
        let mut rest = PAGE;
        for (mark, write) in fill {
            let (before, after) = rest.split_once(mark).expect("the page has every mark, in this order");
            to.write_all(before.as_bytes())?;
            write(&mut to)?;
            rest = after;
        }
        to.write_all(rest.as_bytes())?;
        to.flush()
    }
}

/// Writes what stands in the place of a mark.
type Fill<'a> = dyn Fn(&mut Target<'_>) -> io::Result<()> + 'a;

fn write_list(items: &[Box<dyn Drawn + '_>], to: &mut Target<'_>) -> io::Result<()> {
    to.write_all(b"[")?;
    for (place, item) in items.iter().enumerate() {
        to.write_all(if place == 0 { b"" } else { b"," })?;
        item.write(to)?;
    }
    to.write_all(b"]")
}
