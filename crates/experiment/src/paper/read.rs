//! `paper.toml`, read strictly: every unknown key, label and name is an error with its line.

use super::change::{Change, Changes};
use super::claim::claims;
use super::keys::{PAPER_KEYS, names, text};
use super::{Experiment, Mode, Paper};
use crate::catalogue::Catalogue;
use crate::scenario::document::{Entry, Node, Origin, Table, Value};
use crate::scenario::overlay::overlay;
use crate::scenario::{Keys, Problem, Scenario, ScenarioError, Source, fill_from_base, parse, text_of};
use std::path::{Path, PathBuf};

/// Finds another file of the paper's folder by its name.
type Open<'a> = Box<dyn Fn(&str) -> Result<Source, ScenarioError> + 'a>;

/// A paper's file and the folder it stands in.
pub struct PaperFile<'a> {
    /// Its name in errors.
    file: String,
    document: Table,
    open: Open<'a>,
}

impl<'a> PaperFile<'a> {
    /// Parses `source`; `open` is asked for other files of its folder.
    ///
    /// # Errors
    /// Not TOML.
    pub fn parse(
        source: &Source,
        open: impl Fn(&str) -> Result<Source, ScenarioError> + 'a,
    ) -> Result<Self, ScenarioError> {
        let document = parse(&source.file, &source.text)?;
        Ok(PaperFile { file: source.file.clone(), document, open: Box::new(open) })
    }

    /// Reads `path`, or `paper.toml` in it if it is a directory.
    ///
    /// # Errors
    /// It cannot be read, or is not TOML.
    pub fn load(path: &Path) -> Result<PaperFile<'static>, ScenarioError> {
        let path: PathBuf = if path.is_dir() { path.join("paper.toml") } else { path.to_owned() };
        let source = crate::scenario::Source::read(&path)?;
        PaperFile::parse(&source, move |name| crate::scenario::Source::read(&path.with_file_name(name)))
    }

    /// The paper in `mode`, with `changes` made in their order.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn read(&self, mode: Mode, changes: &[Change], catalogue: &Catalogue<'_>) -> Result<Paper, ScenarioError> {
        let file = Origin { line: 1, ..Origin::of_file(&self.file) };
        let keys = Keys::of_file(&self.document, &file, "paper");
        let slug = self.slug(&keys)?;
        let text = |key: &str| text(&keys, key, PAPER_KEYS);
        let (title, citation) = (text("title")?, text("citation")?);
        let seed_bases = seed_bases(&keys)?;
        let all = Changes::read(&keys)?;
        let experiments = Reader { file: self, slug: &slug, mode, catalogue }.experiments(&keys, &all, changes)?;
        let claims = claims(&keys, mode, &experiments, &all)?;
        let resolved: String = experiments.iter().map(|experiment| experiment.scenario.resolved.as_str()).collect();
        // Under mutations the experiments themselves are the same.
        let sort = if mode.mutations { "mutations" } else { "" };
        let hash = crate::scenario::hash(&format!("{}{resolved}{sort}", text_of(&self.document)));
        let Changes { variants, mutations, sweeps, .. } = all;
        Ok(Paper { slug, title, citation, seed_bases, experiments, variants, mutations, sweeps, claims, hash })
    }

    /// The name of the folder, once the file is known to be one of a paper.
    fn slug(&self, keys: &Keys<'_>) -> Result<String, ScenarioError> {
        let schema = keys.required("schema", "schema = 1")?;
        let found = schema.node.scalar().unwrap_or_else(|| schema.node.value.kind().into());
        if found != "1" {
            return Err(Problem::Schema(found).at(&schema.node.origin));
        }
        keys.only(&names(PAPER_KEYS))?;
        let slug = text(keys, "slug", PAPER_KEYS)?;
        if slug.is_empty() || !slug.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err(keys.refuse("slug", "it names a folder: small letters, digits and -"));
        }
        Ok(slug)
    }

    /// The table of an experiment with its base, or put into the one it is like.
    fn complete(&self, all: &Keys<'_>, entry: &Entry, written: &[(&str, Table)]) -> Result<Table, ScenarioError> {
        let keys = all.below(entry, "paper")?;
        let mut own = keys.table.clone();
        let Some(like) = own.remove("like") else {
            fill_from_base(&mut own, &mut |base| (self.open)(base))?;
            return Ok(own);
        };
        let id = keys.scalar(&like, "the name of an experiment")?;
        let Some((_, above)) = written.iter().find(|(name, _)| *name == id) else {
            let choices = written.iter().map(|(name, _)| (*name).to_owned()).collect();
            return Err(all.no_such("experiment above", &id, "like", &like.node.origin, choices));
        };
        let mut document = above.clone();
        overlay(&mut document, &own);
        Ok(document)
    }
}

