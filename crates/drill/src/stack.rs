//! What a script is run against: a TCP stack with one socket and a clock.

use crate::script::Call;
use airtcp_core::{Duration, Packet};
use core::net::IpAddr;

/// A stack under test. Times are since the script began.
pub trait Stack {
    /// Sets what `sysctl` calls `name`, before there is a socket.
    ///
    /// # Errors
    /// A sentence, if it cannot.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String>;
    /// Time begins, at a tick of the stack's clock whose number is a multiple of 64: its timers round to such multiples. Without this
    /// call it begins with the first thing that happens.
    ///
    /// # Errors
    /// A sentence, if that tick cannot be told.
    fn begin(&mut self) -> Result<(), String>;
    /// What time it is.
    fn now(&mut self) -> Duration;
    /// The application calls. `Err` is the name of an errno.
    fn call(&mut self, call: &Call) -> Result<i64, String>;
    /// A segment arrives.
    ///
    /// # Errors
    /// A sentence, if it cannot be given to the stack.
    fn inject(&mut self, packet: Packet) -> Result<(), String>;
    /// Lets time pass until `until`, or until a segment leaves: that one, and when it left.
    ///
    /// # Errors
    /// A sentence, if the stack is gone.
    fn wait(&mut self, until: Duration) -> Result<Option<(Duration, Packet)>, String>;
    /// A field of `struct tcp_info`.
    ///
    /// # Errors
    /// A sentence, if there is no such field or no connection.
    fn field(&mut self, name: &str) -> Result<i64, String>;
    /// How much earlier, and how much later, than a script says something may happen that it
    /// expects after `wait`.
    fn tolerance(&self, wait: Duration) -> (Duration, Duration);
    /// Where it runs: shown with differences.
    fn name(&self) -> &'static str;
}

/// Addresses of a script's two ends.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The stack's.
    pub local: IpAddr,
    /// The script's.
    pub remote: IpAddr,
}

impl Addresses {
    /// Documentation addresses (RFC 5737, RFC 3849).
    pub fn new(is_ipv6: bool) -> Addresses {
        let parse = |text: &str| text.parse().expect("an address");
        if is_ipv6 {
            Addresses { local: parse("2001:db8::1"), remote: parse("2001:db8:1::1") }
        } else {
            Addresses { local: parse("192.0.2.1"), remote: parse("198.51.100.1") }
        }
    }
}

/// The port of the listening end, whichever it is.
pub const SERVER_PORT: u16 = 8080;
/// The script's port where the stack listens.
pub const CLIENT_PORT: u16 = 40_000;
