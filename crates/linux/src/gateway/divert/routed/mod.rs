//! The second best way, for kernels that run no program at the link: marks and policy routes take packets on their way
//! through the router; see [`plan`] for the parts and why each of them fails open.
//!
//! A packet that comes back from a device enters the router once more: it loses a hop, and rules that look at interfaces
//! or connections may see another packet than the one that arrived. So this way is refused where there are such rules
//! ([`in_the_way`]), and ends when some appear.

mod nft;
pub mod plan;
pub mod slot;

use super::error::DivertError;
use super::step;
use crate::gateway::command::CommandError;
use crate::gateway::config::Config;
use crate::gateway::firewall::Firewall;
use crate::sys::netlink::RuleNews;
use crate::sys::tun::{OFFLOAD_HEADER, Tun};
use nft::OwnedTable;
use plan::{DUMMY_ADDRESS, HEARTBEAT_PROTOCOL, Plan};
use slot::Place;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// The kernel has nothing left to do on a heartbeat.
const NO_OFFLOAD: [u8; OFFLOAD_HEADER] = [0; OFFLOAD_HEADER];

/// Traffic of one link, diverted until this is dropped.
pub struct RoutedDiversion {
    plan: Plan,
    table: Option<OwnedTable>,
    /// Takes the heartbeats.
    out: Tun,
    news: Option<RuleNews>,
    /// Rules that were made.
    rules: usize,
    _place: Place,
}

/// The plan for a configuration as it would be carried out here and now, in the place `slot`.
///
/// # Errors
/// `ip` failed.
pub fn make_plan(config: &Config, slot: u8) -> Result<Plan, CommandError> {
    let marks = slot::mark_use()?;
    let foreign_bits = marks.foreign_bits | Firewall::read()?.mark_bits();
    Ok(Plan {
        name: config.name.clone(),
        link: config.link.clone(),
        slot,
        mask: marks.our_mask.unwrap_or_else(|| plan::choose_mask(foreign_bits)),
        ipv6: has_ipv6(),
    })
}

/// What of this router's rules this way would break; `None` if nothing.
///
/// # Errors
/// `ip` or `nft` failed.
pub fn in_the_way(link: &str) -> Result<Option<String>, CommandError> {
    if let Some(rule) = Firewall::read()?.in_the_way() {
        return Ok(Some(rule));
    }
    if let Some(rule) = slot::rule_in_the_way()? {
        return Ok(Some(format!("the rule `{rule}` looks at interfaces or ends a lookup")));
    }
    let is_on = |interface: &str| {
        let path = format!("/proc/sys/net/ipv4/conf/{interface}/src_valid_mark");
        std::fs::read_to_string(path).is_ok_and(|value| value.trim() != "0")
    };
    let by_mark = ["all", link].into_iter().any(is_on);
    Ok(by_mark.then(|| "sources are checked with the packet mark (src_valid_mark)".to_owned()))
}

/// False where the kernel has no IPv6, or new devices start with it switched off.
fn has_ipv6() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv6/conf/default/disable_ipv6").is_ok_and(|value| value.trim() == "0")
}

impl RoutedDiversion {
    /// Sets everything up, in an order that diverts nothing until all is in place; the devices exist already.
    ///
    /// # Errors
    /// What stands in the way, with what to do; nothing is left behind.
    pub fn start(config: &Config, out: &Tun) -> Result<RoutedDiversion, DivertError> {
        refuse(&config.link)?;
        let place = Place::take(&config.link)?;
        let plan = make_plan(config, place.slot)?;
        let out = out.try_clone().map_err(|source| DivertError::Device { name: out.name().to_owned(), source })?;
        let mut diversion = RoutedDiversion { plan, table: None, out, news: None, rules: 0, _place: place };
        for step in diversion.plan.up() {
            step::perform(&step)?;
        }
        diversion.rules = slot::rules_of(diversion.plan.slot)?;
        diversion.table = Some(OwnedTable::load(&diversion.plan)?);
        match RuleNews::open() {
            Ok(news) => diversion.news = Some(news),
            Err(error) => tracing::warn!("changes of the router's rules will not be seen: {error}"),
        }
        Ok(diversion)
    }

    /// See [`super::Diversion::beat`].
    pub(super) fn beat(&mut self, wanted: bool) -> Result<(), DivertError> {
        if self.news.as_ref().is_some_and(RuleNews::arrived) {
            refuse(&self.plan.link)?;
            if slot::rules_of(self.plan.slot)? < self.rules {
                return Err(DivertError::Lost("somebody deleted the routing rules".into()));
            }
        }
        if wanted {
            // Refused for want of memory it is missed once; nine more come before it matters.
            let _ = self.out.send(&[IoSlice::new(&NO_OFFLOAD), IoSlice::new(&heartbeat())]);
        }
        Ok(())
    }

    /// Becomes readable when the nft table is lost; the gateway must then start anew.
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.table.as_ref().map(OwnedTable::watch)
    }

    /// Stops diverting; packets in the devices can still be read and written.
    pub(super) fn stop_marking(&mut self) {
        if let Some(table) = self.table.take() {
            table.unload();
        }
    }
}

fn refuse(link: &str) -> Result<(), DivertError> {
    match in_the_way(link)? {
        None => Ok(()),
        Some(rule) => Err(DivertError::Refused(format!(
            "{rule}, which policy routes would break; a kernel and a build with BPF are needed here"
        ))),
    }
}

impl Drop for RoutedDiversion {
    fn drop(&mut self) {
        self.stop_marking();
        for step in self.plan.down() {
            // After a start that failed half-way, some rules do not exist.
            if let Err(error) = step::perform(&step) {
                tracing::debug!("{error}");
            }
        }
    }
}

/// The packet that keeps the kernel diverting: an IPv4 header and nothing else, which our own
/// nft rule takes before anybody else sees it.
fn heartbeat() -> [u8; 20] {
    let address = DUMMY_ADDRESS.octets();
    let mut packet = [0u8; 20];
    packet[0] = 0x45;
    packet[3] = 20;
    packet[8] = 1;
    packet[9] = HEARTBEAT_PROTOCOL;
    packet[12..16].copy_from_slice(&address);
    packet[16..20].copy_from_slice(&address);
    let sum: u32 = packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heartbeat_has_a_correct_header_checksum() {
        let words = heartbeat();
        let sum: u32 = words.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
