//! The slot that a gateway takes in its network namespace (there are few), and what a killed gateway left in it.
//!
//! A [`Lock`] holds a slot. The rules of a slot that can be taken are therefore leftovers, and only those are removed.

use super::super::error::DivertError;
use super::super::lock::Lock;
use super::plan::{PRIORITY_BASE, PROTOCOL, SLOTS, TABLE_BASE};
use crate::gateway::command::{self, CommandError};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A held place; dropping it frees it.
#[derive(Debug)]
pub struct Place {
    /// Which one.
    pub slot: u8,
    _lock: Lock,
}

fn hold_slot(slot: u8) -> Option<Lock> {
    Lock::hold(&format!("airtcp-gateway-slot-{slot}"))
}

impl Place {
    /// Takes a place for a gateway on `link`, after removing what killed ones left.
    ///
    /// # Errors
    /// All places are taken, or `ip` failed.
    pub fn take(link: &str) -> Result<Place, DivertError> {
        remove_leftovers()?;
        for step in 0..SLOTS {
            let slot = (preferred(link) + step) % SLOTS;
            if let Some(lock) = hold_slot(slot)
                && tables_are_empty(slot)
            {
                return Ok(Place { slot, _lock: lock });
            }
        }
        Err(DivertError::Full(SLOTS))
    }
}

/// The place that a gateway on `link` takes if it is free.
pub fn preferred(link: &str) -> u8 {
    link.bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % SLOTS
}

/// False if somebody else uses one of our routing tables.
fn tables_are_empty(slot: u8) -> bool {
    let first = TABLE_BASE + 2 * u32::from(slot);
    [first, first + 1].into_iter().all(|table| {
        ["-4", "-6"].into_iter().all(|family| {
            // A table that does not exist is an error to `ip`, and empty.
            command::output(&["ip", family, "route", "show", "table", &table.to_string()])
                .map_or(true, |routes| routes.trim().is_empty())
        })
    })
}

/// A routing rule as `ip -N -json rule` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Rule {
    priority: u32,
    #[serde(default)]
    table: String,
    #[serde(default)]
    protocol: String,
    fwmark: Option<String>,
    fwmask: Option<String>,
    /// Whatever else it says.
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Rule {
    /// The slot of one of our rules, `None` for a foreign rule.
    fn slot(&self) -> Option<u8> {
        let index = self.priority.checked_sub(PRIORITY_BASE)?;
        let ours = index < 2 * u32::from(SLOTS)
            && number(&self.protocol) == Some(u32::from(PROTOCOL))
            && number(&self.table) == Some(TABLE_BASE + index);
        ours.then_some((index / 2) as u8)
    }

    /// Bits of the packet mark that the rule looks at.
    fn mark_bits(&self) -> u32 {
        let mark = self.fwmark.as_deref().and_then(number).unwrap_or(0);
        // Without a mask every bit counts, but the bits set are what its owner uses.
        self.fwmask.as_deref().and_then(number).unwrap_or(mark)
    }
}

fn rules(family: &str) -> Result<Vec<Rule>, CommandError> {
    let text = command::output(&["ip", "-N", family, "-json", "rule", "show"])?;
    serde_json::from_str(&text).map_err(|error| CommandError::Failed {
        command: format!("ip {family} -json rule show"),
        message: format!("its answer is not understood: {error}"),
    })
}

/// The rules of both families; an IPv6 that is switched off has none.
fn all_rules() -> Result<Vec<(&'static str, Rule)>, CommandError> {
    let ipv4 = rules("-4")?.into_iter().map(|rule| ("-4", rule));
    let ipv6 = rules("-6").unwrap_or_default().into_iter().map(|rule| ("-6", rule));
    Ok(ipv4.chain(ipv6).collect())
}

/// What other software, and running gateways of ours, do with packet marks in routing rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkUse {
    /// Bits that foreign rules look at.
    pub foreign_bits: u32,
    /// The mask of gateways of ours that are running, if there are any.
    pub our_mask: Option<u32>,
}

