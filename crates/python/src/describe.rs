//! What a scenario can name, as JSON.

use crate::controller;
use airtcp_experiment::metric;
use airtcp_experiment::paper::built_in;
use airtcp_experiment::results::data::{Column, TABLES};
use airtcp_experiment::scenario::BUILT_IN;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// Schemes, controllers, scenarios, papers, metrics and columns.
#[pyfunction]
pub(crate) fn describe() -> String {
    let controllers = controller::all();
    let catalogue = controller::catalogue(&controllers);
    // The tables of schemes and of controllers have entries of different types with the same fields.
    macro_rules! entries {
        ($table:expr) => {
            $table
                .iter()
                .map(|entry| {
                    let parameters: Map<String, Value> = entry
                        .fields()
                        .into_iter()
                        .map(|field| {
                            let about = json!({"default": field.value, "kind": field.kind, "about": field.about, "source": field.source});
                            (field.name.to_owned(), about)
                        })
                        .collect();
                    let value = json!({"about": entry.about, "source": entry.source, "parameters": parameters});
                    (entry.slug.to_owned(), value)
                })
                .collect::<Map<String, Value>>()
        };
    }
    let column = |column: &Column| (column.name.to_owned(), json!({"kind": column.kind.name(), "about": column.about}));
    let metrics = metric::all()
        .map(|metric| (metric.name.to_owned(), json!({"unit": metric.unit.base(), "about": metric.about})));
    let tables = TABLES.iter().map(|table| {
        let columns: Map<String, Value> = table.all().map(column).collect();
        (table.file.trim_end_matches(".parquet").to_owned(), json!({"about": table.about, "columns": columns}))
    });
    json!({
        "schemes": entries!(catalogue.schemes),
        "controllers": entries!(catalogue.controllers),
        "scenarios": BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect::<Map<String, Value>>(),
        "papers": built_in::PAPERS.iter().map(|paper| paper.slug).collect::<Vec<_>>(),
        "metrics": metrics.collect::<Map<String, Value>>(),
        "tables": tables.collect::<Map<String, Value>>(),
    })
    .to_string()
}
