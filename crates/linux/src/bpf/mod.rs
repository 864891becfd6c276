//! Congestion controllers in the kernel, as BPF programs (`struct_ops`), twins of those in `airtcp_tcp::congestion`.
//!
//! A controller is one C file in `c/` and a line in [`PROGRAMS`]. Loaded, any socket of the machine may choose it by its
//! name: by the option `TCP_CONGESTION`, by route (`congctl`), by sysctl in a namespace. [`Registration`] is a
//! controller for as long as the process lives; [`pinned`] ones outlive it. Removed, it takes no new sockets, and is gone
//! with the last that has it.

mod error;
#[cfg(feature = "bpf")]
mod object;
#[cfg(not(feature = "bpf"))]
#[path = "absent.rs"]
mod object;
pub mod pinned;

pub use error::BpfError;
pub use object::{Registration, check};

use airtcp_core::Duration;
use airtcp_core::parameters::{ParameterError, Parameters, nearest};
use airtcp_tcp::congestion::newzag::{self, DeviationFrom, Lda};
use airtcp_tcp::congestion::{ControllerChoice, find};

/// Where loaded controllers are: below the BPF file system.
pub const ROOT: &str = "/sys/fs/bpf/airtcp/cc";

/// A controller that can be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name, that of its twin and of the `struct tcp_congestion_ops` in its file.
    pub slug: &'static str,
    /// Compiled; empty where there was no clang.
    object: &'static [u8],
    /// The bytes of its C settings, from key and value as text.
    settings: Settings,
    /// And back.
    options: fn(&[u8]) -> Options,
}

/// Every parameter of a program with its value as text, in the order of its twin's.
pub type Options = Vec<(String, String)>;

/// From key and value as text to the bytes of a C structure.
type Settings = fn(&[(String, String)]) -> Result<Vec<u8>, ParameterError>;

/// Every controller that can be loaded.
pub const PROGRAMS: &[Program] = &[Program {
    slug: "newzag",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/newzag.bpf.o")),
    settings: |settings| {
        Ok(newzag_settings(&newzag::Settings::with(settings.iter().map(|(key, value)| (key, value)))?))
    },
    options: newzag_options,
}];

/// The program called `slug`.
///
/// # Errors
/// There is none.
pub fn program(slug: &str) -> Result<&'static Program, BpfError> {
    PROGRAMS.iter().find(|program| program.slug == slug).ok_or_else(|| {
        let slugs: Vec<&str> = PROGRAMS.iter().map(|program| program.slug).collect();
        BpfError::Unknown { name: slug.to_owned(), nearest: nearest(slug, &slugs), all: slugs.join(", ") }
    })
}

impl Program {
    /// What it is loaded with if only `settings` are given.
    ///
    /// # Errors
    /// A parameter that it does not have, or a value that is none.
    pub fn options(&self, settings: &[(String, String)]) -> Result<Options, ParameterError> {
        Ok((self.options)(&(self.settings)(settings)?))
    }

    /// Names of its counters, in their order in the map.
    pub fn counter_names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if let Ok(twin) = find(self.slug, &[]) {
            ControllerChoice::from(twin).build().get_info(&mut |name, _| names.push(name));
        }
        names
    }
}

/// True if sockets of this machine may choose `name` now.
pub fn is_available(name: &str) -> bool {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    list.is_ok_and(|list| list.split_whitespace().any(|word| word == name))
}

/// `struct newzag_settings` of `c/newzag.h`.
pub fn newzag_settings(settings: &newzag::Settings) -> Vec<u8> {
    let words = [
        u32::from(settings.lda == Lda::Original),
        settings.y.shift(),
        u32::from(settings.deviation_from == DeviationFrom::OldMean),
        u32::try_from(settings.tick_us()).unwrap_or(u32::MAX),
        u32::from(settings.timeout_leaves_two),
        u32::from(settings.judges_timeouts),
        settings.max_backlog,
    ];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// The settings that [`newzag_settings`] encoded, as text; `None` if the bytes are not its own.
fn newzag_options(bytes: &[u8]) -> Options {
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    let [is_original, shift, from_old_mean, tick_us, timeout_leaves_two, judges_timeouts, max_backlog] = words[..]
    else {
        return Options::new();
    };
    let mut settings = newzag::Settings {
        lda: if is_original != 0 { Lda::Original } else { Lda::Adjusted },
        deviation_from: if from_old_mean != 0 { DeviationFrom::OldMean } else { DeviationFrom::NewMean },
        clock: Duration::from_micros(u64::from(tick_us)),
        timeout_leaves_two: timeout_leaves_two != 0,
        judges_timeouts: judges_timeouts != 0,
        max_backlog,
        ..newzag::Settings::default()
    };
    match settings.set("y", &format!("-{shift}").into()) {
        Ok(()) => settings.fields().into_iter().map(|field| (field.name.to_owned(), field.value)).collect(),
        Err(_) => Options::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_twin_with_the_same_parameters_and_counters() {
        for program in PROGRAMS {
            let twin = find(program.slug, &[]).unwrap();
            let defaults: Vec<_> =
                twin.fields().into_iter().map(|field| (field.name.to_owned(), field.value)).collect();
            assert!(!(program.settings)(&defaults).unwrap().is_empty() && !program.counter_names().is_empty());
            assert!(program.slug.len() < 16, "the kernel's names have at most 15 characters");
        }
    }

    #[test]
    fn options_are_read_back_from_what_the_kernel_holds() {
        let program = program("newzag").unwrap();
        let defaults = program.options(&[]).unwrap();
        for field in find("newzag", &[]).unwrap().fields() {
            assert!(defaults.contains(&(field.name.to_owned(), field.value.clone())), "{}", field.name);
        }
        let other = [
            ("lda", "original"),
            ("y", "-7"),
            ("deviation_from", "old-mean"),
            ("clock", "10ms"),
            ("timeout_leaves_two", "true"),
            ("judges_timeouts", "true"),
            ("max_backlog", "0"),
        ];
        let other = other.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(program.options(&other).unwrap(), other);
        assert_eq!(newzag_options(&[0; 4]), []);
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        assert_eq!(
            program("newzga").unwrap_err().to_string(),
            "there is no program 'newzga' for the kernel; did you mean 'newzag'?"
        );
        assert_eq!(
            program("cubic").unwrap_err().to_string(),
            "there is no program 'cubic' for the kernel; there are: newzag"
        );
    }
}
