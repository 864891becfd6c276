//! `paper.toml`, read strictly: every unknown key, label and name is an error with its line.

use super::{Claim, ClaimKind, Experiment, Mode, Paper, Subject, Variant, check};
use crate::catalogue::Catalogue;
use crate::scenario::document::{Entry, Node, Origin, Table, Value};
use crate::scenario::overlay::overlay;
use crate::scenario::{Keys, Place, Problem, Scenario, ScenarioError, Source, fill_from_base, parse, text_of};
use std::path::{Path, PathBuf};

/// Keys of the top level: key, example, meaning.
pub const PAPER_KEYS: &[(&str, &str, &str)] = &[
    ("schema", "1", "version of the file format; required"),
    ("slug", "\"gsnoop\"", "name of the folder, and of the scheme; required"),
    ("title", "\"…\"", "as printed; required"),
    ("citation", "\"…\"", "authors, venue, year; required"),
    ("quick", "[quick]", "merged into every experiment by reproduce --quick"),
    ("experiments", "[experiments.e1]", "a scenario each; required"),
    ("variants", "[variants.window-20]", "other readings of what the paper leaves open"),
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
    ("item", "\"GSN-U3\"", "the item left open that it settles otherwise; required"),
    ("about", "\"…\"", "one sentence; required"),
    ("set", "{ defaults.flows.max_cwnd = 20 }", "put into every experiment; required"),
];

/// Keys of a claim: key, example, meaning.
pub const CLAIM_KEYS: &[(&str, &str, &str)] = &[
    ("id", "\"GSN-C1\"", "item of the specification; required"),
    ("kind", "\"trend\"", "exact, trend, analytic or design; required"),
    ("sentence", "\"…\"", "what the paper claims; required"),
    ("comparative", "true", "it must not hold without the scheme; required for exact and trend"),
    ("leans_on", "[\"GSN-U1\"]", "items left open that the outcome may depend on"),
    ("sensitivity", "[\"window-20\"]", "variants it is judged under again"),
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

    /// The paper in `mode`; with `variant`, everything as that variant has it.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn read(&self, mode: Mode, variant: Option<&str>, catalogue: &Catalogue<'_>) -> Result<Paper, ScenarioError> {
        let file = Origin { line: 1, ..Origin::of_file(&self.file) };
        let keys = Keys::of_file(&self.document, &file, "paper");
        let schema = keys.required("schema", "schema = 1")?;
        let found = schema.node.scalar().unwrap_or_else(|| schema.node.value.kind().into());
        if found != "1" {
            return Err(Problem::Schema(found).at(&schema.node.origin));
        }
        keys.only(&names(PAPER_KEYS))?;
        let text = |key: &str| text(&keys, key, PAPER_KEYS);
        let slug = text("slug")?;
        if slug.is_empty() || !slug.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            let entry = keys.table.get("slug").expect("read above");
            return Err(keys.bad(entry, "it names a folder: small letters, digits and -"));
        }
        let (title, citation) = (text("title")?, text("citation")?);
        let (variants, sets) = variants(&keys)?;
        let patch = variant.and_then(|name| {
            let index = variants.iter().position(|variant| variant.name == name)?;
            Some(sets[index])
        });
        let experiments = self.experiments(&keys, &slug, mode, patch, catalogue)?;
        let claims = claims(&keys, &experiments, &variants)?;
        let resolved: String = experiments.iter().map(|experiment| experiment.scenario.resolved.as_str()).collect();
        let hash = crate::scenario::hash(&format!("{}{resolved}", text_of(&self.document)));
        Ok(Paper { slug, title, citation, experiments, variants, claims, hash })
    }

    fn experiments(
        &self,
        keys: &Keys<'_>,
        slug: &str,
        mode: Mode,
        patch: Option<&Table>,
        catalogue: &Catalogue<'_>,
    ) -> Result<Vec<Experiment>, ScenarioError> {
        let entry = keys.required("experiments", "[experiments.e1]")?;
        let all = keys.below(entry, "paper")?;
        let quick = match keys.table.get("quick").filter(|_| mode.quick) {
            Some(entry) => Some(keys.below(entry, "paper")?.table),
            None => None,
        };
        // As written, each with what it is like, for those below that are like it.
        let mut written: Vec<(&str, Table)> = Vec::new();
        let mut experiments = Vec::new();
        for entry in &all.table.entries {
            let document = self.complete(&all, entry, &written)?;
            let mut resolved = document.clone();
            let own_quick = resolved.remove("quick");
            let world = resolved.remove("world").map(|named| world(&all, &named)).transpose()?;
            written.push((&entry.key, document));
            if let Some(quick) = quick {
                overlay(&mut resolved, quick);
            }
            if let Some(own) = own_quick.as_ref().filter(|_| mode.quick) {
                overlay(&mut resolved, all.below(entry, "paper")?.below(own, "paper")?.table);
            }
            if let Some(patch) = patch {
                overlay(&mut resolved, patch);
            }
            let id = entry.key.clone();
            put_first(&mut resolved, "name", Value::Text(format!("{slug}-{id}")), &entry.origin);
            put_first(&mut resolved, "schema", Value::Number("1".into()), &entry.origin);
            let sets: &[String] = if mode.control { &["control=true".to_owned()] } else { &[] };
            let scenario = Scenario::of_document(&self.file, resolved, sets, catalogue, &mut |base| (self.open)(base))?;
            experiments.push(Experiment { id, scenario, world });
        }
        if experiments.is_empty() {
            return Err(all.bad(entry, "there is none: nothing would be run"));
        }
        Ok(experiments)
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

fn names<'a>(list: &'a [(&str, &str, &str)]) -> Vec<&'a str> {
    list.iter().map(|(key, ..)| *key).collect()
}

