//! The table of congestion controllers. One file and one line here make a new one; a crate outside
//! the workspace passes its own slice of entries to [`find`].

use super::{Bbr, Bbr3, Blind45, ControllerSettings, Cubic, Dctcp, Newzag, Reno, Unlimited, Vegas, Veno, Westwood};
use super::{plain, settings_for, zigzag};
use airtcp_core::parameters::{Field, nearest};
use airtcp_core::{Value, ValueError, ValueType};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One congestion controller as tables, help and files name it.
#[derive(Clone, Copy)]
pub struct ControllerEntry {
    /// Name in files.
    pub slug: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// The Linux kernel brings one of this name. What it does not bring is compared with `reno` in control runs.
    pub in_kernel: bool,
    /// Its settings with their defaults.
    pub settings: &'static (dyn Fn() -> Box<dyn ControllerSettings> + Sync),
}

impl ControllerEntry {
    /// Its parameters with their defaults.
    pub fn fields(&self) -> Vec<Field> {
        (self.settings)().fields()
    }
}

impl fmt::Debug for ControllerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug)
    }
}

impl PartialEq for ControllerEntry {
    fn eq(&self, other: &Self) -> bool {
        self.slug == other.slug
    }
}
impl Eq for ControllerEntry {}

/// Reno, by name: what others are built on and compared with.
pub const RENO: ControllerEntry = ControllerEntry {
    slug: "reno",
    about: "Slow start, then one segment per round trip; half the window after a loss.",
    source: "RFC 5681, Linux tcp_reno",
    in_kernel: true,
    settings: &plain::<Reno>,
};

/// Every built-in controller.
pub const CONTROLLERS: &[ControllerEntry] = &[
    ControllerEntry {
        slug: "cubic",
        about: "Window grows as a cubic function of the time since the last loss; Linux's default, with HyStart.",
        source: "RFC 9438, Linux tcp_cubic",
        in_kernel: true,
        settings: &|| settings_for(Cubic::new),
    },
    ControllerEntry {
        slug: "bbr",
        about: "Pacing rate and window follow a model of the path: its bandwidth and least round trip; version 1.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00, Linux tcp_bbr",
        in_kernel: true,
        settings: &plain::<Bbr>,
    },
    ControllerEntry {
        slug: "bbr3",
        about: "BBR whose model loss bounds, too, and that leaves room for others; it has no answer to ECN.",
        source: "draft-ietf-ccwg-bbr-06; google/bbr, branch v3",
        in_kernel: false,
        settings: &plain::<Bbr3>,
    },
    RENO,
    ControllerEntry {
        slug: "dctcp",
        about: "Reno that takes from its window by the share of its segments that were marked (ECN); for data centres, \
                before queues that mark from a short length on.",
        source: "RFC 8257; Alizadeh et al., SIGCOMM 2010; Linux tcp_dctcp",
        in_kernel: true,
        settings: &|| settings_for(Dctcp::new),
    },
    ControllerEntry {
        slug: "veno",
        about: "Reno that takes a loss for random if there is no backlog, and then reduces the window by a fifth only.",
        source: "Fu & Liew, IEEE JSAC 21(2), 2003; Linux tcp_veno",
        in_kernel: true,
        settings: &plain::<Veno>,
    },
    ControllerEntry {
        slug: "westwood",
        about: "Reno that sets its window after a loss from the bandwidth that acknowledgments show (Westwood+).",
        source: "Grieco & Mascolo, ACM CCR 34(2), 2004; Linux tcp_westwood",
        in_kernel: true,
        settings: &plain::<Westwood>,
    },
    ControllerEntry {
        slug: "newzag",
        about: "Reno that takes a loss for random if the round trip is short, and then reduces the window by a fifth only.",
        source: "Lien, Reeve & Lee, Improving TCP Performance Over Wireless Networks",
        in_kernel: false,
        settings: &|| settings_for(Newzag::new),
    },
    ControllerEntry {
        slug: "zigzag",
        about: "NewZag with the one-way trip time from timestamps, as in ZigZag.",
        source: "Cen, Cosman & Voelker, IEEE/ACM ToN 11(5), 2003; R-23",
        in_kernel: false,
        settings: &|| settings_for(zigzag),
    },
    ControllerEntry {
        slug: "blind45",
        about: "Reno that reduces the window by a fifth only, after every loss or after a random share of them.",
        source: "ours, to tell what NewZag's judgement is worth (NZG-X7)",
        in_kernel: false,
        settings: &|| settings_for(Blind45::new),
    },
    ControllerEntry {
        slug: "vegas",
        about: "Window that keeps two to four segments waiting in the path's queues; yields to senders that fill them.",
        source: "Brakmo & Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas",
        in_kernel: true,
        settings: &|| settings_for(Vegas::new),
    },
    ControllerEntry {
        slug: "unlimited",
        about: "No congestion control: the window has no limit. Only for a sender that something else limits, such as a circuit.",
        source: "Wang & Kung, Use of TCP Decoupling, section 5",
        in_kernel: false,
        settings: &plain::<Unlimited>,
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

/// Reads built-in names only; a caller with entries of its own resolves the name with [`find`].
impl ValueType for ControllerEntry {
    const KIND: &'static str = "congestion controller, \"cubic\"";
    fn read(value: &Value) -> Result<Self, ValueError> {
        Ok(find(value.scalar()?.trim(), &[])?)
    }
    fn write(&self) -> String {
        self.slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: ControllerEntry =
        ControllerEntry { slug: "mine", about: "", source: "", in_kernel: false, settings: &plain::<Reno> };

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
