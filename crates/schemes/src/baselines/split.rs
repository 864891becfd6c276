//! The split connection of I-TCP (Bakre & Badrinath; SPEC R-6, AST-16): a [`Proxy`] before the lossy link.

use crate::hop::check_mtu;
use crate::proxy::{Proxy, ProxySettings};
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use alloc::boxed::Box;

/// The split connection's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "split",
    about: "A gateway before the link ends every TCP connection and opens its own across the link (I-TCP)",
    source: "Bakre & Badrinath, I-TCP: Indirect TCP for Mobile Hosts; SPEC R-6",
    placement: Placement::NearEnd,
    keeps_end_to_end: false,
    reports: Reports::NONE,
    settings: || settings_for(make),
};

fn make(settings: &ProxySettings, site: &mut Site<'_>) -> Made {
    check_mtu(settings.mtu)?;
    Ok(Box::new(Proxy::new(settings, site)))
}
