//! What a service manager is told (sd_notify(3)): that a daemon works, that it is alive, what it does. Without one, nothing.

use airtcp_core::{Duration, Instant};
use airtcp_linux::sys::clock;
use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The connection to the service manager.
pub(crate) struct Service {
    socket: Option<UnixDatagram>,
    /// Between two signs of life, if they are wanted.
    interval: Option<Duration>,
    due: Instant,
    is_ready: bool,
}

impl Service {
    /// Of this process, as its environment says.
    pub(crate) fn of_environment() -> Service {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let patience = number("WATCHDOG_USEC").filter(|_| is_ours).map(|micros| Duration::from_nanos(micros * 1_000));
        Service::new(std::env::var_os("NOTIFY_SOCKET").and_then(connect), patience)
    }

    fn new(socket: Option<UnixDatagram>, patience: Option<Duration>) -> Service {
        // Three in time, so that two may be late.
        let interval = patience.map(|patience| Duration::from_nanos(patience.as_nanos() / 3));
        Service { socket, interval, due: Instant::ZERO, is_ready: false }
    }

    /// The daemon works; said once.
    pub(crate) fn ready(&mut self) {
        if !std::mem::replace(&mut self.is_ready, true) {
            self.say("READY=1");
        }
    }

    /// What it does now, in words.
    pub(crate) fn status(&self, text: &str) {
        self.say(&format!("STATUS={}", text.replace('\n', " ")));
    }

    /// It ends because it was told to.
    pub(crate) fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// It is alive.
    pub(crate) fn beat(&mut self) {
        self.beat_at(clock::now());
    }

    fn beat_at(&mut self, now: Instant) {
        if let Some(interval) = self.interval.filter(|_| now >= self.due) {
            self.due = now + interval;
            self.say("WATCHDOG=1");
        }
    }

    fn say(&self, what: &str) {
        if let Some(socket) = &self.socket {
            // One that does not listen is none of the daemon's concerns.
            let _ = socket.send(what.as_bytes());
        }
    }
}

/// A path, or a name in the abstract namespace that begins with `@`.
fn connect(address: OsString) -> Option<UnixDatagram> {
    let address = match address.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&address),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address.ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_manager_hears_once_that_all_is_ready_and_in_time_that_it_goes_on() {
        let name = format!("airtcp-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        manager.set_nonblocking(true).unwrap();
        let mut service = Service::new(connect(format!("@{name}").into()), Some(Duration::from_secs(3)));
        service.ready();
        service.ready();
        service.status("running,\nworker 7");
        for tick in 0..30 {
            service.beat_at(Instant::ZERO + Duration::from_millis(100) * tick);
        }
        service.stopping();
        let mut heard = Vec::new();
        let mut buffer = [0; 100];
        while let Ok(length) = manager.recv(&mut buffer) {
            heard.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
        let alive = ["WATCHDOG=1"; 3];
        assert_eq!(heard[..2], ["READY=1", "STATUS=running, worker 7"]);
        assert_eq!((&heard[2..5], &heard[5..]), (&alive.map(str::to_owned)[..], &["STOPPING=1".to_owned()][..]));
    }

    #[test]
    fn without_a_service_manager_nothing_is_said() {
        let mut service = Service::new(None, Some(Duration::from_secs(3)));
        service.ready();
        service.beat();
        assert!(connect("/nonexistent/notify".into()).is_none());
    }
}