/// Looks up who uses which bits of the packet mark.
///
/// # Errors
/// `ip` failed.
pub fn mark_use() -> Result<MarkUse, CommandError> {
    let mut found = MarkUse::default();
    for (_, rule) in all_rules()? {
        match rule.slot() {
            Some(_) => found.our_mask = Some(rule.mark_bits()),
            None => found.foreign_bits |= rule.mark_bits(),
        }
    }
    Ok(found)
}

/// The first foreign rule that a packet may meet differently when it comes out of a device of ours: one that looks at
/// interfaces, or ends a lookup (a kill switch, VRF).
///
/// # Errors
/// `ip` failed.
pub fn rule_in_the_way() -> Result<Option<String>, CommandError> {
    const WORDS: [&str; 4] = ["iif", "oif", "action", "l3mdev"];
    let rules = all_rules()?.into_iter().filter(|(_, rule)| rule.slot().is_none());
    let mut found = rules.filter(|(_, rule)| WORDS.iter().any(|word| rule.rest.contains_key(*word)));
    Ok(found.next().map(|(family, rule)| format!("ip {family} rule priority {}", rule.priority)))
}

/// How many of our rules there are for a place.
///
/// # Errors
/// `ip` failed.
pub fn rules_of(slot: u8) -> Result<usize, CommandError> {
    Ok(all_rules()?.into_iter().filter(|(_, rule)| rule.slot() == Some(slot)).count())
}

/// Removes the rules of gateways that were killed in this network namespace; tells how many.
///
/// # Errors
/// `ip` failed.
pub fn remove_leftovers() -> Result<usize, CommandError> {
    let ours: Vec<_> =
        all_rules()?.into_iter().filter_map(|(family, rule)| rule.slot().map(|slot| (slot, family, rule))).collect();
    let mut removed = 0;
    for (slot, family, rule) in ours {
        // Held while the rule is removed: nobody can start in this place meanwhile.
        let Some(_held) = hold_slot(slot) else { continue };
        let priority = rule.priority.to_string();
        let protocol = PROTOCOL.to_string();
        let delete = ["ip", family, "rule", "del", "priority", &priority, "lookup", &rule.table, "protocol", &protocol];
        command::output(&delete)?;
        removed += 1;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(priority: u32, table: &str, protocol: &str) -> Rule {
        let (table, protocol) = (table.to_owned(), protocol.to_owned());
        Rule { priority, table, protocol, fwmark: None, fwmask: None, rest: BTreeMap::new() }
    }

    #[test]
    fn only_rules_with_our_priority_table_and_protocol_are_ours() {
        assert_eq!(rule(73, "416703", "167").slot(), Some(1));
        assert_eq!(rule(73, "416702", "167").slot(), None);
        assert_eq!(rule(73, "416703", "kernel").slot(), None);
        assert_eq!(rule(69, "416699", "167").slot(), None);
        assert_eq!(rule(84, "416714", "167").slot(), None);
    }

    #[test]
    fn a_rule_without_a_mask_uses_the_bits_of_its_mark() {
        let rule = Rule { fwmark: Some("0xca6c".into()), ..rule(32764, "51820", "static") };
        assert_eq!(rule.mark_bits(), 0xca6c);
    }

    #[test]
    fn the_output_of_ip_is_understood() {
        let text = r#"[{"priority":0,"src":"all","table":"local","protocol":"kernel"},
            {"priority":70,"src":"all","fwmark":"0x1000000","fwmask":"0xf000000",
             "table":"416700","protocol":"167"}]"#;
        let rules: Vec<Rule> = serde_json::from_str(text).unwrap();
        assert_eq!(rules[0].slot(), None);
        assert_eq!((rules[1].slot(), rules[1].mark_bits()), (Some(0), 0x0f00_0000));
    }
}
