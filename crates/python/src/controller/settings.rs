//! What a flow sets of a controller in Python: texts, which the class reads.

use super::Definition;
use super::failure;
use super::hooks::PythonController;
use airtcp_core::Value;
use airtcp_core::parameters::{Field, ParameterError, Parameters, unknown};
use airtcp_tcp::congestion::{Controller, ControllerSettings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Values of the parameters, and which of them were set.
pub(super) struct PythonSettings {
    definition: &'static Definition,
    fields: Vec<Field>,
    given: Vec<&'static str>,
}

impl PythonSettings {
    pub(super) fn defaults(definition: &'static Definition) -> Box<dyn ControllerSettings> {
        Box::new(PythonSettings { definition, fields: definition.fields.clone(), given: Vec::new() })
    }

    fn read(&self, name: &str, text: &str) -> Result<String, String> {
        Python::attach(|py| {
            let read = self.definition.read.call1(py, (name, text)).and_then(|value| value.extract(py));
            read.map_err(|error: PyErr| error.value(py).to_string())
        })
    }

    fn make(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let values = PyDict::new(py);
        for field in &self.fields {
            values.set_item(field.name, &field.value)?;
        }
        self.definition.make.call1(py, (values,))
    }
}

impl Parameters for PythonSettings {
    fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        let Some(index) = self.fields.iter().position(|field| field.name == key) else {
            let known: Vec<&'static str> = self.fields.iter().map(|field| field.name).collect();
            return Err(unknown(key, &known));
        };
        let name = self.fields[index].name;
        let text = value.scalar().map_err(|error| ParameterError::refused(name, value.kind(), error))?;
        self.fields[index].value = self.read(name, text.trim()).map_err(|reason| ParameterError::bad(name, reason))?;
        if !self.given.contains(&name) {
            self.given.push(name);
        }
        Ok(())
    }
}

impl ControllerSettings for PythonSettings {
    fn given(&self) -> Vec<Field> {
        let field = |name: &&'static str| self.fields.iter().find(|field| field.name == *name).cloned();
        self.given.iter().filter_map(field).collect()
    }

    fn build(&self) -> Box<dyn Controller> {
        if !failure::may_call() {
            // Somebody asks for the names of what it counts.
            return Box::new(PythonController::silent(self.definition));
        }
        let built = Python::attach(|py| {
            let instance = self.make(py)?;
            PythonController::new(py, self.definition, instance.bind(py))
        });
        Box::new(built.unwrap_or_else(|error| {
            failure::note(format!("'{}' cannot be made", self.definition.slug), error);
            PythonController::silent(self.definition)
        }))
    }
}
