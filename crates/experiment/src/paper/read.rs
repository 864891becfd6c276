//! `paper.toml`, read strictly: every unknown key, label and name is an error with its line.

use super::change::{Change, Changes};
use super::claim::claims;
use super::{Experiment, Mode, Paper};
use crate::catalogue::Catalogue;
use crate::scenario::document::{Entry, Node, Origin, Table, Value};
use crate::scenario::overlay::overlay;
use crate::scenario::{Keys, Problem, Scenario, ScenarioError, Source, fill_from_base, parse, text_of};
use std::path::{Path, PathBuf};

/// Keys of the top level: key, example, meaning.
pub const PAPER_KEYS: &[(&str, &str, &str)] = &[
    ("schema", "1", "version of the file format; required"),
    ("slug", "\"gsnoop\"", "name of the folder, and of the scheme; required"),
    ("title", "\"…\"", "as printed; required"),
    ("citation", "\"…\"", "authors, venue, year; required"),
    ("quick", "[quick]", "merged into every experiment by reproduce --quick"),
    ("seed_bases", "3", "how many sets of seeds a verdict is made from; 3 if left out"),
    ("experiments", "[experiments.e1]", "a scenario each; required"),
    ("variants", "[variants.window-20]", "other readings of what the paper leaves open, and what is ours"),
    ("mutations", "[mutations.no-repair]", "the mechanism switched off, for reproduce --mutations"),
    ("sweeps", "[sweeps.jitter]", "values of a setting that had to be chosen"),
    ("claims", "[[claims]]", "what the paper says; required"),
];

/// Keys of an experiment besides those of a scenario: key, example, meaning.
pub const EXPERIMENT_KEYS: &[(&str, &str, &str)] = &[
    ("like", "\"e1\"", "an experiment above to start from; what is written here is merged into it"),
    ("world", "\"live\"", "where it runs: simulator or live (needs root); the simulator if left out"),
    ("quick", "{ runs = 3 }", "merged into this experiment by reproduce --quick"),
];

/// Keys of a variant: key, example, meaning.
pub const VARIANT_KEYS: &[(&str, &str, &str)] = &[
    ("item", "\"GSN-U3\"", "the item left open that it settles otherwise; ours if left out"),
    ("about", "\"…\"", "one sentence; required"),
    SET,
    CASES,
    ONLY,
];

/// Keys of a mutation: key, example, meaning.
pub const MUTATION_KEYS: &[(&str, &str, &str)] =
    &[("about", "\"…\"", "what is switched off, one sentence; required"), SET, CASES, ONLY];

/// Keys of a sweep: key, example, meaning.
pub const SWEEP_KEYS: &[(&str, &str, &str)] = &[
    ("about", "\"…\"", "what is swept, one sentence; required"),
    ("path", "\"links.air.jitter\"", "the key that is set, or a list of keys; required without variants"),
    ("values", "[\"0ms\", \"1ms\"]", "what it is set to, one after the other; required without variants"),
    ("cases", "{ scheme = [\"G-Snoop\"] }", "set it in these steps of vary.cases; in the experiment if left out"),
    ("set", "{ runs = 5 }", "put into every step besides"),
    ONLY,
    ("variants", "[\"window-20\", \"window-64\"]", "sweep over these variants, in place of path and values"),
];

const SET: (&str, &str, &str) =
    ("set", "{ defaults.flows.max_cwnd = 20 }", "put into every experiment; required without cases");
const CASES: (&str, &str, &str) =
    ("cases", "{ scheme.\"G-Snoop\" = { schemes.repair.icn = false } }", "put into these steps of vary.cases");
const ONLY: (&str, &str, &str) = ("experiments", "[\"e1\"]", "the experiments that are meant; all if left out");

/// Keys of a claim: key, example, meaning.
pub const CLAIM_KEYS: &[(&str, &str, &str)] = &[
    ("id", "\"GSN-C1\"", "item of the specification; required"),
    ("kind", "\"trend\"", "exact, trend, analytic or design; required"),
    ("sentence", "\"…\"", "what the paper claims; required"),
    ("comparative", "true", "it must not hold without the scheme; required for exact and trend"),
    ("mutation", "\"no-repair\"", "the mutation under which it must not hold"),
    ("mutation_explained", "\"…\"", "why it holds under its mutation, or has none"),
    ("leans_on", "[\"GSN-U1\"]", "items left open that the outcome may depend on"),
    ("with", "\"window-20\"", "the variant it is said to need: where it holds with this one only, that is its verdict"),
    ("sensitivity", "[\"window-20\"]", "variants it is judged under again"),
    ("sweeps", "[\"jitter\"]", "sweeps it is judged under: in how many of the settings it holds"),
    ("not_quick", "\"…\"", "why few and short runs cannot judge it"),
    ("checks", "[{ kind = \"ratio\", … }]", "all of them have to hold; required unless not_checkable"),
    ("not_checkable", "{ item = \"GSN-U1\", reason = \"…\" }", "why it cannot be checked here"),
];

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
        let source = crate::scenario::read_file(&path)?;
        PaperFile::parse(&source, move |name| crate::scenario::read_file(&path.with_file_name(name)))
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
            if let Some(quick) = quick {
                overlay(&mut resolved, quick);
            }
            if let Some(own) = own_quick.as_ref().filter(|_| self.mode.quick) {
                overlay(&mut resolved, below.below(entry, "paper")?.below(own, "paper")?.table);
            }
            for (change, touched) in changes.iter().zip(&mut touched) {
                *touched |= all.apply(*change, &entry.key, &mut resolved);
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

pub(super) fn names<'a>(list: &'a [(&str, &str, &str)]) -> Vec<&'a str> {
    list.iter().map(|(key, ..)| *key).collect()
}

pub(super) fn text(keys: &Keys<'_>, key: &str, list: &[(&str, &str, &str)]) -> Result<String, ScenarioError> {
    let example = list.iter().find(|(known, ..)| *known == key).map_or("\"…\"", |(_, example, _)| example);
    keys.scalar(keys.required(key, &format!("{key} = {example}"))?, "text")
}

/// `GSN-U3`: three capitals, a dash, the letter of its sort, a number.
pub(super) fn check_item(keys: &Keys<'_>, entry: &Entry, item: &str, sorts: &[char]) -> Result<(), ScenarioError> {
    let is_item = item.split_once('-').is_some_and(|(system, rest)| {
        let number = rest.strip_prefix(sorts);
        system.len() == 3
            && system.chars().all(|c| c.is_ascii_uppercase())
            && number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
    });
    if is_item {
        return Ok(());
    }
    let example = format!("GSN-{}1", sorts[0]);
    Err(keys.bad(entry, format!("'{item}' is no item of the specification; write for example {example}")))
}
