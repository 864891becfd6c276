//! The least a gateway can do, in two forms: an element that passes everything on, and a loop
//! that does not even look at the packets. The loop is what gateways are measured against
//! (packets per second on the same devices); both divert exactly as a real gateway does.

use crate::device::{DeviceGone, TunDevice};
use airtcp_core::{Context, Element, Packet, Port};

/// Passes everything on unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct BareForwarder;

impl Element for BareForwarder {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        cx.send(port.opposite(), packet);
    }
}

/// Writes up to `batch` datagrams back to where they came from; returns how many.
///
/// # Errors
/// The device is gone.
pub fn bounce(device: &mut TunDevice, batch: usize) -> Result<usize, DeviceGone> {
    for done in 0..batch {
        if !device.read()? {
            return Ok(done);
        }
        device.send_back();
    }
    Ok(batch)
}
