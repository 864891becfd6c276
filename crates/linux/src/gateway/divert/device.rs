//! The two TUN devices of a gateway. They are gone when the process is.

use super::error::DivertError;
use crate::gateway::estate::Estate;
use crate::gateway::predecessor;
use crate::sys::tun::Tun;
use std::io;

/// Packets that the kernel keeps in a device for a worker that is busy.
pub const DEVICE_QUEUE_PACKETS: u32 = 8_192;

/// The direction of diverted traffic, seen from the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// About to leave through the link.
    Out,
    /// Arrived on the link.
    In,
}

impl Way {
    /// Both.
    pub const ALL: [Way; 2] = [Way::Out, Way::In];

    /// The device that carries packets of this direction for the gateway `name`.
    pub fn device(self, name: &str) -> String {
        match self {
            Way::Out => format!("{name}-out"),
            Way::In => format!("{name}-in"),
        }
    }
}

/// The devices of a diversion.
pub struct Devices {
    /// Carries what is about to leave through the link.
    pub out: Tun,
    /// Carries what arrived on the link.
    pub r#in: Tun,
}

impl Devices {
    /// Makes them, or has them from the one before.
    pub(super) fn open(name: &str, estate: &mut Estate) -> Result<Devices, DivertError> {
        Ok(Devices { out: open(name, Way::Out, estate)?, r#in: open(name, Way::In, estate)? })
    }
}

/// What an estate calls a device.
pub fn estate_name(device: &str) -> String {
    format!("device {device}")
}

fn open(name: &str, way: Way, estate: &mut Estate) -> Result<Tun, DivertError> {
    let name = way.device(name);
    if let Some(device) = estate.take(&estate_name(&name)) {
        return Tun::adopt(device, &name).map_err(|source| DivertError::Device { name, source });
    }
    let exists = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
    predecessor::wait_out(exists, || Tun::open_with_offloads(&name))
        .map_err(|source| DivertError::Device { name, source })
}
