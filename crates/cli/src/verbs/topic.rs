//! A page of `airtcp show`, before it is printed as text or JSON.

use serde::Serialize;

/// Something there is a page about.
#[derive(Clone, Default, Serialize)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) about: String,
    /// One sentence each, below the first.
    pub(super) notes: Vec<String>,
    pub(super) sections: Vec<Section>,
    #[serde(skip)]
    pub(super) example: String,
}

/// Keys that belong together.
#[derive(Clone, Serialize)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) keys: Vec<Key>,
}

#[derive(Clone, Default, Serialize)]
pub(super) struct Key {
    pub(super) name: String,
    /// Empty where a sentence says all there is.
    pub(super) value: String,
    pub(super) kind: String,
    pub(super) about: String,
    pub(super) source: String,
}

/// Keys from their name, an example and a sentence.
pub(super) fn plain_keys(list: &[(&str, &str, &str)]) -> Vec<Key> {
    let key = |(name, value, about): &(&str, &str, &str)| Key {
        name: (*name).into(),
        value: (*value).into(),
        about: (*about).into(),
        ..Key::default()
    };
    list.iter().map(key).collect()
}
