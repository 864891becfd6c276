//! Fixed window: TCP that keeps the same number of segments on their way, whatever is lost.
//!
//! On a path of one's own this fills the bottleneck without a controller's guesses; on a shared one it is unfair.

use airtcp_core::{Duration, Event, Instant, Packet, parameters};
use airtcp_schemes::socket::{FlowEnd, Socket, SocketEntry, SocketSettings, SocketSite};
use airtcp_tcp::{Config, Connection, Opening, Stats, congestion};

/// Its line in the table of sockets.
pub const ENTRY: SocketEntry = SocketEntry {
    slug: "fixed-window",
    about: "TCP that keeps the same number of segments on their way, whatever is lost",
    has_size: true,
    control: "tcp",
    counters: COUNTERS,
    settings: || Box::new(Settings::default()),
};

parameters! {
    /// What a file can set.
    pub struct Settings {
        /// Segments on their way.
        pub window: u32 = 20, "ours: 240 kbit at 1500 bytes, 12 Mbit/s at a round trip of 20 ms";
    }
}

airtcp_core::declare! { Event, COUNTERS:
    /// Acknowledgments that came back.
    ACKS = "acks",
}

impl SocketSettings for Settings {
    fn connect(&self, site: &mut SocketSite<'_>, now: Instant) -> FlowEnd {
        let unlimited = congestion::find("unlimited", &[]).expect("it is in the table");
        let config =
            Config { controller: unlimited.into(), max_cwnd: Some(self.window), ..site.opening.config.clone() };
        let opening = Opening { config, ..site.opening.clone() };
        FlowEnd::Other(Box::new(FixedWindow { tcp: Connection::connect(&opening, now), acks: 0 }))
    }
}

/// The sending end; the receiver is plain TCP.
struct FixedWindow {
    tcp: Connection,
    acks: u64,
}

impl Socket for FixedWindow {
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        self.acks += 1;
        self.tcp.handle_segment(now, packet);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.tcp.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tcp.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tcp.handle_timeout(now);
    }

    fn stats(&self) -> Stats {
        *self.tcp.stats()
    }

    fn connection(&self) -> Option<&Connection> {
        Some(&self.tcp)
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        Some(&mut self.tcp)
    }

    fn window(&self) -> (u64, Duration) {
        (self.tcp.cwnd_bytes(), self.tcp.srtt().unwrap_or(Duration::ZERO))
    }

    fn counts(&self) -> Vec<(Event, u64)> {
        vec![(ACKS, self.acks)]
    }
}
