//! Which table of a file it is, as errors name it.

use std::fmt;

/// Which table of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The top level.
    File,
    /// The keys that lead to it: `[links.air]`.
    Table(Vec<String>),
    /// An item of a list of tables: `[[claims]]`, and once its name is known `[[claims]] GSN-C1`.
    Item {
        /// Key of the list.
        list: String,
        /// What the item calls itself.
        name: Option<String>,
    },
    /// A table that is best described: `a check of GSN-C1`.
    Described(String),
}

impl Place {
    /// The table that stands under `key` in this one.
    pub fn below(&self, key: &str) -> Place {
        let mut path = match self {
            Place::File => Vec::new(),
            Place::Table(path) => path.clone(),
            Place::Item { list, .. } => vec![list.clone()],
            Place::Described(text) => vec![text.clone()],
        };
        path.push(key.to_owned());
        Place::Table(path)
    }

    /// An item of the list of tables under `key`.
    pub fn item_of(key: &str) -> Place {
        Place::Item { list: key.to_owned(), name: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => f.write_str("the file"),
            Place::Table(path) => write!(f, "[{}]", path.join(".")),
            Place::Item { list, name: None } => write!(f, "[[{list}]]"),
            Place::Item { list, name: Some(name) } => write!(f, "[[{list}]] {name}"),
            Place::Described(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_by_the_keys_that_lead_to_it() {
        let air = Place::File.below("links").below("air");
        assert_eq!([&air, &air.below("loss")].map(Place::to_string), ["[links.air]", "[links.air.loss]"]);
        assert_eq!(Place::item_of("figures").below("inputs").to_string(), "[figures.inputs]");
        assert_eq!(Place::Described("a check of GSN-C1".into()).to_string(), "a check of GSN-C1");
    }
}
