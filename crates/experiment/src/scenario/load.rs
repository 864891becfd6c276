//! A scenario file, read as a whole.

use super::document::{Origin, Table, join_path, split_path};
use super::error::{Problem, ScenarioError};
use super::presentation::{self, FigureSpec, TableSpec};
use super::source::Source;
use super::traces::{self, TraceFiles};
use super::vary::{self, Axis};
use super::{Cell, levels, merge, parse, resolve, write};
use crate::catalogue::Catalogue;
use std::path::Path;

/// Everything a file asks for, checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name of the results.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// Runs of each cell.
    pub runs: u32,
    /// Run i uses seed + i.
    pub seed: u64,
    /// Varied keys in the order of the file, and the labels of their values.
    pub axes: Vec<(String, Vec<String>)>,
    /// Varied keys whose values the file writes as `{ log = … }`.
    pub logarithmic: Vec<String>,
    /// Every combination; the first axis varies slowest.
    pub cells: Vec<Cell>,
    /// Tables to print.
    pub tables: Vec<TableSpec>,
    /// Figures to draw.
    pub figures: Vec<FigureSpec>,
    /// Every measure that a table, a figure or a claim about it can name.
    pub measures: Vec<String>,
    /// The file with its base and every `--set` in it: reading it gives this scenario again.
    pub resolved: String,
    /// The traces that it names.
    pub traces: TraceFiles,
    /// Of `resolved` and `traces`; eight hexadecimal digits.
    pub hash: String,
}

impl Scenario {
    /// Reads the file at `path` and applies each `set`.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn load(path: &Path, sets: &[String], catalogue: &Catalogue<'_>) -> Result<Scenario, ScenarioError> {
        let source = Source::read(path)?;
        Scenario::read(&source, sets, catalogue, &mut |base| Source::read(&path.with_file_name(base)))
    }

    /// Reads `source`; `open` is asked for its base.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn read(
        source: &Source,
        sets: &[String],
        catalogue: &Catalogue<'_>,
        open: &mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
    ) -> Result<Scenario, ScenarioError> {
        Scenario::read_at_most(vary::MAX_CELLS, source, sets, catalogue, open)
    }

    pub(crate) fn read_at_most(
        max_cells: usize,
        source: &Source,
        sets: &[String],
        catalogue: &Catalogue<'_>,
        open: &mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
    ) -> Result<Scenario, ScenarioError> {
        let document = parse::parse(&source.file, &source.text)?;
        Scenario::of_document_at_most(max_cells, &source.file, document, sets, catalogue, open)
    }

    /// Reads a document that stood in `file`, alone or with others.
    pub(crate) fn of_document(
        file: &str,
        document: Table,
        sets: &[String],
        catalogue: &Catalogue<'_>,
        open: &mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
    ) -> Result<Scenario, ScenarioError> {
        Scenario::of_document_at_most(vary::MAX_CELLS, file, document, sets, catalogue, open)
    }

    fn of_document_at_most(
        max_cells: usize,
        file_name: &str,
        mut document: Table,
        sets: &[String],
        catalogue: &Catalogue<'_>,
        open: &mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
    ) -> Result<Scenario, ScenarioError> {
        let file = Origin { line: 1, ..Origin::of_file(file_name) };
        // Said before the base is read: a file of another schema may not even have one.
        resolve::header(&document, &file)?;
        fill_from_base(&mut document, open)?;
        for set in sets {
            merge::apply_set(&mut document, set)?;
        }
        let traces = traces::gather(&mut document, open)?;
        let header = resolve::header(&document, &file)?;
        let name = name_of(&mut document, file_name)?;
        let axes = vary::axes(&document, max_cells)?;
        let paths: Vec<_> = axes.iter().flat_map(Axis::changes).collect();
        resolve::check_names(&document, &paths)?;
        let resolved = write::document(&document);
        let hash = hash_of(&resolved, &traces);
        let mut cells = cells(&document, &axes, (&file, &name), catalogue, &traces)?;
        let measures = presentation::measures_of(&document, catalogue);
        let figures = presentation::figures(&document, &axes, &measures, catalogue)?;
        for cell in &mut cells {
            let names = figures.iter().filter(|figure| figure.is_over_time()).flat_map(FigureSpec::measures);
            cell.scenario.levels = levels::wanted(names, &cell.scenario.links, catalogue);
        }
        Ok(Scenario {
            cells,
            tables: presentation::tables(&document, &axes, &measures)?,
            measures,
            figures,
            axes: axes
                .iter()
                .map(|axis| (axis.name(), axis.steps.iter().map(|step| step.label.clone()).collect()))
                .collect(),
            logarithmic: axes.iter().filter(|axis| axis.is_logarithmic).map(Axis::name).collect(),
            name,
            about: header.about,
            runs: header.runs,
            seed: header.seed,
            resolved,
            traces,
            hash,
        })
    }

    /// What the file writes for the key at a dotted path, outside `[vary]`; `None` for a table, a list or nothing.
    pub fn text_at(&self, path: &str) -> Option<String> {
        parse::parse(&self.name, &self.resolved).ok()?.at(&split_path(path))?.scalar()
    }
}

