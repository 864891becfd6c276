//! Compiles the programs for the kernel in `src/bpf/c` with clang.
//!
//! Without clang each becomes an empty file: all else is built, and `airtcp cc` says what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of clang, those of a distribution's versions last; the variable `CLANG` comes first.
const NAMES: [&str; 7] = ["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"];

const FLAGS: [&str; 8] = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"];

fn main() {
    let sources = Path::new("src/bpf/c");
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let clang = find_clang();
    if clang.is_none() && std::env::var_os("CARGO_FEATURE_BPF").is_some() {
        // A file that is not there: looks again in every build.
        println!("cargo:rerun-if-changed=clang-is-missing");
        println!(
            "cargo:warning=clang is missing, so `airtcp cc` will not work; all else will (scripts/setup installs it)"
        );
    }
    let mut programs: Vec<PathBuf> =
        std::fs::read_dir(sources).expect("sources").map(|entry| entry.expect("an entry").path()).collect();
    programs.retain(|path| path.to_string_lossy().ends_with(".bpf.c"));
    for source in programs {
        let object = out.join(source.with_extension("o").file_name().expect("a file"));
        match &clang {
            Some(clang) => compile(clang, &source, &object),
            None => std::fs::write(&object, []).expect("OUT_DIR can be written"),
        }
    }
}

fn find_clang() -> Option<String> {
    std::env::var_os("CARGO_FEATURE_BPF")?;
    let chosen = std::env::var("CLANG").ok();
    let works =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    chosen.into_iter().chain(NAMES.map(str::to_owned)).find(works)
}

fn compile(clang: &str, source: &Path, object: &Path) {
    // No path of this machine in what is built.
    let here = std::env::current_dir().expect("a build script has a directory");
    let map = format!("-ffile-prefix-map={}=.", here.display());
    let status = Command::new(clang).args(FLAGS).arg(map).arg("-c").arg(source).arg("-o").arg(object).status();
    assert!(status.is_ok_and(|status| status.success()), "{clang} does not compile {}", source.display());
}