/// Reads the experiments of a file.
struct Reader<'a> {
    file: &'a PaperFile<'a>,
    slug: &'a str,
    mode: Mode,
    catalogue: &'a Catalogue<'a>,
}

impl Reader<'_> {
    fn experiments(
        &self,
        keys: &Keys<'_>,
        all: &Changes,
        changes: &[Change],
    ) -> Result<Vec<Experiment>, ScenarioError> {
        let entry = keys.required("experiments", "[experiments.e1]")?;
        let below = keys.below(entry, "paper")?;
        let quick = match keys.table.get("quick").filter(|_| self.mode.quick) {
            Some(entry) => Some(keys.below(entry, "paper")?.table),
            None => None,
        };
        // As written, each with what it is like, for those below that are like it.
        let mut written: Vec<(&str, Table)> = Vec::new();
        let mut touched = vec![false; changes.len()];
        let mut experiments = Vec::new();
        for entry in &below.table.entries {
            let document = self.file.complete(&below, entry, &written)?;
            let mut resolved = document.clone();
            let own_quick = resolved.remove("quick");
            let world = resolved.remove("world").map(|named| world(&below, &named)).transpose()?;
            written.push((&entry.key, document));
            for (change, touched) in changes.iter().zip(&mut touched) {
                *touched |= all.apply(*change, &entry.key, &mut resolved);
            }
            // Last: no change makes a quick run longer.
            if let Some(quick) = quick {
                overlay(&mut resolved, quick);
            }
            if let Some(own) = own_quick.as_ref().filter(|_| self.mode.quick) {
                overlay(&mut resolved, below.below(entry, "paper")?.below(own, "paper")?.table);
            }
            experiments.push(Experiment { id: entry.key.clone(), scenario: self.scenario(entry, resolved)?, world });
        }
        if experiments.is_empty() {
            return Err(below.bad(entry, "there is none: nothing would be run"));
        }
        match changes.iter().zip(touched).find(|(_, touched)| !touched) {
            Some((change, _)) => Err(all.untouched(*change)),
            None => Ok(experiments),
        }
    }

    fn scenario(&self, entry: &Entry, mut resolved: Table) -> Result<Scenario, ScenarioError> {
        put_first(&mut resolved, "name", Value::Text(format!("{}-{}", self.slug, entry.key)), &entry.origin);
        put_first(&mut resolved, "schema", Value::Number("1".into()), &entry.origin);
        let sets: &[String] = if self.mode.control { &["control=true".to_owned()] } else { &[] };
        Scenario::of_document(&self.file.file, resolved, sets, self.catalogue, &mut |base| (self.file.open)(base))
    }
}

fn seed_bases(keys: &Keys<'_>) -> Result<u32, ScenarioError> {
    match keys.value("seed_bases")?.unwrap_or(3) {
        bases @ 1..=100 => Ok(bases),
        _ => Err(keys.refuse("seed_bases", "it is from 1 to 100")),
    }
}

fn world(keys: &Keys<'_>, entry: &Entry) -> Result<String, ScenarioError> {
    let name = keys.scalar(entry, "the name of a world")?;
    let known = ["simulator", "live"];
    if known.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(keys.no_such("world", &name, "world", &entry.node.origin, known.map(str::to_owned).to_vec()))
}

fn put_first(document: &mut Table, key: &str, value: Value, origin: &Origin) {
    document.remove(key);
    let node = Node { value, origin: origin.clone() };
    document.entries.insert(0, Entry { key: key.to_owned(), origin: origin.clone(), node });
}
