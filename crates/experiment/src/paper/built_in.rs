//! The papers that come with the program.

use super::PaperFile;
use crate::scenario::{Origin, Problem, ScenarioError, Source};

/// A paper's folder.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name of the folder.
    pub slug: &'static str,
    /// Names and texts; the first is `paper.toml`.
    pub files: &'static [(&'static str, &'static str)],
    /// `notes.md`: section, code, deviations.
    pub notes: &'static str,
}

/// Every paper of this repository.
pub const PAPERS: &[BuiltIn] = &[
    BuiltIn {
        slug: "as-tcp",
        files: &[
            ("paper.toml", include_str!("../../../../papers/as-tcp/paper.toml")),
            ("base.toml", include_str!("../../../../papers/as-tcp/base.toml")),
        ],
        notes: include_str!("../../../../papers/as-tcp/notes.md"),
    },
    BuiltIn {
        slug: "decoupling",
        files: &[
            ("paper.toml", include_str!("../../../../papers/decoupling/paper.toml")),
            ("base.toml", include_str!("../../../../papers/decoupling/base.toml")),
            ("fairness.toml", include_str!("../../../../papers/decoupling/fairness.toml")),
        ],
        notes: include_str!("../../../../papers/decoupling/notes.md"),
    },
    BuiltIn {
        slug: "fast-tcp",
        files: &[("paper.toml", include_str!("../../../../papers/fast-tcp/paper.toml"))],
        notes: include_str!("../../../../papers/fast-tcp/notes.md"),
    },
    BuiltIn {
        slug: "gsnoop",
        files: &[("paper.toml", include_str!("../../../../papers/gsnoop/paper.toml"))],
        notes: include_str!("../../../../papers/gsnoop/notes.md"),
    },
    BuiltIn {
        slug: "newzag",
        files: &[
            ("paper.toml", include_str!("../../../../papers/newzag/paper.toml")),
            ("base.toml", include_str!("../../../../papers/newzag/base.toml")),
            ("plain.toml", include_str!("../../../../papers/newzag/plain.toml")),
            ("shared.toml", include_str!("../../../../papers/newzag/shared.toml")),
        ],
        notes: include_str!("../../../../papers/newzag/notes.md"),
    },
];

/// The paper called `slug`.
pub fn find(slug: &str) -> Option<&'static BuiltIn> {
    PAPERS.iter().find(|paper| paper.slug == slug)
}

impl BuiltIn {
    /// Its file, parsed.
    ///
    /// # Errors
    /// As for any file; those of this repository have none, which a test holds.
    pub fn file(&self) -> Result<PaperFile<'static>, ScenarioError> {
        let BuiltIn { slug, files, notes: _ } = *self;
        let path = move |name: &str| format!("papers/{slug}/{name}");
        let (name, text) = files[0];
        PaperFile::parse(&Source { file: path(name), text: text.to_owned() }, move |name| {
            let found = files.iter().find(|(file, _)| *file == name);
            let missing = || Problem::Unreadable("no such file".into()).at(&Origin::of_file(&path(name)));
            found.map(|(_, text)| Source { file: path(name), text: (*text).to_owned() }).ok_or_else(missing)
        })
    }
}
