//! Placing a scheme: what an element with random settings knows about its link, and parameters that the scheme accepts.

use crate::draw::Draw;
use crate::parameters::{self, Scale};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{ByteSize, Element, Rng};
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, PathEnds, Placement, SchemeEntry, Site};
use std::net::{IpAddr, Ipv4Addr};

/// Draws until the scheme accepts the whole; its defaults if it never does.
pub fn draw_settings(draw: &mut Draw, entry: &SchemeEntry, scale: &Scale) -> Vec<(String, String)> {
    const ATTEMPTS: usize = 20;
    let fields = entry.fields();
    let link = LinkFacts { rate: scale.rate, ..LinkFacts::default() };
    for _ in 0..ATTEMPTS {
        let settings = parameters::draw_settings(draw, &fields, scale);
        if make(entry, &settings, End::Near, link, MAX_MEMORY, &mut Rng::derive(1, "trial")).is_ok() {
            return settings;
        }
    }
    Vec::new()
}

/// The element at one end; the nodes at the ends of a path have addresses that nobody else has.
///
/// # Errors
/// The scheme does not accept the settings.
pub fn make(
    entry: &SchemeEntry,
    settings: &[(String, String)],
    end: End,
    link: LinkFacts,
    max_memory: ByteSize,
    rng: &mut Rng,
) -> Result<Box<dyn Element + Send>, ParameterError> {
    let ends = (entry.placement == Placement::Path).then(|| {
        let [near, far] = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(198, 51, 100, last)));
        PathEnds::Nodes(if end == End::Near { [near, far] } else { [far, near] })
    });
    let link = LinkFacts { ends, ..link };
    let choice = entry.with(settings.iter().map(|(key, value)| (key, value)))?;
    choice.settings.make(&mut Site { end, link, rng, max_memory, forecast: None })
}
