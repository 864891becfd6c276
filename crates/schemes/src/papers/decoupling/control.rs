//! One control TCP sender: hands out credit for data and sends a header packet for each virtual segment of them.
//!
//! `credit = cwnd - outstanding - (data forwarded - virtual bytes granted)` (DEC-7, DEC-U19). Data leave while credit is
//! positive; the last packet may overdraw it, and left-over or debit stays in the difference (DEC-X6, DEC-X17): waiting for
//! a whole packet's credit would never end with VMSS below the packet size and a window of one VMSS. A header packet
//! leaves when a whole virtual segment of data has left before it and the window takes it: data first (DEC-9), and without
//! data nothing (DEC-10). The stream that it numbers is virtual: nothing is written, nothing kept (DEC-4).
//!
//! A retransmission of a header packet always leaves (DEC-X11), and releases up to a virtual segment of new data
//! (DEC-11). What finds no data is kept for later, one virtual segment at most.

use super::departure::{Departure, Stats};
use super::header::{self, STREAM};
use super::settings::CircuitSettings;
use super::tunnel::TunnelQueue;
use airtcp_core::{Duration, FlowKey, Instant, Packet, Rng, SeqNum};
use airtcp_tcp::congestion::Pacing;
use airtcp_tcp::{Connection, Endpoint, Opening, Stream};

/// So much of a late wake-up is made good: what leaves at once then is a burst of Linux's pacing (`sk_pacing_shift`, 2^-10 s).
const CATCH_UP: Duration = Duration::from_nanos(1_000_000_000 >> 10);
/// A control TCP that failed is opened again after this.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct ControlSender {
    connection: Connection,
    dscp: u8,
    is_shaped: bool,
    /// Bytes of data forwarded by this control TCP.
    forwarded: u64,
    /// Virtual bytes granted: by header packets, and by retransmissions of them.
    granted: u64,
    released: u64,
    /// Before this the shaper lets nothing out.
    shaped_until: Instant,
    /// Data wait for the shaper.
    waits_for_shaper: bool,
    /// They waited until after `shaped_until`, because a timer came late: what should have left meanwhile leaves now.
    is_behind: bool,
    /// The connection failed: open it again then.
    reopen_at: Option<Instant>,
}

impl ControlSender {
    /// Connects at once.
    pub fn new(settings: &CircuitSettings, local: Endpoint, remote: Endpoint, rng: &mut Rng, now: Instant) -> Self {
        ControlSender {
            connection: connect(settings, local, remote, rng, now),
            dscp: settings.dscp,
            is_shaped: settings.shaper,
            forwarded: 0,
            granted: 0,
            released: 0,
            shaped_until: Instant::ZERO,
            waits_for_shaper: false,
            is_behind: false,
            reopen_at: None,
        }
    }

    /// Addresses and ports of what it sends.
    pub fn flow(&self) -> FlowKey {
        self.connection.flow()
    }

