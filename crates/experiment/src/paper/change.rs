//! What a variant, a mutation or a step of a sweep changes in the experiments: the same few keys in all three.
//!
//! `set` is merged into experiments, `cases` into single steps of `vary.cases`, and `experiments` restricts both to some.

use super::keys::{MUTATION_KEYS, SWEEP_KEYS, VARIANT_KEYS, check_item, names, text};
use super::{Mutation, SettingSweep, Variant};
use crate::scenario::document::{Node, Origin, Table, Value, split_path};
use crate::scenario::overlay::overlay;
use crate::scenario::{Keys, Place, Problem, ScenarioError};

/// A change of the defaults, by its index in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Another reading of what the paper leaves open.
    Variant(usize),
    /// The mechanism switched off.
    Mutation(usize),
    /// One setting of a sweep: the sweep, the step.
    Step(usize, usize),
}

/// Everything by which a paper can be changed.
pub(super) struct Changes {
    pub variants: Vec<Variant>,
    pub mutations: Vec<Mutation>,
    pub sweeps: Vec<SettingSweep>,
    patches: Vec<(Change, Patch)>,
}

/// What a change puts where.
#[derive(Clone)]
struct Patch {
    set: Table,
    /// Axis and label of `vary.cases`, and what is put into that case.
    cases: Vec<(String, String, Table)>,
    /// The experiments that are meant; all if empty.
    only: Vec<String>,
    place: Place,
    origin: Origin,
}

/// Item of a variant that settles nothing the paper leaves open: what is ours.
const OURS: &str = "ours";

impl Changes {
    /// Those of the file.
    pub fn read(keys: &Keys<'_>) -> Result<Changes, ScenarioError> {
        let mut changes =
            Changes { variants: Vec::new(), mutations: Vec::new(), sweeps: Vec::new(), patches: Vec::new() };
        keys.each("variants", "paper", |keys| changes.variant(keys))?;
        keys.each("mutations", "paper", |keys| changes.mutation(keys))?;
        keys.each("sweeps", "paper", |keys| changes.sweep(keys))?;
        Ok(changes)
    }

    fn variant(&mut self, keys: &Keys<'_>) -> Result<(), ScenarioError> {
        keys.only(&names(VARIANT_KEYS))?;
        let item = match keys.table.get("item") {
            Some(entry) => {
                let item = keys.scalar(entry, "text")?;
                check_item(keys, entry, &item, &['U', 'X'])?;
                item
            }
            None => OURS.to_owned(),
        };
        let about = text(keys, "about", VARIANT_KEYS)?;
        let patch = Patch::required(keys)?;
        self.patches.push((Change::Variant(self.variants.len()), patch));
        self.variants.push(Variant { name: keys.name().to_owned(), item, about });
        Ok(())
    }

    fn mutation(&mut self, keys: &Keys<'_>) -> Result<(), ScenarioError> {
        keys.only(&names(MUTATION_KEYS))?;
        let about = text(keys, "about", MUTATION_KEYS)?;
        let patch = Patch::required(keys)?;
        self.patches.push((Change::Mutation(self.mutations.len()), patch));
        self.mutations.push(Mutation { name: keys.name().to_owned(), about });
        Ok(())
    }

    fn sweep(&mut self, keys: &Keys<'_>) -> Result<(), ScenarioError> {
        keys.only(&names(SWEEP_KEYS))?;
        let about = text(keys, "about", SWEEP_KEYS)?;
        let steps = match keys.table.get("variants") {
            Some(entry) => self.steps_of_variants(keys, &keys.texts(entry, "a list of variants")?)?,
            None => steps_of_values(keys)?,
        };
        let index = self.sweeps.len();
        let labels = steps.iter().map(|(label, _)| label.clone()).collect();
        let patches = steps.into_iter().enumerate();
        self.patches.extend(patches.map(|(step, (_, patch))| (Change::Step(index, step), patch)));
        self.sweeps.push(SettingSweep { name: keys.name().to_owned(), about, steps: labels });
        Ok(())
    }

    fn steps_of_variants(
        &self,
        keys: &Keys<'_>,
        wanted: &[(String, &Node)],
    ) -> Result<Vec<(String, Patch)>, ScenarioError> {
        let step = |(name, node): &(String, &Node)| {
            let index = self.variant_called(keys, name, "variants", &node.origin)?;
            let patch = self.patch(Change::Variant(index)).clone();
            Ok((name.clone(), patch))
        };
        wanted.iter().map(step).collect()
    }

    /// The index of a variant.
    pub fn variant_called(
        &self,
        keys: &Keys<'_>,
        name: &str,
        key: &str,
        origin: &Origin,
    ) -> Result<usize, ScenarioError> {
        find(keys, ("variant", key), name, origin, self.variants.iter().map(|variant| &variant.name))
    }

    /// The index of a mutation.
    pub fn mutation_called(&self, keys: &Keys<'_>, name: &str, origin: &Origin) -> Result<usize, ScenarioError> {
        find(keys, ("mutation", "mutation"), name, origin, self.mutations.iter().map(|mutation| &mutation.name))
    }

    /// The index of a sweep.
    pub fn sweep_called(&self, keys: &Keys<'_>, name: &str, origin: &Origin) -> Result<usize, ScenarioError> {
        find(keys, ("sweep", "sweeps"), name, origin, self.sweeps.iter().map(|sweep| &sweep.name))
    }

    fn patch(&self, change: Change) -> &Patch {
        let found = self.patches.iter().find(|(other, _)| *other == change);
        &found.expect("indices come from this paper").1
    }