fn text(keys: &Keys<'_>, key: &str, list: &[(&str, &str, &str)]) -> Result<String, ScenarioError> {
    let example = list.iter().find(|(known, ..)| *known == key).map_or("\"…\"", |(_, example, _)| example);
    keys.scalar(keys.required(key, &format!("{key} = {example}"))?, "text")
}

/// The variants, and what each sets.
fn variants<'a>(keys: &Keys<'a>) -> Result<(Vec<Variant>, Vec<&'a Table>), ScenarioError> {
    let (mut variants, mut sets) = (Vec::new(), Vec::new());
    let Some(entry) = keys.table.get("variants") else { return Ok((variants, sets)) };
    let all = keys.below(entry, "paper")?;
    for entry in &all.table.entries {
        let keys = all.below(entry, "paper")?;
        keys.only(&names(VARIANT_KEYS))?;
        let item = text(&keys, "item", VARIANT_KEYS)?;
        check_item(&keys, keys.table.get("item").expect("read above"), &item, &['U', 'X'])?;
        let set = keys.below(keys.required("set", "set = { links.air.delay = \"10ms\" }")?, "paper")?;
        sets.push(set.table);
        variants.push(Variant { name: entry.key.clone(), item, about: text(&keys, "about", VARIANT_KEYS)? });
    }
    Ok((variants, sets))
}