    /// The connection, for a look.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// An answer of the far end.
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) {
        self.connection.handle_segment(now, packet);
        self.note_failure(now);
    }

    /// Connects anew.
    pub fn reopen(&mut self, settings: &CircuitSettings, rng: &mut Rng, now: Instant) {
        let (local, remote) = (self.connection.local(), self.connection.remote());
        self.connection = connect(settings, local, remote, rng, now);
        self.reopen_at = None;
        // A grant that nothing has used ends with its connection; a debit stays.
        self.released -= u64::try_from(-self.owed()).unwrap_or(0);
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, settings: &CircuitSettings, rng: &mut Rng, now: Instant) {
        if self.reopen_at.is_some_and(|at| at <= now) {
            self.reopen(settings, rng, now);
        }
        self.end_wait(now);
        self.connection.handle_timeout(now);
        self.note_failure(now);
    }

    /// The earliest deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let shaper = self.waits_for_shaper.then_some(self.shaped_until);
        [self.connection.poll_timeout(), shaper, self.reopen_at].into_iter().flatten().min()
    }

    /// What may leave now: a header packet whose data have left, data that the credit lets out, or what else TCP sends.
    pub fn poll(&mut self, now: Instant, queue: &mut TunnelQueue, stats: &mut Stats) -> Option<Departure> {
        self.end_wait(now);
        self.waits_for_shaper = false;
        // Nothing is written before its data have left, but what waits for credit or the shaper waits for the network.
        self.connection.set_has_more(!queue.is_empty());
        if self.owed() >= self.vmss()
            && let Some(header) = self.header(now, stats)
        {
            return Some(Departure::Control(header));
        }
        if !queue.is_empty()
            && self.credit(now) > 0
            && self.shaper_lets_out(now)
            && let Some(data) = queue.pop(now)
        {
            self.forward(now, u64::from(data.wire_len()), stats);
            return Some(Departure::Data(data));
        }
        self.is_behind = false;
        self.transmit(now, stats).map(Departure::Control)
    }

    /// The next header packet, if the window takes one; what was lost goes before.
    fn header(&mut self, now: Instant, stats: &mut Stats) -> Option<Packet> {
        let vmss = self.connection.mss();
        let is_new = !self.connection.is_retransmission_due() && self.connection.unsent() == 0;
        if is_new && self.connection.send_room(now) >= u64::from(vmss) {
            self.granted += self.connection.write_virtual(u64::from(vmss));
        }
        self.transmit(now, stats)
    }

    /// What the connection sends, without its payload.
    fn transmit(&mut self, now: Instant, stats: &mut Stats) -> Option<Packet> {
        let before = self.connection.stats().retransmitted_segments;
        let segment = self.connection.poll_transmit(now)?;
        if segment.payload_len() == 0 {
            return Some(segment);
        }
        stats.header_packets += 1;
        if self.connection.stats().retransmitted_segments > before {
            stats.header_retransmissions += 1;
            // DEC-11; no more than one virtual segment without data to use it is kept (DEC-X11).
            let release = self.vmss().min(self.owed() + self.vmss()).max(0);
            self.released += release as u64;
        }
        header::strip(&segment, self.dscp)
    }

    fn forward(&mut self, now: Instant, bytes: u64, stats: &mut Stats) {
        self.forwarded += bytes;
        stats.data_packets += 1;
        stats.data_bytes += bytes;
        if self.shapes() {
            let rate = self.connection.sock().sk_pacing_rate;
            let span = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
            let span = Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX));
            let made_good = if self.is_behind { CATCH_UP } else { Duration::ZERO };
            self.shaped_until = self.shaped_until.max(now - made_good).saturating_add(span);
        }
    }

    /// The time for which data waited for the shaper may be over.
    fn end_wait(&mut self, now: Instant) {
        if self.waits_for_shaper && self.shaped_until <= now {
            (self.waits_for_shaper, self.is_behind) = (false, true);
        }
    }

    fn shapes(&self) -> bool {
        self.is_shaped || self.connection.sock().sk_pacing_status == Pacing::Needed
    }

    fn shaper_lets_out(&mut self, now: Instant) -> bool {
        self.waits_for_shaper = self.shapes() && self.shaped_until > now;
        !self.waits_for_shaper
    }

    /// Bytes of data that may leave now; nothing at zero or below.
    fn credit(&self, now: Instant) -> i64 {
        if !self.connection.is_established() {
            return 0;
        }
        self.connection.send_room(now) as i64 - self.connection.unsent() as i64 - self.owed()
    }

    /// Data forwarded less virtual bytes granted: what header packets are still to come for.
    fn owed(&self) -> i64 {
        self.forwarded as i64 - (self.granted + self.released) as i64
    }

    fn vmss(&self) -> i64 {
        i64::from(self.connection.mss())
    }

    fn note_failure(&mut self, now: Instant) {
        if self.connection.is_closed() && self.reopen_at.is_none() {
            self.reopen_at = Some(now + REOPEN_AFTER);
        }
    }

    /// No header packet without its data (DEC-21, goal 1), and no grant beyond one virtual segment kept.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.granted > self.forwarded {
            return Err("a control TCP sent header packets for more bytes than it forwarded data");
        }
        if self.owed() < -self.vmss() {
            return Err("a control TCP keeps more than a virtual segment of unused credit");
        }
        Ok(())
    }
}

fn connect(settings: &CircuitSettings, local: Endpoint, remote: Endpoint, rng: &mut Rng, now: Instant) -> Connection {
    let config = settings.config(settings.mss(), local.address.is_ipv4(), rng.next_u64());
    let (initial_sequence, timestamp_offset) = (SeqNum(rng.next_u64() as u32), rng.next_u64() as u32);
    let source = Stream::Virtual { id: STREAM };
    let opening = Opening { config, local, remote, initial_sequence, timestamp_offset, source };
    let mut connection = Connection::connect(&opening, now);
    // The shaper asks for it.
    connection.keep_pacing_rate();
    connection
}
