//! A cell in words: what differs from the defaults.

use super::{Cell, Keys, judge};
use crate::scenario::differing;
use airtcp_core::parameters::Parameters;
use airtcp_tcp::Config;
use std::fmt;

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_calm { "calm" } else { "wild" };
        writeln!(f, "{kind} cell, {} stations, ends at {}:{}", self.stations, judge::bound(self), text(&self.keys))?;
        for (station, keys) in &self.edca {
            writeln!(f, "sta{station}:{}", text(keys))?;
        }
        let (delay, rate) = (self.wire.delay.longest(), self.wire.rate.constant().map(|rate| rate.to_string()));
        writeln!(f, "wire: rate={} delay={delay}", rate.unwrap_or_default())?;
        if let Some(scheme) = &self.scheme {
            writeln!(f, "scheme: {}{}", scheme.entry.slug, text(&scheme.settings))?;
        }
        for (index, flow) in self.flows.iter().enumerate() {
            let [from, to] = flow.ends.map(name);
            let tcp = differing(&flow.tcp.fields(), &Config::without_habits().fields());
            let version = if flow.ipv6 { "IPv6" } else { "IPv4" };
            writeln!(f, "flow c{index} {from} > {to}: {} bytes, {version}, from {}:{tcp}", flow.size, flow.start)?;
        }
        Ok(())
    }
}

fn name(node: usize) -> String {
    match node {
        0 => "server".to_owned(),
        1 => "ap".to_owned(),
        station => format!("sta{}", station - 2),
    }
}

fn text(keys: &Keys) -> String {
    keys.iter().map(|(key, value)| format!(" {key}={value}")).collect()
}
