//! Devices that packets are read from and written to, as batches of datagrams and counted errors.

mod tun;

pub use tun::{DeviceCounters, DeviceGone, TunDevice};
