//! The sending end of a circuit (DEC-1): everybody who takes packets from its tunnel queue.

use super::control::ControlSender;
use super::departure::{Departure, Stats};
use super::guarantee::Guarantee;
use super::settings::CircuitSettings;
use super::tunnel::TunnelQueue;
use airtcp_core::{Backlog, DropReason, Instant, Packet, Rng};
use airtcp_link::Queue;
use airtcp_tcp::{Connection, Endpoint};
use alloc::vec::Vec;
use core::net::IpAddr;

/// Tunnel queue, GMB sender and control TCPs.
///
/// Call [`Circuit::poll_transmit`] until it returns nothing after every [`Circuit::offer`], [`Circuit::handle_control`] and
/// [`Circuit::handle_timeout`]; then ask [`Circuit::poll_timeout`] when to come back. The control TCPs connect by
/// themselves (DEC-3); data wait until one is open, and one that fails is opened again after a second.
#[derive(Debug)]
pub struct Circuit {
    settings: CircuitSettings,
    queue: TunnelQueue,
    guarantee: Option<Guarantee>,
    /// All drain the one queue (DEC-14).
    controls: Vec<ControlSender>,
    /// The control TCP that is asked first: in turn, by header packets, so that few data are shared as many are.
    turn: usize,
    stats: Stats,
    rng: Rng,
}

impl Circuit {
    /// A circuit from `local` to `remote`, addresses of one family; `settings` were checked. `rng` gives the connections'
    /// initial numbers.
    pub fn new(settings: &CircuitSettings, local: IpAddr, remote: IpAddr, rng: &mut Rng, now: Instant) -> Circuit {
        let mut rng = Rng::derive(rng.next_u64(), "circuit");
        let remote = Endpoint { address: remote, port: settings.port };
        let controls = (1..=u16::from(settings.controls)).map(|number| {
            // Never the far end's own, so that circuits in both directions between two boxes can be told apart.
            let local = Endpoint { address: local, port: settings.port.wrapping_add(number) };
            ControlSender::new(settings, local, remote, &mut rng, now)
        });
        Circuit {
            queue: TunnelQueue::new(settings.tunnel),
            guarantee: settings.gmb.filter(|rate| rate.bps() > 0).map(|rate| Guarantee::new(rate, now)),
            controls: controls.collect(),
            turn: 0,
            stats: Stats::default(),
            settings: settings.clone(),
            rng,
        }
    }

    /// The same with another tunnel queue than the FIFO of `tunnel` packets: one that drops what it does not want
    /// ([`Circuit::take_dropped`]) and takes everything.
    #[must_use]
    pub fn with_queue(mut self, queue: &Queue, max_memory: u64, rng: &mut Rng) -> Circuit {
        self.queue = TunnelQueue::under(queue, max_memory, Rng::derive(rng.next_u64(), "tunnel queue"));
        self
    }

    /// Opens every control TCP anew.
    pub fn reopen(&mut self, now: Instant) {
        for control in &mut self.controls {
            control.reopen(&self.settings, &mut self.rng, now);
        }
    }

    /// What the tunnel queue dropped, until there is no more.
    pub fn take_dropped(&mut self) -> Option<(Packet, DropReason)> {
        self.queue.take_dropped()
    }

    /// The next packet of the tunnel queue for somebody who does not ask for credit.
    pub fn take_unasked(&mut self, now: Instant) -> Option<Packet> {
        self.queue.pop(now)
    }

    /// Packets that the tunnel queue still takes. (DEC-U5)
    pub fn room(&self) -> usize {
        self.queue.room()
    }

    /// Takes a packet into the tunnel queue.
    ///
    /// # Errors
    /// The packet itself: the queue is full. A host waits until there is room (DEC-U6), a router drops it.
    pub fn offer(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        if let Some(guarantee) = self.guarantee.as_mut().filter(|_| self.queue.is_empty()) {
            guarantee.begin(now);
        }
        self.queue.push(now, packet)
    }

    /// True for an answer to one of the control TCPs.
    pub fn owns(&self, packet: &Packet) -> bool {
        self.control_of(packet).is_some()
    }

    fn control_of(&self, packet: &Packet) -> Option<usize> {
        let flow = packet.flow()?.reversed();
        // Their ports follow one another.
        let number = usize::from(flow.source_port.checked_sub(self.settings.port)?.checked_sub(1)?);
        self.controls.get(number).filter(|control| control.flow() == flow).map(|_| number)
    }

    /// Takes a packet that [`Circuit::owns`]; a damaged one is ignored.
    pub fn handle_control(&mut self, now: Instant, packet: &Packet) {
        if let Some(number) = self.control_of(packet) {
            self.controls[number].handle_segment(now, packet);
        }
    }

    /// The next packet to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Departure> {
        if let Some(packet) = self.guarantee.as_mut().and_then(|guarantee| guarantee.take(now, &mut self.queue)) {
            self.stats.guaranteed_packets += 1;
            self.stats.guaranteed_bytes += u64::from(packet.wire_len());
            return Some(Departure::Data(packet));
        }
        let (count, first) = (self.controls.len(), self.turn);
        for number in (0..count).map(|step| (first + step) % count) {
            let headers = self.stats.header_packets;
            let departure = self.controls[number].poll(now, &mut self.queue, &mut self.stats);
            if self.stats.header_packets > headers {
                self.turn = (number + 1) % count;
            }
            if departure.is_some() {
                return departure;
            }
        }
        None
    }

    /// The earliest deadline, for [`Circuit::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let tick = self.guarantee.as_ref().filter(|_| !self.queue.is_empty()).map(Guarantee::next_tick);
        self.controls.iter().filter_map(ControlSender::poll_timeout).chain(tick).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(guarantee) = &mut self.guarantee {
            guarantee.handle_timeout(now);
        }
        for control in &mut self.controls {
            control.handle_timeout(&self.settings, &mut self.rng, now);
        }
    }

    /// Sum of the control TCPs' congestion windows in virtual bytes.
    pub fn window_bytes(&self) -> u64 {
        self.connections().map(Connection::cwnd_bytes).sum()
    }

    /// Virtual bytes that the far end has acknowledged to the control TCPs, those that were opened anew since not counted.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.connections().map(|control| control.stats().bytes_acknowledged).sum()
    }

    /// True while a control TCP is open, so that data can leave.
    pub fn is_open(&self) -> bool {
        self.connections().any(Connection::is_established)
    }

    /// The control TCPs.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.controls.iter().map(ControlSender::connection)
    }

    /// What waits in the tunnel queue.
    pub fn held(&self) -> Backlog {
        self.queue.tally.waiting
    }

    /// Most bytes that ever waited there.
    pub fn held_bytes_max(&self) -> u64 {
        self.queue.tally.bytes_max
    }

    /// Memory of what waits and of the control TCPs.
    pub fn memory(&self) -> u64 {
        self.queue.tally.memory + (self.controls.len() * size_of::<ControlSender>()) as u64
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What holds of every circuit at any time, as far as it can be seen here (DEC-21): data leave once, as long as they
    /// came, and no header packet leaves without its data.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        self.queue.check()?;
        self.controls.iter().try_for_each(ControlSender::check)
    }
}