/// Fills in what stands only in the file that `base` names, if it names one.
pub(crate) fn fill_from_base(
    document: &mut Table,
    open: &mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
) -> Result<(), ScenarioError> {
    let Some(entry) = document.remove("base") else { return Ok(()) };
    let name =
        entry.node.scalar().ok_or_else(|| Problem::Base("it takes the name of a file".into()).at(&entry.origin))?;
    let base = open(&name).map_err(|error| match &*error.problem {
        Problem::Unreadable(reason) => {
            Problem::Base(format!("'{name}' cannot be read: {reason}")).at(&entry.node.origin)
        }
        _ => error,
    })?;
    merge::fill_from_base(document, parse::parse(&base.file, &base.text)?)
}

/// The name of the results, written into the document so that it stays when the file is copied.
fn name_of(document: &mut Table, file: &str) -> Result<String, ScenarioError> {
    let (name, origin) = match document.get("name") {
        Some(entry) => (entry.node.scalar().unwrap_or_default(), entry.node.origin.clone()),
        None => {
            let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
            (stem.unwrap_or_default().chars().map(plain).collect(), Origin::of_file(file))
        }
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
        let reason = "it names a directory: letters, digits, - and _".to_owned();
        let (key, table, show) = ("name".into(), "the file".into(), "scenario".into());
        return Err(Problem::BadValue { key, table, reason, show }.at(&origin));
    }
    if document.get("name").is_none() {
        let value = super::document::Value::Text(name.clone());
        let node = super::document::Node { value, origin: origin.clone() };
        let at = document.entries.iter().position(|entry| entry.key == "schema").map_or(0, |at| at + 1);
        document.entries.insert(at, super::document::Entry { key: "name".into(), origin, node });
    }
    Ok(name)
}

fn hash_of(resolved: &str, traces: &TraceFiles) -> String {
    let files = traces.iter().map(|(name, text)| format!("\0{name}\0{text}"));
    write::hash(&std::iter::once(resolved.to_owned()).chain(files).collect::<String>())
}

fn cells(
    document: &Table,
    axes: &[Axis],
    (file, name): (&Origin, &str),
    catalogue: &Catalogue<'_>,
    traces: &TraceFiles,
) -> Result<Vec<Cell>, ScenarioError> {
    let count = axes.iter().map(|axis| axis.steps.len()).product();
    let mut cells = Vec::with_capacity(count);
    // Each cell begins with a copy of all this, and a long list of steps is most of a document.
    let mut document = document.clone();
    document.remove("vary");
    let mut choice = vec![0; axes.len()];
    for _ in 0..count {
        let label = |(axis, step): (&Axis, &usize)| (join_path(&axis.path), axis.steps[*step].label.clone());
        let at = axes.iter().zip(&choice).map(label).collect();
        let resolved = vary::substitute(&document, axes, &choice)?;
        cells.push(Cell { at, scenario: resolve::resolve(&resolved, file, name, catalogue, traces)? });
        for (position, axis) in choice.iter_mut().zip(axes).rev() {
            *position += 1;
            if *position < axis.steps.len() {
                break;
            }
            *position = 0;
        }
    }
    Ok(cells)
}
