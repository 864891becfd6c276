//! Where packets come from and go to: devices, seen as batches of datagrams and counted errors.

mod tun;

pub use tun::{DeviceCounters, DeviceGone, TunDevice};
