//! The table of congestion controllers. One file and one line here make a new one; a crate outside
//! the workspace passes its own slice of entries to [`find`].

use super::{Bbr, Controller, Cubic, Reno, Veno, Westwood};
use airtcp_core::parameters::{Value, nearest};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// One congestion controller as tables, help and files name it.
#[derive(Clone, Copy, Debug)]
pub struct ControllerEntry {
    /// Name in files.
    pub slug: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// Makes one for a connection.
    pub make: fn() -> Box<dyn Controller>,
}

impl PartialEq for ControllerEntry {
    fn eq(&self, other: &Self) -> bool {
        self.slug == other.slug
    }
}
impl Eq for ControllerEntry {}

/// Every built-in controller.
pub const CONTROLLERS: &[ControllerEntry] = &[
    ControllerEntry {
        slug: "cubic",
        about: "Window grows as a cubic function of the time since the last loss; Linux's default, with HyStart.",
        source: "RFC 9438, Linux tcp_cubic",
        make: || Box::new(Cubic::default()),
    },
    ControllerEntry {
        slug: "bbr",
        about: "A model of the path, its bandwidth and least round trip, sets pacing rate and window; version 1.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00, Linux tcp_bbr",
        make: || Box::new(Bbr::default()),
    },
    ControllerEntry {
        slug: "reno",
        about: "Slow start, one segment per round trip, half on loss.",
        source: "RFC 5681, Linux tcp_reno",
        make: || Box::new(Reno),
    },
    ControllerEntry {
        slug: "veno",
        about: "Reno that takes a loss without a backlog for random, and gives up a fifth of the window for it.",
        source: "Fu & Liew, IEEE JSAC 21(2), 2003; Linux tcp_veno",
        make: || Box::new(Veno::default()),
    },
    ControllerEntry {
        slug: "westwood",
        about: "Reno whose window after a loss is what acknowledgments say the path carries (Westwood+).",
        source: "Grieco & Mascolo, ACM CCR 34(2), 2004; Linux tcp_westwood",
        make: || Box::new(Westwood::default()),
    },
];

/// The entry called `slug`, among `own` first and then the built-in ones.
///
/// # Errors
/// A sentence with the nearest name there is.
pub fn find(slug: &str, own: &[ControllerEntry]) -> Result<ControllerEntry, String> {
    if let Some(entry) = own.iter().chain(CONTROLLERS).find(|entry| entry.slug == slug) {
        return Ok(*entry);
    }
    let slugs: Vec<&str> = own.iter().chain(CONTROLLERS).map(|entry| entry.slug).collect();
    Err(match nearest(slug, &slugs) {
        Some(near) => format!("'{slug}' is not a congestion controller; did you mean '{near}'?"),
        None => format!("'{slug}' is not a congestion controller; choose one of {}", slugs.join(", ")),
    })
}

/// Reads built-in names only; who has entries of its own resolves the name with [`find`].
impl Value for ControllerEntry {
    const KIND: &'static str = "congestion controller, \"cubic\"";
    fn read(text: &str) -> Result<Self, String> {
        find(text.trim(), &[])
    }
    fn write(&self) -> String {
        self.slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: ControllerEntry = ControllerEntry { slug: "mine", about: "", source: "", make: || Box::new(Reno) };

    #[test]
    fn a_foreign_entry_is_found_beside_the_built_in_ones() {
        assert_eq!(find("mine", &[OWN]).unwrap().slug, "mine");
        assert_eq!(find("reno", &[OWN]).unwrap().slug, "reno");
        assert!(find("mine", &[]).is_err());
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        assert!(find("qubic", &[]).unwrap_err().contains("did you mean 'cubic'?"));
    }
}
