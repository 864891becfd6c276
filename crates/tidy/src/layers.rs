//! What a crate below the runtimes may not do: use `std`, `unsafe` or floating point.

use crate::Violation;
use crate::rust::{code_only, without_tests, words};

/// Crates in which a protocol lives: no clock, no sockets, no floats.
pub const PROTOCOL_CRATES: [&str; 4] = ["core", "tcp", "link", "schemes"];

/// The only crate that may say `unsafe`.
pub const UNSAFE_CRATE: &str = "linux";

/// Files of protocol crates that may use floating point, and why.
pub const FLOATS_ALLOWED: [(&str, &str); 0] = [];

/// The crate of `crates/<name>/src/…`, and nothing for tests and examples.
pub fn crate_of(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

/// The `lib.rs` of a protocol crate says `no_std` and forbids `unsafe`, so that the compiler holds both.
pub fn check_attributes(path: &str, text: &str) -> Vec<Violation> {
    let is_protocol = PROTOCOL_CRATES.iter().any(|name| path == format!("crates/{name}/src/lib.rs"));
    let required = if is_protocol { ["#![no_std]", "#![forbid(unsafe_code)]"].as_slice() } else { &[] };
    required
        .iter()
        .filter(|attribute| !text.lines().any(|line| line.trim() == **attribute))
        .map(|attribute| Violation::of(path, format!("a protocol crate says {attribute}")))
        .collect()
}

/// `unsafe` outside the one crate that may have it.
pub fn check_unsafe(path: &str, text: &str) -> Vec<Violation> {
    if !path.starts_with("crates/") || path.starts_with(&format!("crates/{UNSAFE_CRATE}/")) {
        return Vec::new();
    }
    words(&code_only(text))
        .into_iter()
        .filter(|(_, word)| *word == "unsafe")
        .map(|(line, _)| Violation::at(path, line, format!("only crates/{UNSAFE_CRATE} may use unsafe")))
        .collect()
}

/// Floating point in a protocol crate: state and arithmetic are integers, equal on every machine.
pub fn check_floats(path: &str, text: &str) -> Vec<Violation> {
    let is_protocol = crate_of(path).is_some_and(|name| PROTOCOL_CRATES.contains(&name));
    let is_test_file = path.split('/').any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"));
    if !is_protocol || is_test_file || FLOATS_ALLOWED.iter().any(|(allowed, _)| *allowed == path) {
        return Vec::new();
    }
    words(&without_tests(&code_only(text)))
        .into_iter()
        .filter(|(_, word)| is_float(word))
        .map(|(line, word)| {
            Violation::at(path, line, format!("'{word}': no floating point below sim (use a fixed-point integer)"))
        })
        .collect()
}

fn is_float(word: &str) -> bool {
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    word == "f32"
        || word == "f64"
        || is_number
            && (word.contains('.') || word.ends_with("f32") || word.ends_with("f64"))
            && !word.starts_with("0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_protocol_crate_that_uses_std() {
        assert_eq!(check_attributes("crates/tcp/src/lib.rs", "//! TCP\n#![no_std]\n#![forbid(unsafe_code)]\n"), []);
        assert_eq!(check_attributes("crates/tcp/src/lib.rs", "//! TCP\n#![forbid(unsafe_code)]\n").len(), 1);
        assert_eq!(check_attributes("crates/tcp/src/lib.rs", "//! TCP, once #![no_std]\n").len(), 2);
        assert_eq!(check_attributes("crates/sim/src/lib.rs", "//! sim\n"), []);
    }

    #[test]
    fn finds_unsafe_code_outside_the_linux_crate() {
        let planted = "// unsafe\n#![forbid(unsafe_code)]\nfn f() { unsafe { g() } }";
        assert_eq!(check_unsafe("crates/sim/src/a.rs", planted)[0].line, 3);
        assert_eq!(check_unsafe("crates/sim/src/a.rs", planted).len(), 1);
        assert_eq!(check_unsafe("crates/linux/src/a.rs", planted), []);
    }

    #[test]
    fn finds_floats_of_every_spelling() {
        for planted in ["let x: f64;", "x as f32", "let x = 0.5;", "let x = 1f64;"] {
            assert_eq!(check_floats("crates/core/src/a.rs", planted).len(), 1, "{planted}");
        }
    }

    #[test]
    fn leaves_integers_comments_tests_and_upper_layers_alone() {
        let fine = "// 0.5 as f64\nlet y = x.0.1; for i in 0..9 {} let z = 0xf64; let s = \"0.5\";\n#[cfg(test)]\nmod tests { const X: f64 = 0.5; }";
        assert_eq!(check_floats("crates/core/src/a.rs", fine), []);
        assert_eq!(check_floats("crates/sim/src/a.rs", "x as f64"), []);
        assert_eq!(check_floats("crates/core/tests/a.rs", "x as f64"), []);
    }

    #[test]
    fn every_allowed_float_has_a_reason() {
        for (path, reason) in FLOATS_ALLOWED {
            assert!(reason.split_whitespace().count() >= 3, "{path} needs a reason");
        }
    }
}
