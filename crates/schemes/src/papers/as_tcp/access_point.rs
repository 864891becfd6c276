//! The other half: where connections are split, and acknowledgments to stations end (AST-7, AST-8, AST-11).

use super::settings::{AsTcpSettings, Balance, Split};
use crate::Site;
use crate::papers::as_tcp::events;
use crate::proxy::{Proxy, ProxySettings};
use airtcp_core::{Backlog, Context, Duration, Element, Gauge, Instant, Packet, Port};

/// Packets in an interface queue of which nothing is known.
const DEFAULT_QUEUE: u64 = 100;
/// What waits for the wired half is counted in packets of the paper's length.
const SEGMENT: u64 = 1000;

/// A split that acknowledges nothing over the link, or a box that only passes packets.
#[derive(Debug)]
pub struct AccessPoint {
    settings: AsTcpSettings,
    split: Option<Proxy>,
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
            let buffer = Some(settings.buffer);
            let proxy = Proxy::new(&ProxySettings { buffer, ..ProxySettings::default() }, site);
            proxy.without_acknowledgments(settings.balance == Balance::Window)
        });
        let mtu = u64::from(site.link.mtu.unwrap_or(1500).max(1));
        let queue = site.link.queue.map_or(DEFAULT_QUEUE, |queue| queue.0 / mtu);
        let limits = [(settings.silent_above, 9), (settings.silent_below, 8)]
            .map(|(limit, tenths)| limit.map_or(queue * tenths / 10, u64::from));
        AccessPoint { settings: settings.clone(), split, limits, silent_until: None }
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
        match &mut self.split {
            Some(split) => split.handle_packet(cx, port, packet),
            None => cx.send(port.opposite(), packet),
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
        self.balance(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let of_split = self.split.as_ref().and_then(Proxy::poll_timeout);
        of_split.into_iter().chain(self.silent_until).min()
    }

    fn held(&self) -> Backlog {
        self.split.as_ref().map_or_else(Backlog::default, Proxy::held)
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        if let Some(split) = &self.split {
            split.observe(gauge);
            gauge(events::ACKNOWLEDGED_LOST, split.refused_segments());
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        self.split.as_ref().map_or(Ok(()), Proxy::check)
    }
}
