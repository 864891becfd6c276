//! Half rate: a queue before the link that is emptied at half its rate after a while, as an element would that has
//! learnt that the link became slower.
//!
//! The queue is the egress that all schemes have. Its rate has one home, so a change is one call, in every world.

use airtcp_core::{Backlog, Context, Duration, Element, Gauge, Instant, Packet, Port, Rate, parameters};
use airtcp_schemes::egress::{Egress, EgressSettings};
use airtcp_schemes::{Made, Placement, Reports, SchemeEntry, Site, settings_for};

/// Its line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "half-rate",
    about: "A queue before the link that is emptied at half its rate after a while",
    source: "docs/add-a-scheme.md",
    placement: Placement::NearEnd,
    keeps_end_to_end: true,
    reports: Reports { events: &[], gauges: &[] },
    settings: || settings_for(make),
};

parameters! {
    /// What a file can set.
    pub struct Settings {
        /// Rate at the beginning; the link's if auto.
        pub rate: Option<Rate> = None, "ours";
        /// Time from the first packet until the rate is halved.
        pub after: Duration = Duration::from_secs(5), "ours";
    }
}

fn make(settings: &Settings, site: &mut Site<'_>) -> Made {
    let Settings { rate, after } = *settings;
    let egress = Egress::new(EgressSettings::at(site, rate, None), site.rng);
    Ok(Box::new(HalfRate { egress, after, halves: Halves::NoPacketYet }))
}

struct HalfRate {
    egress: Egress,
    after: Duration,
    halves: Halves,
}

/// When the rate is halved.
enum Halves {
    NoPacketYet,
    At(Instant),
    Done,
}

impl HalfRate {
    /// Sends what may leave now.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.egress.send_next(cx).is_some() {}
        self.egress.discard_dropped(cx);
    }
}

impl Element for HalfRate {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::LINK {
            return cx.send(Port::INNER, packet);
        }
        if let Halves::NoPacketYet = self.halves {
            self.halves = Halves::At(cx.now() + self.after);
        }
        self.egress.push(cx, packet);
        self.send_due(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.egress.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if matches!(self.halves, Halves::At(due) if due <= cx.now()) {
            let half = self.egress.rate().map(|rate| Rate::from_bps(rate.bps() / 2));
            self.egress.set_rate(half);
            self.halves = Halves::Done;
        }
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let halves = match self.halves {
            Halves::At(due) => Some(due),
            Halves::NoPacketYet | Halves::Done => None,
        };
        halves.into_iter().chain(self.egress.poll_timeout()).min()
    }

    fn held(&self) -> Backlog {
        self.egress.backlog()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::QUEUE_BYTES, self.egress.backlog().bytes);
        gauge(Gauge::QUEUE_BYTES_MAX, self.egress.bytes_max());
        gauge(Gauge::MEMORY_BYTES, self.egress.backlog().bytes);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.egress.check()
    }
}
