//! A scenario in words: one line per node count, link, scheme and flow, with only what differs from the defaults.

use super::{FlowPlan, LinkPlan, Scenario, SchemePlan, TrunkPlan, bound};
use airtcp_core::parameters::{Field, Parameters};
use airtcp_link::LinkSettings;
use airtcp_tcp::Config;
use std::fmt;

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.near_wrap { ", sequence numbers just below the wrap" } else { "" };
        writeln!(
            f,
            "seed {}: {} nodes, heals at {}, ends at {}{place}",
            self.seed,
            self.nodes,
            self.heal,
            bound::end(self)
        )?;
        for (index, link) in self.links.iter().enumerate() {
            write_link(f, index, link)?;
        }
        if let Some(TrunkPlan { ends: [from, to], scheme }) = &self.trunk {
            writeln!(f, "trunk n{from} > n{to}: {}{}", scheme.entry.slug, settings(scheme))?;
        }
        for (index, flow) in self.flows.iter().enumerate() {
            write_flow(f, index, flow)?;
        }
        Ok(())
    }
}

fn write_link(f: &mut fmt::Formatter<'_>, index: usize, link: &LinkPlan) -> fmt::Result {
    let [a, b] = link.ends;
    let [forward, reverse] = &link.directions;
    writeln!(f, "link l{index} n{a} > n{b}:{}", differing(&forward.fields(), &LinkSettings::default().fields()))?;
    if forward != reverse {
        writeln!(f, "link l{index} n{b} > n{a}:{}", differing(&reverse.fields(), &LinkSettings::default().fields()))?;
    }
    if let Some(scheme) = &link.scheme {
        writeln!(f, "scheme s{index} on l{index}: {}{}", scheme.entry.slug, settings(scheme))?;
    }
    Ok(())
}

fn settings(scheme: &SchemePlan) -> String {
    scheme.settings.iter().map(|(key, value)| format!(" {key}={value}")).collect()
}

fn write_flow(f: &mut fmt::Formatter<'_>, index: usize, flow: &FlowPlan) -> fmt::Result {
    let [from, to] = flow.ends;
    let size = flow.size.map_or_else(|| "endless".to_owned(), |size| format!("{size} bytes"));
    let version = if flow.ipv6 { "IPv6" } else { "IPv4" };
    let config = differing(&flow.tcp.fields(), &Config::without_habits().fields());
    writeln!(
        f,
        "flow f{index} n{from} > n{to}: {size}, {version},{} from {}:{config}",
        flow.socket.describe(),
        flow.start
    )
}

pub(crate) fn differing(fields: &[Field], defaults: &[Field]) -> String {
    let changed = fields.iter().zip(defaults).filter(|(field, default)| field.value != default.value);
    changed.map(|(field, _)| format!(" {}={}", field.name, field.value)).collect()
}