    /// Puts `change` into the experiment `id`; true if it says anything about it.
    pub fn apply(&self, change: Change, id: &str, document: &mut Table) -> bool {
        let patch = self.patch(change);
        if !patch.only.is_empty() && !patch.only.iter().any(|only| only == id) {
            return false;
        }
        overlay(document, &patch.set);
        let mut is_touched = !patch.set.entries.is_empty();
        for (axis, label, set) in &patch.cases {
            if let Some(case) = case_of(document, axis, label) {
                overlay(case, set);
                is_touched = true;
            }
        }
        is_touched
    }

    /// The error for a change that says nothing about any experiment.
    pub fn untouched(&self, change: Change) -> ScenarioError {
        let patch = self.patch(change);
        let reason = "no experiment has such a case, so nothing would be changed".into();
        Problem::BadValue { key: "cases".into(), table: patch.place.to_string(), reason, show: "paper".into() }
            .at(&patch.origin)
    }
}

fn find<'a>(
    keys: &Keys<'_>,
    (what, key): (&'static str, &str),
    name: &str,
    origin: &Origin,
    there: impl Iterator<Item = &'a String> + Clone,
) -> Result<usize, ScenarioError> {
    let found = there.clone().position(|other| other == name);
    found.ok_or_else(|| keys.no_such(what, name, key, origin, there.cloned().collect()))
}

/// The step of `vary.cases.<axis>` with this label.
fn case_of<'a>(document: &'a mut Table, axis: &str, label: &str) -> Option<&'a mut Table> {
    let steps = document.table_mut("vary")?.table_mut("cases")?.entries.iter_mut().find(|entry| entry.key == axis)?;
    let Value::List(steps) = &mut steps.node.value else { return None };
    steps.iter_mut().find_map(|step| match &mut step.value {
        Value::Table(table) => {
            let is_it = table.get("label").and_then(|entry| entry.node.scalar()).is_some_and(|text| text == label);
            is_it.then_some(table)
        }
        _ => None,
    })
}

impl Patch {
    /// The patch of `keys`, which changes something.
    fn required(keys: &Keys<'_>) -> Result<Patch, ScenarioError> {
        if keys.table.get("cases").is_none() {
            keys.required("set", "set = { links.air.delay = \"10ms\" }")?;
        }
        let mut patch = Patch::read(keys)?;
        let Some(entry) = keys.table.get("cases") else { return Ok(patch) };
        let axes = keys.below(entry, "paper")?;
        for axis in &axes.table.entries {
            let cases = axes.below(axis, "paper")?;
            for case in &cases.table.entries {
                let set = cases.below(case, "paper")?.table.clone();
                patch.cases.push((axis.key.clone(), case.key.clone(), set));
            }
        }
        Ok(patch)
    }

    /// What variants, mutations and sweeps have in common.
    fn read(keys: &Keys<'_>) -> Result<Patch, ScenarioError> {
        let set = match keys.table.get("set") {
            Some(entry) => keys.below(entry, "paper")?.table.clone(),
            None => Table::default(),
        };
        let only = match keys.table.get("experiments") {
            Some(entry) => keys.texts(entry, "a list of experiments")?.into_iter().map(|(name, _)| name).collect(),
            None => Vec::new(),
        };
        Ok(Patch { set, cases: Vec::new(), only, place: keys.place.clone(), origin: keys.origin.clone() })
    }
}

/// A step for each value: at each path, in every experiment or in the cases that are named.
fn steps_of_values(keys: &Keys<'_>) -> Result<Vec<(String, Patch)>, ScenarioError> {
    let common = Patch::read(keys)?;
    let entry = keys.required("path", "path = \"links.air.jitter\"")?;
    let paths: Vec<String> = keys.texts(entry, "a path or several")?.into_iter().map(|(path, _)| path).collect();
    let cases = labels_of_cases(keys)?;
    let values = keys.required("values", "values = [\"0ms\", \"1ms\"]")?;
    let Value::List(items) = &values.node.value else { return Err(keys.wrong_type(values, "a list of values")) };
    if items.len() < 2 {
        return Err(keys.bad(values, "it takes two values or more"));
    }
    let mut steps = Vec::new();
    for item in items {
        let label = item.scalar().ok_or_else(|| keys.wrong_type(values, "texts, numbers or booleans"))?;
        let mut patch = common.clone();
        let mut set = if cases.is_empty() { std::mem::take(&mut patch.set) } else { Table::default() };
        for path in &paths {
            let put = set.put_at(&split_path(path), item.clone());
            put.map_err(|part| keys.bad(entry, format!("'{part}' is a value, not a table")))?;
        }
        if cases.is_empty() {
            patch.set = set;
        } else {
            patch.cases.extend(cases.iter().map(|(axis, label)| (axis.clone(), label.clone(), set.clone())));
        }
        steps.push((label, patch));
    }
    Ok(steps)
}

/// `cases = { scheme = ["AS-TCP"] }`: axes and labels.
fn labels_of_cases(keys: &Keys<'_>) -> Result<Vec<(String, String)>, ScenarioError> {
    let Some(entry) = keys.table.get("cases") else { return Ok(Vec::new()) };
    let axes = keys.below(entry, "paper")?;
    let mut found = Vec::new();
    for axis in &axes.table.entries {
        let labels = axes.texts(axis, "labels of cases")?;
        found.extend(labels.into_iter().map(|(label, _)| (axis.key.clone(), label)));
    }
    Ok(found)
}
