//! One end of a flow at a host: an application and what carries its data.

use super::application::{Application, Role};
use crate::index::FlowId;
use crate::outcome::Sample;
use crate::topology::FlowSpec;
use airtcp_core::{Instant, Packet, Rng};
use airtcp_schemes::socket::{FlowEnd, SocketSettings, SocketSite};
use airtcp_tcp::{Connection, Opening, Stats};
use std::mem::offset_of;
use std::sync::Arc;

/// See the module. In this order in memory: what each packet needs comes first.
#[repr(C)]
pub struct FlowSocket {
    /// None before the flow begins; at the receiver of a TCP connection, none before the SYN.
    pub end: Option<FlowEnd>,
    /// The deadline that is in the host's timers; the end of time for none.
    pub armed: Instant,
    pub flow: FlowId,
    /// Its own.
    pub port: u16,
    pub application: Application,
    /// Both ends of a flow have the same.
    pub name: Arc<str>,
    /// How its end is opened, until then.
    unopened: Option<Box<Unopened>>,
    /// What was noted of it, if anything.
    pub record: Option<Box<Record>>,
}

/// What an end is opened with.
struct Unopened {
    settings: Arc<dyn SocketSettings>,
    opening: Opening,
    rng: Rng,
}

/// See [`FlowSocket::record`].
#[derive(Default)]
pub struct Record {
    /// What its end had counted at the end of the warm-up, if there was one.
    at_warmup: Option<AtWarmup>,
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
    /// So many bytes from its beginning on are touched for each packet.
    pub const OFTEN: usize = offset_of!(FlowSocket, name);

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
            unopened: end.is_none().then(|| Box::new(Unopened { settings, opening, rng })),
            end,
            application: Application::new(role, has_digest),
            armed: Instant::MAX,
            record: None,
        }
    }

    /// What is counted is counted from now on.
    pub fn on_warm(&mut self) {
        let numbers = |counts: Vec<(&str, u64)>| counts.into_iter().map(|(_, count)| count).collect();
        if let Some(end) = &self.end {
            let (controller, counts) = (numbers(self.controller_counts()), numbers(self.counts()));
            let at_warmup = AtWarmup { stats: end.stats(), controller, counts };
            self.record.get_or_insert_default().at_warmup = Some(at_warmup);
        }
        self.application.rounds.clear();
    }

    fn at_warmup(&self) -> Option<&AtWarmup> {
        self.record.as_ref()?.at_warmup.as_ref()
    }

    /// What was sampled of it.
    pub fn series(&self) -> &[Sample] {
        self.record.as_ref().map_or(&[], |record| &record.series)
    }

    /// One of its counts at the end of the warm-up.
    pub fn before(&self, count: impl Fn(&Stats) -> u64) -> u64 {
        self.at_warmup().map_or(0, |before| count(&before.stats))
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
        since(self.counts(), self.at_warmup().map_or(&[], |before| &before.counts))
    }

    pub fn controller_counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = Vec::new();
        if let Some(connection) = self.connection() {
            connection.controller_info(&mut |name, count| counts.push((name, count)));
        }
        counts
    }

    pub fn controller_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.controller_counts(), self.at_warmup().map_or(&[], |before| &before.controller))
    }

    pub fn connect(&mut self, now: Instant) {
        let Some(unopened) = self.unopened.take() else { return };
        let Unopened { settings, opening, mut rng } = *unopened;
        let mut site = SocketSite { opening: &opening, flow: self.flow.number(), rng: &mut rng };
        let end = self.end.insert(settings.connect(&mut site, now));
        if let Some(connection) = end.connection_mut() {
            self.application.write(connection);
        }
    }

    /// At the receiver: the first packet may open the connection.
    pub fn accept(&mut self, now: Instant, packet: &Packet) {
        if matches!(self.application.role, Role::Receiver { .. })
            && let Some(Unopened { settings, opening, .. }) = self.unopened.as_deref()
        {
            self.end = settings.accept(opening, packet, now);
            self.application.last_progress = (now, 0);
        }
        if self.end.is_some() {
            self.unopened = None;
        }
    }
}
