//! The operators' page has a section for everything that a daemon can say, with what it means and what to do.

use crate::gateway::control::Ignored;
use crate::notice::What;
use airtcp_core::DropReason;

const PAGE: &str = include_str!("../../../docs/operations.md");

/// The part of the page below a heading of the second level.
fn part(heading: &str) -> &'static str {
    let start = PAGE.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no part '{heading}'"));
    let rest = &PAGE[start + 4..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// Fails unless the part has exactly these sections, each with its two sentences.
fn assert_explained(heading: &str, labels: impl Iterator<Item = &'static str>) {
    let sections: Vec<(&str, &str)> =
        part(heading).split("\n### ").skip(1).filter_map(|s| s.split_once('\n')).collect();
    for (name, text) in &sections {
        assert!(text.contains("*Means:* ") && text.contains("*Do:* "), "{heading}: {name} lacks a sentence");
    }
    let mut found: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
    let mut wanted: Vec<&str> = labels.collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted, "{heading}");
}

#[test]
fn every_event_of_the_log_is_explained() {
    assert_explained("Events of the log", What::ALL.iter().map(|what| what.label()));
}

#[test]
fn every_reason_to_ignore_a_message_is_explained() {
    assert_explained("Why messages are ignored", Ignored::ALL.iter().map(|reason| reason.label()));
}

#[test]
fn every_reason_to_drop_a_packet_is_explained() {
    let own = crate::gateway::runtime::DROP_REASONS;
    assert_explained("Why packets are dropped", DropReason::COMMON.iter().chain(own).map(|reason| reason.label()));
}
