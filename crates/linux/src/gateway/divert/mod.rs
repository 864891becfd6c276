//! Diverts the traffic that a router forwards over one link into two TUN devices. When the process is gone, the router
//! forwards as before.
//!
//! Set up in an order that diverts nothing until all is in place, taken down in the reverse
//! order; see [`plan`] for the parts and why each of them fails open.

mod nft;
pub mod plan;
pub mod slot;

use super::command::{self, CommandError};
use super::config::Config;
use super::firewall::Firewall;
use super::predecessor;
use crate::sys::tun::Tun;
use nft::OwnedTable;
use plan::{DUMMY_ADDRESS, HEARTBEAT_PROTOCOL, Plan, Step, Way};
use slot::{Place, PlaceError};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Why traffic could not be diverted; nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum DivertError {
    /// Another gateway is in the way.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// `ip` or `nft` failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The device could not be made.
    #[error("the device {name} could not be made: {source}; {}", advice(.source))]
    Device {
        /// Which one.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// A setting of the own device could not be written.
    #[error("{path} could not be written: {source}; is /proc/sys read-only (a container)?")]
    Setting {
        /// Which file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) => "load the driver: modprobe tun (in a container: pass /dev/net/tun through)",
        (ErrorKind::PermissionDenied, _) => "run as root, or with CAP_NET_ADMIN",
        (_, Some(libc::EBUSY)) => "a device of that name exists; give this gateway another name",
        _ => "see `airtcp doctor`",
    }
}

/// Traffic of one link, diverted until this is dropped.
pub struct Diversion {
    plan: Plan,
    table: Option<OwnedTable>,
    rules_added: bool,
    _place: Place,
}

/// The devices of a diversion.
pub struct Devices {
    /// Carries what is about to leave through the link.
    pub out: Tun,
    /// Carries what arrived on the link.
    pub r#in: Tun,
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

/// False where the kernel has no IPv6, or new devices start with it switched off.
fn has_ipv6() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv6/conf/default/disable_ipv6").is_ok_and(|value| value.trim() == "0")
}

impl Diversion {
    /// Starts to divert. Packets go into the devices as long as heartbeats come.
    ///
    /// # Errors
    /// What stands in the way, with what to do; nothing is left behind.
    pub fn start(config: &Config) -> Result<(Diversion, Devices), DivertError> {
        let busy = |error: &PlaceError| matches!(error, PlaceError::LinkBusy(_));
        let place = predecessor::wait_out(busy, || Place::take(&config.link))?;
        let plan = make_plan(config, place.slot)?;
        let devices = Devices { out: open_device(&plan, Way::Out)?, r#in: open_device(&plan, Way::In)? };
        let mut diversion = Diversion { plan, table: None, rules_added: true, _place: place };
        for step in diversion.plan.up() {
            perform(&step)?;
        }
        diversion.table = Some(OwnedTable::load(&diversion.plan)?);
        Ok((diversion, devices))
    }

    /// What was set up.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Becomes readable when the nft table is lost; the gateway must then start anew.
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.table.as_ref().map(OwnedTable::watch)
    }

    /// Stops diverting; packets in the devices can still be read and written.
    pub fn stop_marking(&mut self) {
        if let Some(table) = self.table.take() {
            table.unload();
        }
    }
}

impl Drop for Diversion {
    fn drop(&mut self) {
        self.stop_marking();
        if !std::mem::take(&mut self.rules_added) {
            return;
        }
        for step in self.plan.down() {
            // After a start that failed half-way, some rules do not exist.
            if let Err(error) = perform(&step) {
                tracing::debug!("{error}");
            }
        }
    }
}

fn open_device(plan: &Plan, way: Way) -> Result<Tun, DivertError> {
    let name = plan.device(way);
    let exists = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
    predecessor::wait_out(exists, || Tun::open(&name)).map_err(|source| DivertError::Device { name, source })
}

fn perform(step: &Step) -> Result<(), DivertError> {
    match step {
        Step::Run(words) => command::output(words).map(drop).map_err(DivertError::from),
        Step::Write { path, value } => write_setting(path, value),
    }
}

/// A setting that already has its value need not be writable.
fn write_setting(path: &str, value: &str) -> Result<(), DivertError> {
    if std::fs::read_to_string(path).is_ok_and(|present| present.trim() == value) {
        return Ok(());
    }
    std::fs::write(Path::new(path), value).map_err(|source| DivertError::Setting { path: path.to_owned(), source })
}

/// The packet that keeps the kernel diverting: an IPv4 header and nothing else, which our own
/// nft rule takes before anybody else sees it.
pub fn heartbeat() -> [u8; 20] {
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
