//! What the scripts do when something is in their way.

use airtcp_tidy::tree;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A package manager that fails like apt-get while there is a file `locked`, and takes it away at its third call.
const APT_GET: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
[ -e "$here/locked" ] || exit "$(cat "$here/status")"
[ "$(wc -l <"$here/calls")" != 3 ] || [ -e "$here/forever" ] || rm "$here/locked"
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (unattended-upgr)" >&2
exit 100
"#;

struct Place(PathBuf);

impl Place {
    fn new(name: &str, files: &[&str], status: &str) -> Place {
        let place = std::env::temp_dir().join(format!("airtcp-scripts-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("apt-get"), APT_GET).unwrap();
        fs::set_permissions(place.join("apt-get"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(place.join("status"), status).unwrap();
        for file in files {
            fs::write(place.join(file), "").unwrap();
        }
        Place(place)
    }

    fn install(&self, patience: &str) -> Output {
        let path = format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(tree::root().join("scripts/apt-get"));
        command.args(["install", "nftables"]).env("PATH", path).env("AIRTCP_APT_WAIT", patience).output().unwrap()
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.0.join("calls")).unwrap().lines().filter(|call| *call == "install nftables").count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_lock_that_another_package_manager_holds_is_waited_for_and_told_once() {
    let place = Place::new("held", &["locked"], "0");
    let output = place.install("60");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!((place.calls(), said.matches("waiting for another package manager").count()), (4, 1), "{said}");
    assert!(said.contains("unattended-upgr"), "{said}");
}

#[test]
fn a_lock_that_is_held_forever_is_an_error_in_the_end() {
    let place = Place::new("forever", &["locked", "forever"], "0");
    let output = place.install("2");
    assert_eq!(output.status.code(), Some(100));
    assert!(place.calls() > 1 && String::from_utf8(output.stderr).unwrap().contains("E: Could not get lock"));
}

#[test]
fn another_error_is_told_at_once() {
    let place = Place::new("other", &[], "7");
    let output = place.install("60");
    assert_eq!((output.status.code(), place.calls()), (Some(7), 1));
}

#[test]
fn a_scheme_of_ones_own_finds_this_tree_from_anywhere() {
    let place = std::env::temp_dir().join(format!("airtcp-scripts new & own-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let place = Place(place);
    let copy = place.0.join("my-scheme");
    let make = || Command::new(tree::root().join("scripts/new-scheme")).arg(&copy).current_dir("/").output().unwrap();
    let output = make();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = make();
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("is there already"));
    // Cargo reads the copy and every crate that it names, and fetches nothing.
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--offline", "--format-version", "1", "--no-deps"])
        .current_dir(&copy)
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let tree = tree::root().canonicalize().unwrap();
    let manifest = fs::read_to_string(copy.join("Cargo.toml")).unwrap();
    let paths: Vec<&str> =
        manifest.lines().filter_map(|line| line.split("path = \"").nth(1)?.split('"').next()).collect();
    assert_eq!(paths.len(), 6);
    for path in paths {
        let found = PathBuf::from(path).join("Cargo.toml").canonicalize().unwrap();
        assert!(found.starts_with(&tree), "{path}");
    }
    assert!(!copy.join("tests/document.rs").exists() && copy.join("tests/command.rs").exists());
}