/// `GSN-U3`: three capitals, a dash, the letter of its sort, a number.
fn check_item(keys: &Keys<'_>, entry: &Entry, item: &str, sorts: &[char]) -> Result<(), ScenarioError> {
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

fn claims(keys: &Keys<'_>, experiments: &[Experiment], variants: &[Variant]) -> Result<Vec<Claim>, ScenarioError> {
    let entry = keys.required("claims", "[[claims]]")?;
    let Value::List(items) = &entry.node.value else {
        return Err(keys.wrong_type(entry, "tables, each under [[claims]]"));
    };
    let mut claims: Vec<Claim> = Vec::new();
    for item in items {
        let Value::Table(table) = &item.value else {
            return Err(keys.wrong_type(entry, "tables, each under [[claims]]"));
        };
        let keys = Keys { table, place: Place::item_of("claims"), origin: &item.origin, show: "paper".into() };
        let claim = claim(&keys, experiments, variants)?;
        if claims.iter().any(|other| other.id == claim.id) {
            return Err(keys.bad(keys.table.get("id").expect("read above"), format!("'{}' is there twice", claim.id)));
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn claim(keys: &Keys<'_>, experiments: &[Experiment], variants: &[Variant]) -> Result<Claim, ScenarioError> {
    keys.only(&names(CLAIM_KEYS))?;
    let id = text(keys, "id", CLAIM_KEYS)?;
    check_item(keys, keys.table.get("id").expect("read above"), &id, &['C'])?;
    let keys = &Keys {
        place: Place::Item { list: "claims".into(), name: Some(id.clone()) },
        show: keys.show.clone(),
        ..*keys
    };
    keys.required("kind", "kind = \"trend\"")?;
    let kind: ClaimKind = keys.value("kind")?.expect("required above");
    if matches!(kind, ClaimKind::Exact | ClaimKind::Trend) {
        keys.required("comparative", "comparative = true")?;
    }
    let list = |key: &str| match keys.table.get(key) {
        Some(entry) => keys.texts(entry, "a list of names"),
        None => Ok(Vec::new()),
    };
    let mut leans_on = Vec::new();
    for (item, _) in list("leans_on")? {
        check_item(keys, keys.table.get("leans_on").expect("it has items"), &item, &['U', 'X'])?;
        leans_on.push(item);
    }
    let mut sensitivity = Vec::new();
    for (name, node) in list("sensitivity")? {
        let index = variants.iter().position(|variant| variant.name == name);
        sensitivity.push(index.ok_or_else(|| {
            let choices = variants.iter().map(|variant| variant.name.clone()).collect();
            keys.no_such("variant", &name, "sensitivity", &node.origin, choices)
        })?);
    }
    Ok(Claim {
        sentence: text(keys, "sentence", CLAIM_KEYS)?,
        kind,
        comparative: keys.value("comparative")?.unwrap_or(false),
        leans_on,
        sensitivity,
        subject: subject(keys, &id, experiments)?,
        id,
    })
}

fn subject(keys: &Keys<'_>, id: &str, experiments: &[Experiment]) -> Result<Subject, ScenarioError> {
    if let Some(entry) = keys.table.get("not_checkable") {
        if let Some(checks) = keys.table.get("checks") {
            return Err(keys.bad(checks, "it is said to be not checkable; keep one of the two"));
        }
        let below = keys.below(entry, "paper")?;
        below.only(&["item", "reason"])?;
        let item = below.scalar(below.required("item", "item = \"GSN-U1\"")?, "text")?;
        check_item(&below, below.table.get("item").expect("read above"), &item, &['U', 'X'])?;
        let reason = below.scalar(below.required("reason", "reason = \"…\"")?, "text")?;
        return Ok(Subject::NotCheckable { item, reason });
    }
    let entry = keys.required("checks", "checks = [{ kind = \"ratio\", … }]")?;
    let expected = "a list of checks, [{ kind = \"ratio\", … }]";
    let Value::List(items) = &entry.node.value else { return Err(keys.wrong_type(entry, expected)) };
    if items.is_empty() {
        return Err(keys.bad(entry, "nothing would decide the claim"));
    }
    let mut checks = Vec::new();
    for item in items {
        let Value::Table(table) = &item.value else { return Err(keys.wrong_type(entry, expected)) };
        let keys = Keys {
            table,
            place: Place::Described(format!("a check of {id}")),
            origin: &item.origin,
            show: "paper".into(),
        };
        checks.push(check::read(&keys, experiments)?);
    }
    Ok(Subject::Checks(checks))
}
