//! The other half: where connections are split, and acknowledgments to stations end (AST-7, AST-8, AST-11).

use super::settings::{Balance, Settings, Split};
use crate::Site;
use crate::baselines::split::{self, Proxy};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Context, Element, Event, Gauge, Instant, Packet, Port};

/// Bytes of the packets that wait for the wired half: counted as full segments.
const SEGMENT: u64 = 1000;

/// A split that acknowledges nothing over the link, or a box that only passes packets.
#[derive(Debug)]
pub struct AccessPoint {
    settings: Settings,
    split: Option<Proxy>,
    is_silent: bool,
}

impl AccessPoint {
    /// The element for the near end.
    pub fn new(settings: &Settings, site: &mut Site<'_>) -> Result<Self, ParameterError> {
        let split = (settings.split == Split::Near).then(|| {
            let proxy = Proxy::new(&split::Settings::default(), site);
            proxy.without_acknowledgments(settings.balance == Balance::Window)
        });
        Ok(AccessPoint { settings: settings.clone(), split, is_silent: false })
    }

    /// Falls silent while much waits, for the air or for the wired half (AST-U17), and speaks again when it does not.
    fn balance(&mut self, cx: &mut Context<'_>) {
        if self.settings.balance != Balance::Silence {
            return;
        }
        let Some(split) = &self.split else { return };
        let waiting = cx.backlog(Port::LINK).packets as u64 + split.buffered().div_ceil(SEGMENT);
        let limit = if self.is_silent { self.settings.silent_below } else { self.settings.silent_above };
        let is_silent = waiting > u64::from(limit);
        if is_silent != self.is_silent {
            self.is_silent = is_silent;
            cx.set_silent(Port::LINK, is_silent);
            if is_silent {
                cx.emit(Event::Silenced);
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

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if let Some(split) = &mut self.split {
            split.handle_timeout(cx);
        }
        self.balance(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.split.as_ref()?.poll_timeout()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        if let Some(split) = &self.split {
            split.observe(gauge);
            gauge(Gauge::AcknowledgedLost, split.refused_segments());
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        self.split.as_ref().map_or(Ok(()), Proxy::check)
    }
}
