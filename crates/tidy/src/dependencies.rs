//! The one-way dependencies: `core <- {tcp, link} <- schemes <- {sim, linux}`; `sim <- experiment <- cli`; `linux <- cli`.

use crate::Violation;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What tests need and nothing else may name.
const FOR_TESTS: &str = "airtcp-test-support";

/// Each crate of ours and the ones of ours that it may name, for building as for testing.
const ALLOWED: [(&str, &[&str]); 15] = [
    ("airtcp-core", &[]),
    ("airtcp-tcp", &["airtcp-core"]),
    ("airtcp-link", &["airtcp-core"]),
    ("airtcp-schemes", &["airtcp-core", "airtcp-tcp", "airtcp-link"]),
    ("airtcp-sim", &["airtcp-core", "airtcp-tcp", "airtcp-link", "airtcp-schemes"]),
    ("airtcp-linux", &["airtcp-core", "airtcp-tcp", "airtcp-link", "airtcp-schemes", FOR_TESTS]),
    ("airtcp-experiment", &["airtcp-core", "airtcp-tcp", "airtcp-link", "airtcp-schemes", "airtcp-sim", FOR_TESTS]),
    (
        "airtcp",
        &[
            "airtcp-core",
            "airtcp-tcp",
            "airtcp-link",
            "airtcp-schemes",
            "airtcp-sim",
            "airtcp-linux",
            "airtcp-experiment",
            FOR_TESTS,
        ],
    ),
    (FOR_TESTS, &[]),
    ("airtcp-tidy", &[]),
    ("airtcp-swarm", &["airtcp-core", "airtcp-tcp", "airtcp-link", "airtcp-schemes", "airtcp-sim"]),
    ("airtcp-drill", &["airtcp-core", "airtcp-tcp", "airtcp-linux", FOR_TESTS]),
    ("airtcp-validate", &["airtcp-core", "airtcp-drill", "airtcp-experiment", "airtcp-link", "airtcp-sim"]),
    ("airtcp-wifi", &["airtcp-core", "airtcp-linux", "airtcp-sim", FOR_TESTS]),
    ("airtcp-bench", &["airtcp-core", "airtcp-tcp", "airtcp-link", "airtcp-schemes", "airtcp-sim"]),
];

/// What `cargo metadata` says about the workspace under `root`.
pub fn metadata(root: &Path) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--locked"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Dependencies between crates of ours that go the wrong way, and crates that the rule does not know.
pub fn check(metadata: &Value) -> Vec<Violation> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let path = format!("crates/{}/Cargo.toml", name.strip_prefix("airtcp-").unwrap_or("cli"));
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            found.push(Violation::of(
                &path,
                format!("crate '{name}' has no place in the dependency rule; give it a line in crates/tidy"),
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = dependency["name"].as_str().unwrap_or_default();
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            let is_allowed = allowed.contains(&other) && (other != FOR_TESTS || kind == "dev");
            if names.contains(&other) && !is_allowed {
                found.push(Violation::of(&path, format!("{name} may not depend on {other} ({kind} dependency)")));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(dependency: &str, kind: Value) -> Value {
        json!({"packages": [
            {"name": "airtcp-core", "dependencies": [{"name": "bytes", "kind": null}]},
            {"name": "airtcp-sim", "dependencies": [{"name": "airtcp-core", "kind": null}]},
            {"name": "airtcp-tcp", "dependencies": [{"name": dependency, "kind": kind}]},
        ]})
    }

    #[test]
    fn finds_a_dependency_that_points_up() {
        assert_eq!(check(&workspace("airtcp-core", Value::Null)), []);
        let found = check(&workspace("airtcp-sim", Value::Null));
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "crates/tcp/Cargo.toml: airtcp-tcp may not depend on airtcp-sim (normal dependency)"
        );
    }

    #[test]
    fn finds_a_test_dependency_that_points_up() {
        assert_eq!(check(&workspace("airtcp-sim", json!("dev"))).len(), 1);
    }

    #[test]
    fn finds_a_product_that_needs_what_is_for_tests() {
        let linux = |kind: Value| {
            json!({"packages": [
                {"name": FOR_TESTS, "dependencies": []},
                {"name": "airtcp-linux", "dependencies": [{"name": FOR_TESTS, "kind": kind}]},
            ]})
        };
        assert_eq!(check(&linux(json!("dev"))), []);
        assert_eq!(check(&linux(Value::Null)).len(), 1);
    }

    #[test]
    fn finds_a_crate_without_a_place() {
        let found = check(&json!({"packages": [{"name": "airtcp-extra", "dependencies": []}]}));
        assert_eq!(found.len(), 1);
    }
}
