//! The other half: where connections are split, and acknowledgments to stations end (AST-7, AST-8, AST-11).

use super::settings::{AsTcpSettings, Balance, Split};
use super::station::Station;
use crate::Site;
use crate::papers::as_tcp::events;
use crate::proxy::{Proxy, ProxySettings};
use crate::timers::earliest;
use airtcp_core::{Backlog, ByteSize, Context, Duration, Element, Gauge, Instant, Packet, Port, TxStatus};

/// Of a flow at its start: 100 ms of an 802.11b cell.
const FIRST_BUFFER: ByteSize = ByteSize(128 << 10);
/// As Linux's tcp_wmem.
const LARGEST_BUFFER: ByteSize = ByteSize(4 << 20);
/// Packets in an interface queue of which nothing is known.
const DEFAULT_QUEUE: u64 = 100;
/// What waits for the wired half is counted in packets of the paper's length.
const SEGMENT: u64 = 1000;

/// A split that acknowledges nothing over the link, or a box that passes packets, and may emulate for senders behind it.
#[derive(Debug)]
pub struct AccessPoint {
    settings: AsTcpSettings,
    split: Option<Proxy>,
    /// Without a split: makes acknowledgments of what the medium gave to stations.
    emulator: Option<Station>,
    /// Packets that may wait before it falls silent, and when it speaks again.
    limits: [u64; 2],
    /// It is silent, and looks again then: nothing comes meanwhile that would say that less waits.
    silent_until: Option<Instant>,
}

/// How often a silent box looks whether less waits.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

impl AccessPoint {
    /// The element for the near end.
    pub fn new(settings: &AsTcpSettings, site: &mut Site<'_>) -> Self {
        let split = (settings.split == Split::Near).then(|| {
            // Of a link whose rate is not known, as of a live one, the proxy has a default.
            let buffer = settings.buffer.or(site.link.rate.map(|_| FIRST_BUFFER));
            let proxy = Proxy::new(&ProxySettings { buffer, ..ProxySettings::default() }, site);
            let proxy = if settings.buffer.is_none() { proxy.growing_to(LARGEST_BUFFER) } else { proxy };
            let proxy = proxy.without_acknowledgments(settings.balance == Balance::Window);
            if settings.downloads { proxy.told_of_deliveries() } else { proxy }
        });
        let emulates = split.is_none() && settings.downloads;
        let emulator = emulates.then(|| Station::of_access_point(settings, site));
        let mtu = u64::from(site.link.mtu.unwrap_or(1500).max(1));
        let queue = site.link.queue.map_or(DEFAULT_QUEUE, |queue| queue.0 / mtu);
        let limits = [(settings.silent_above, 9), (settings.silent_below, 8)]
            .map(|(limit, tenths)| limit.map_or(queue * tenths / 10, u64::from));
        AccessPoint { settings: settings.clone(), split, emulator, limits, silent_until: None }
    }

    /// Bytes acknowledged to servers of which stations have said nothing: what the medium delivered and, of a split, what
    /// waits in it.
    fn acknowledged_ahead(&self) -> u64 {
        let of_split = self.split.as_ref().map_or(0, |split| split.buffered() + split.acknowledged_ahead());
        of_split + self.emulator.as_ref().map_or(0, Station::acknowledged_ahead)
    }

    /// Falls silent while much waits, for the air or for the wired half (AST-U17), and speaks again when it does not.
    fn balance(&mut self, cx: &mut Context<'_>) {
        if self.settings.balance != Balance::Silence {
            return;
        }
        let Some(split) = &self.split else { return };
        let waiting = cx.backlog(Port::LINK).packets as u64 + split.waiting().div_ceil(SEGMENT);
        let was_silent = self.silent_until.is_some();
        let is_silent = waiting > self.limits[usize::from(was_silent)];
        self.silent_until = is_silent.then(|| cx.now() + LOOK_AGAIN);
        if is_silent != was_silent {
            cx.set_silent(Port::LINK, is_silent);
            if is_silent {
                cx.emit(events::SILENCED);
            }
        }
    }
}

impl Element for AccessPoint {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        match (&mut self.split, &mut self.emulator) {
            (Some(split), _) => split.handle_packet(cx, port, packet),
            (None, Some(emulator)) => emulator.handle_packet(cx, port, packet),
            (None, None) => cx.send(port.opposite(), packet),
        }
        self.balance(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if let Some(split) = &mut self.split {
            split.handle_ready(cx, port);
        }
        self.balance(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if let Some(split) = &mut self.split {
            split.handle_timeout(cx);
        }
        if let Some(emulator) = &mut self.emulator {
            emulator.handle_timeout(cx);
        }
        self.balance(cx);
    }

    fn handle_tx_status(&mut self, cx: &mut Context<'_>, status: TxStatus) {
        if let Some(split) = &mut self.split {
            let is_emulated = split.hear(cx, status);
            cx.emit_many(events::ACK_EMULATED, u64::from(is_emulated));
        }
        if let Some(emulator) = &mut self.emulator {
            emulator.handle_tx_status(cx, status);
        }
        self.balance(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let of_split = self.split.as_ref().and_then(Proxy::poll_timeout);
        let of_emulator = self.emulator.as_ref().and_then(Station::poll_timeout);
        earliest([of_split, of_emulator, self.silent_until])
    }

    fn held(&self) -> Backlog {
        self.split.as_ref().map_or_else(Backlog::default, Proxy::held)
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        if let Some(split) = &self.split {
            split.observe(gauge);
            gauge(events::ACKNOWLEDGED_LOST, split.refused_segments());
        }
        if self.settings.downloads {
            gauge(events::ACKNOWLEDGED_AHEAD, self.acknowledged_ahead());
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        self.emulator.as_ref().map_or(Ok(()), Station::check)?;
        self.split.as_ref().map_or(Ok(()), Proxy::check)
    }
}
