//! A shaper whose rate follows pings, as cake-autorate's does (<https://github.com/lynxthecat/cake-autorate>, read in version
//! 3.3.0-PRERELEASE): what a router can run today before a link whose rate nobody knows.
//!
//! A queue for each flow is emptied at a rate below the link's, so that packets wait here, where they wait fairly. Pings tell
//! whether they wait in the link: then the rate falls. It climbs while much is sent and no ping is late, and returns to a
//! base rate when there is little to send. Nothing is repaired.
//!
//! Differs from cake-autorate: there is a shaper before the link at each of its ends, where cake-autorate has one box shape
//! what it sends and, behind the link, what it gets. The reflector is the other end of the link and always there, so none is
//! compared with others or replaced, and pings do not sleep. docs/baselines-hop.md has a row for each rule.

mod delays;
mod load;
mod ping;
mod rule;
mod settings;

#[cfg(test)]
mod tests;

pub use ping::{Answer, Message};
pub use settings::{AutorateSettings, Delay};

use crate::egress::{Egress, EgressSettings};
use crate::hop::{hello_distance, tell};
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, Duration, Element, Event, Gauge, Instant, Packet, Peer as PeerId, Port};
use airtcp_link::{FqCodel, Queue};
use alloc::boxed::Box;
use delays::Delays;
use load::Load;
use rule::{Rule, Seen, Step};

/// Autorate's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "autorate",
    about: "A fair queue before the link at each end, emptied at a rate that follows pings; repairs nothing (cake-autorate)",
    source: "cake-autorate 3.3.0-PRERELEASE: defaults.sh, cake-autorate.sh",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports::NONE,
    settings: || settings_for(make),
};

/// Pings and measurements closer together would leave no time for anything else.
const SHORTEST: Duration = Duration::from_millis(1);
/// Longest packet where nobody knows.
const DEFAULT_MTU: u32 = 1500;
/// The load is measured over so many packet times at least: ten times what a full packet takes there and back.
const LOAD_PACKETS: u64 = 20;

fn make(settings: &AutorateSettings, site: &mut Site<'_>) -> Made {
    let AutorateSettings { min_rate, base_rate, max_rate, .. } = *settings;
    let refused = |key, reason| Err(ParameterError::bad(key, reason));
    if min_rate.bps() == 0 {
        return refused("min_rate", "at a rate of zero nothing would ever leave; write what the link always carries");
    }
    if min_rate > base_rate || base_rate > max_rate {
        return refused(
            "base_rate",
            "the base rate is between the lowest and the highest; set all three to suit the link",
        );
    }
    if settings.ping_every < SHORTEST || settings.load_every < SHORTEST {
        return refused(
            "ping_every",
            "pings and measurements of the load are 1 ms apart or more; 50 and 200 ms are usual",
        );
    }
    if settings.late_answers == 0 || settings.late_answers > settings.window {
        return refused("late_answers", "of the answers in the window, one to all are late; 3 of 6 is usual");
    }
    Ok(Box::new(Shaper::new(settings, site)))
}

/// One end of the link.
#[derive(Debug)]
pub struct Shaper {
    egress: Egress,
    delay: Delay,
    delays: Delays,
    load: Load,
    load_every: Duration,
    rule: Rule,
    ping_every: Duration,
    next_ping: Instant,
    round_trip: u64,
}

impl Shaper {
    /// The element for one end of a link.
    pub fn new(settings: &AutorateSettings, site: &mut Site<'_>) -> Self {
        let queue = settings.queue.clone().unwrap_or_else(|| Queue::FqCodel(FqCodel::default()));
        let egress = EgressSettings::at(site, Some(settings.base_rate), Some(&queue));
        Shaper {
            egress: Egress::new(egress, site.rng),
            delay: settings.delay,
            delays: Delays::new(settings),
            load: Load::new(),
            load_every: settings.load_every,
            rule: Rule::new(settings, site.link.mtu.unwrap_or(DEFAULT_MTU)),
            ping_every: settings.ping_every.max(hello_distance(site.link.rate)),
            next_ping: Instant::ZERO,
            round_trip: 0,
        }
    }

    fn send_due(&mut self, cx: &mut Context<'_>) {
        while let Some(departure) = self.egress.pop(cx) {
            let bytes = departure.packet.wire_len();
            if !self.egress.transmit(cx, departure) {
                break;
            }
            self.load.on_sent(bytes);
        }
        self.egress.discard_dropped(cx);
    }

    fn on_answer(&mut self, cx: &mut Context<'_>, answer: &Answer) {
        let now = cx.now();
        let Some(round_trip) = answer.round_trip(now) else { return cx.emit(Event::CONTROL_MALFORMED) };
        self.round_trip = round_trip;
        let delay = match self.delay {
            Delay::RoundTrip => (round_trip / 2) as i64,
            Delay::OneWay => answer.way_there(),
        };
        self.delays.add(delay, self.rule.late());
        let seen = Seen {
            is_bloat: self.delays.is_bloat(),
            mean: self.delays.mean(),
            load: self.load.rate(),
            is_new_load: self.load.is_new(),
        };
        match self.rule.on_answer(now, seen) {
            Step::Climb => self.load.use_up(),
            Step::Decay => {}
            Step::Fall => cx.emit(Event::RATE_LOWERED),
            Step::None => return,
        }
        self.egress.set_rate(Some(self.rule.rate()));
    }
}

impl Element for Shaper {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::LINK {
            return cx.send(Port::INNER, packet);
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

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        match Message::decode(bytes).filter(|_| peer == PeerId::OTHER_END) {
            Some(Message::Ping { sent }) => {
                let answer = Answer { sent, received: cx.now().as_nanos() };
                tell(cx, &mut self.egress, &Message::Answer(answer).encode());
            }
            Some(Message::Answer(answer)) => self.on_answer(cx, &answer),
            None => cx.emit(Event::CONTROL_MALFORMED),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if now >= self.next_ping {
            self.next_ping = now.saturating_add(self.ping_every);
            tell(cx, &mut self.egress, &Message::Ping { sent: now.as_nanos() }.encode());
        }
        self.load.handle_timeout(now, self.load_every.max(self.rule.packet_time() * LOAD_PACKETS));
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.egress.poll_timeout().into_iter().chain([self.next_ping, self.load.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        self.egress.backlog()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::QUEUE_BYTES, self.egress.backlog().bytes);
        gauge(Gauge::QUEUE_BYTES_MAX, self.egress.bytes_max());
        gauge(Gauge::MEMORY_BYTES, self.egress.backlog().bytes);
        gauge(Gauge::RATE_BPS, self.rule.rate().bps());
        gauge(Gauge::LINK_RTT_NS, self.round_trip);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.egress.check()
    }
}
