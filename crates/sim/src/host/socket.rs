//! One end of a flow at a host: an application and what carries its data.

use super::application::{Application, Role};
use crate::index::FlowId;
use crate::outcome::Sample;
use crate::topology::FlowSpec;
use airtcp_core::{Instant, Packet, Rng};
use airtcp_schemes::socket::{FlowEnd, SocketSettings, SocketSite};
use airtcp_tcp::{Connection, Opening, Stats};
use std::sync::Arc;

/// See the module.
pub struct FlowSocket {
    pub flow: FlowId,
    /// Its own.
    pub port: u16,
    pub name: String,
    settings: Arc<dyn SocketSettings>,
    /// What its end is opened with, until then.
    opening: Option<Box<Opening>>,
    /// None before the flow begins; at the receiver of a TCP connection, none before the SYN.
    pub end: Option<FlowEnd>,
    pub application: Application,
    rng: Rng,
    /// The deadline that is in the host's timers; the end of time for none.
    pub armed: Instant,
    /// What its end had counted at the end of the warm-up, if there was one.
    at_warmup: Option<Box<AtWarmup>>,
    pub series: Vec<Sample>,
}

/// See [`FlowSocket::on_warm`].
struct AtWarmup {
    stats: Stats,
    /// What the controller had counted.
    controller: Vec<u64>,
    /// What its hidden connections had.
    counts: Vec<u64>,
}

/// Counts without what they were before.
fn since(counts: Vec<(&'static str, u64)>, before: &[u64]) -> Vec<(&'static str, u64)> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    counts.into_iter().zip(before).map(|((name, count), before)| (name, count.saturating_sub(before))).collect()
}

impl FlowSocket {
    /// The end of flow number `flow` that opens its connection with `opening`.
    pub fn new(
        flow: FlowId,
        spec: &FlowSpec,
        opening: Opening,
        role: Role,
        mut rng: Rng,
        has_digest: bool,
    ) -> FlowSocket {
        let settings = spec.socket.settings.clone();
        let mut site = SocketSite { opening: &opening, flow: flow.number(), rng: &mut rng };
        let end = if matches!(role, Role::Sender { .. }) { None } else { settings.listen(&mut site) };
        FlowSocket {
            flow,
            port: opening.local.port,
            name: spec.name.clone(),
            opening: end.is_none().then(|| Box::new(opening)),
            end,
            settings,
            application: Application::new(role, has_digest),
            rng,
            armed: Instant::MAX,
            at_warmup: None,
            series: Vec::new(),
        }
    }

    /// What is counted is counted from now on.
    pub fn on_warm(&mut self) {
        let numbers = |counts: Vec<(&str, u64)>| counts.into_iter().map(|(_, count)| count).collect();
        self.at_warmup = self.end.as_ref().map(|end| {
            let (controller, counts) = (numbers(self.controller_counts()), numbers(self.counts()));
            Box::new(AtWarmup { stats: end.stats(), controller, counts })
        });
        self.application.rounds.clear();
    }

    /// One of its counts at the end of the warm-up.
    pub fn before(&self, count: impl Fn(&Stats) -> u64) -> u64 {
        self.at_warmup.as_ref().map_or(0, |before| count(&before.stats))
    }

    pub fn stats(&self) -> Stats {
        self.end.as_ref().map_or_else(Stats::default, |end| end.stats())
    }

    #[inline]
    pub fn connection(&self) -> Option<&Connection> {
        self.end.as_ref()?.connection()
    }

    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.end.as_ref().map_or_else(Vec::new, |end| end.counts());
        counts.into_iter().map(|(event, count)| (event.label(), count)).collect()
    }

    pub fn counts_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.counts(), self.at_warmup.as_ref().map_or(&[], |before| &before.counts))
    }

    pub fn controller_counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = Vec::new();
        if let Some(connection) = self.connection() {
            connection.controller_info(&mut |name, count| counts.push((name, count)));
        }
        counts
    }

    pub fn controller_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.controller_counts(), self.at_warmup.as_ref().map_or(&[], |before| &before.controller))
    }

    pub fn connect(&mut self, now: Instant) {
        let Some(opening) = self.opening.take() else { return };
        let mut site = SocketSite { opening: &opening, flow: self.flow.number(), rng: &mut self.rng };
        let end = self.end.insert(self.settings.connect(&mut site, now));
        if let Some(connection) = end.connection_mut() {
            self.application.write(connection);
        }
    }

    /// At the receiver: the first packet may open the connection.
    pub fn accept(&mut self, now: Instant, packet: &Packet) {
        if matches!(self.application.role, Role::Receiver { .. })
            && let Some(opening) = &self.opening
        {
            self.end = self.settings.accept(opening, packet, now);
            self.application.last_progress = (now, 0);
        }
        if self.end.is_some() {
            self.opening = None;
        }
    }
}
