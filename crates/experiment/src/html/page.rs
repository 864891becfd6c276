//! The page: what is written here, and the data that the scripts in it draw.
//!
//! A part of the report writes markup with [`Page::put`], always through [`escape`] for what comes from files, and
//! leaves places that are drawn in the browser with [`Page::draw`]. Parts stand one below the other in the order of
//! the calls in [`super::render`].

use crate::markup::escape;
use serde::Serialize;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In this order: the first defines what the others use.
const SCRIPTS: [&str; 3] = [include_str!("draw.js"), include_str!("sweep.js"), include_str!("over_time.js")];

/// A page in the making.
#[derive(Debug, Default)]
pub struct Page {
    body: String,
    /// JSON of what is drawn.
    data: Vec<String>,
}

impl Page {
    /// Adds markup.
    pub fn put(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Adds an element with text in it; `class` may be empty.
    pub fn text(&mut self, element: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.put(&format!("<{element}{class}>{}</{element}>", escape(text)));
    }

    /// Adds a place where the script for `class` draws `data`.
    ///
    /// # Panics
    /// `data` cannot be written as JSON.
    pub fn draw(&mut self, class: &str, data: &impl Serialize) {
        self.put(&format!("<div class=\"{class}\" data-index=\"{}\"></div>", self.data.len()));
        self.data.push(serde_json::to_string(data).expect("what is drawn has texts for keys"));
    }

    /// The file.
    pub fn finish(self, title: &str) -> String {
        // `<` is escaped so that no text in the data can end the script element.
        let data = format!("[{}]", self.data.join(",")).replace('<', "\\u003c");
        let fill = [
            ("{{title}}", escape(title)),
            ("{{style}}", STYLE.into()),
            ("{{body}}", self.body),
            ("{{data}}", data),
            ("{{script}}", SCRIPTS.concat()),
        ];
        // Cut at the marks first: what is filled in may contain anything.
        let (mut page, mut rest) = (String::new(), PAGE);
        for (mark, text) in fill {
            let (before, after) = rest.split_once(mark).expect("the page has every mark, in this order");
            page.push_str(before);
            page.push_str(&text);
            rest = after;
        }
        page + rest
    }
}
