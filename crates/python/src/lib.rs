//! `airtcp._native`: what the Python package `airtcp` (in `python/airtcp`) calls. Scenarios come in as text, results go
//! out as Arrow streams; everything else is Python.

mod controller;
mod describe;
mod paper;
mod sweep;
mod table;
mod watch;
mod world;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// As in the command: glibc keeps no list of free blocks for a packet's size.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The native part of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<sweep::Outcome>()?;
    module.add_class::<controller::Sock>()?;
    module.add_class::<controller::RateSample>()?;
    module.add_class::<controller::AckSample>()?;
    module.add_class::<controller::LostSegment>()?;
    module.add_class::<controller::AckEvent>()?;
    module.add_class::<controller::RxOpt>()?;
    module.add_class::<controller::CaState>()?;
    module.add_class::<controller::CaEvent>()?;
    module.add_function(wrap_pyfunction!(controller::hook_names, module)?)?;
    module.add_function(wrap_pyfunction!(controller::register, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::run, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(paper::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(describe::describe, module)?)
}
