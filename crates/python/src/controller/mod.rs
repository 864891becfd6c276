//! Congestion controllers written in Python: the contract is [`airtcp_tcp::congestion::Controller`], hook by hook, and a
//! class in the package calls [`register`]. Hooks run with the interpreter held, one at a time; what a class does not
//! define costs nothing.

mod failure;
mod hooks;
mod sample;
mod settings;
mod sock;

pub(crate) use failure::{Failure, Stop, watch_over};
pub(crate) use sample::{AckEvent, AckSample, CaEvent, CaState, LostSegment, RateSample, RxOpt};
pub(crate) use sock::Sock;

use airtcp_core::parameters::Field;
use airtcp_experiment::Catalogue;
use airtcp_tcp::congestion::ControllerEntry;
use hooks::{HOOKS, Hook};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use settings::PythonSettings;
use std::sync::{Mutex, PoisonError};

/// What is known of a class. It is never freed: a table of controllers has names and settings for ever.
struct Definition {
    slug: &'static str,
    fields: Vec<Field>,
    /// Of [`HOOKS`], those that the class defines.
    hooks: Vec<Hook>,
    /// What it counts, in this order.
    counters: Vec<&'static str>,
    needs_ecn: bool,
    answers_marks: bool,
    sndbuf_expand: u32,
    /// `(name, text) -> text`: a parameter's value as it is written, or ValueError.
    read: Py<PyAny>,
    /// `(values) -> controller`: one for a connection, from the texts of its parameters by their names.
    make: Py<PyAny>,
}

/// Those that were registered, in that order. Nobody calls Python while it is locked.
static REGISTERED: Mutex<Vec<ControllerEntry>> = Mutex::new(Vec::new());

/// The built-in controllers, and behind them those of Python.
pub(crate) fn all() -> Vec<ControllerEntry> {
    let own = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    Catalogue::BUILT_IN.controllers.iter().chain(own.iter()).copied().collect()
}

/// Everything that a scenario can name, with `controllers` of [`all`].
pub(crate) fn catalogue(controllers: &[ControllerEntry]) -> Catalogue<'_> {
    Catalogue { controllers, ..Catalogue::BUILT_IN }
}

/// The hooks that a class can define.
#[pyfunction]
pub(crate) fn hook_names() -> Vec<&'static str> {
    HOOKS.iter().map(|hook| hook.name()).collect()
}

/// What a class says of itself.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Description {
    slug: String,
    about: String,
    source: String,
    /// Name, kind, sentence, default and source of each.
    parameters: Vec<(String, String, String, String, String)>,
    hooks: Vec<String>,
    counters: Vec<String>,
    needs_ecn: bool,
    answers_marks: bool,
    sndbuf_expand: u32,
    read: Py<PyAny>,
    make: Py<PyAny>,
}

/// Puts a class into the table of controllers, in the place of an earlier one of its name.
#[pyfunction]
pub(crate) fn register(description: Description) -> PyResult<()> {
    let Description { slug, about, source, .. } = &description;
    if Catalogue::BUILT_IN.controller_names().contains(slug) {
        return Err(PyValueError::new_err(format!("there is a controller '{slug}' already; choose another name")));
    }
    let (slug, about, source) = (kept(slug), kept(about), kept(source));
    let definition: &'static Definition = Box::leak(Box::new(definition(slug, description)));
    let settings = Box::leak(Box::new(move || PythonSettings::defaults(definition)));
    let entry = ControllerEntry { slug, about, source, in_kernel: false, settings };
    let mut own = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    match own.iter_mut().find(|other| other.slug == slug) {
        Some(earlier) => *earlier = entry,
        None => own.push(entry),
    }
    Ok(())
}

fn definition(slug: &'static str, description: Description) -> Definition {
    let field = |(name, kind, about, value, source): (String, String, String, String, String)| Field {
        name: kept(&name),
        kind: kept(&kind),
        about: kept(&about),
        value,
        source: kept(&source),
    };
    let defined = |hook: &Hook| description.hooks.iter().any(|name| name == hook.name());
    Definition {
        slug,
        fields: description.parameters.into_iter().map(field).collect(),
        hooks: HOOKS.iter().copied().filter(defined).collect(),
        counters: description.counters.iter().map(|name| kept(name)).collect(),
        needs_ecn: description.needs_ecn,
        answers_marks: description.answers_marks,
        sndbuf_expand: description.sndbuf_expand,
        read: description.read,
        make: description.make,
    }
}

/// `text` for ever.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
