//! The machine of `make wifi`, once: it boots, a station joins, and an upload with AS-TCP arrives without acknowledgments on
//! the air. With `AIRTCP_TEST_LONG` all cells, with short uploads.

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {words}");
    words
}

/// Why the machine cannot be had here.
fn missing(root: &Path, airtcp: &Path) -> Option<&'static str> {
    if !root.join("target/wifi/linux").exists() {
        return Some("needs the kernel that `make wifi` builds");
    }
    (!airtcp.exists()).then_some("needs the program airtcp: cargo build")
}

#[test]
fn live_a_station_uploads_over_the_kernels_wifi_stack_without_acknowledgments_on_the_air() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let wifi = PathBuf::from(env!("CARGO_BIN_EXE_airtcp-wifi"));
    let airtcp = wifi.with_file_name("airtcp");
    if let Some(reason) = missing(&root, &airtcp) {
        return airtcp_test_support::skip(reason);
    }
    run(Command::new(root.join("scripts/wifi-image")).args([&airtcp, &wifi]));
    let form: &[&str] = match std::env::var_os("AIRTCP_TEST_LONG") {
        Some(_) => &["--short"],
        None => &["--smoke"],
    };
    print!("{}", run(Command::new(&wifi).args(["matrix", "--airtcp"]).arg(&airtcp).args(form).current_dir(&root)));
}
