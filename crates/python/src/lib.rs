//! `airtcp._native`: what the Python package `airtcp` (in `python/airtcp`) calls. Scenarios come in as text, results go
//! out as Arrow streams; everything else is Python.

mod describe;
mod paper;
mod sweep;
mod table;

use pyo3::prelude::*;

/// The native part of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<sweep::Outcome>()?;
    module.add_function(wrap_pyfunction!(sweep::run, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(paper::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(describe::describe, module)?)
}
