//! A relay that drops a packet in a thousand and tells nobody.

use super::{Made, relay};
use airtcp_core::Probability;
use airtcp_core::parameters::NoParameters;
use airtcp_schemes::Site;

pub fn make<const PLANTED: bool>(_: &NoParameters, _: &mut Site<'_>) -> Made {
    relay(|cx, packet| {
        let vanishes = cx.rng().chance(Probability::ratio(1, 1000));
        (!(PLANTED && vanishes)).then_some(packet)
    })
}
