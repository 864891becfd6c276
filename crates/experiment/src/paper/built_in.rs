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

/// The folder `papers/<slug>` with its `paper.toml`, its `notes.md` and the files that `paper.toml` names.
macro_rules! folder {
    ($slug:literal $(, $file:literal)*) => {
        BuiltIn {
            slug: $slug,
            files: &[
                ("paper.toml", include_str!(concat!("../../../../papers/", $slug, "/paper.toml"))),
                $(($file, include_str!(concat!("../../../../papers/", $slug, "/", $file)))),*
            ],
            notes: include_str!(concat!("../../../../papers/", $slug, "/notes.md")),
        }
    };
}

/// Every paper of this repository: a line for each folder of `papers/`.
pub const PAPERS: &[BuiltIn] = &[
    folder!("as-tcp", "base.toml"),
    folder!("decoupling", "base.toml", "fairness.toml"),
    folder!("fast-tcp"),
    folder!("gsnoop"),
    folder!("newzag", "base.toml", "plain.toml", "shared.toml"),
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
