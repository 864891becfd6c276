//! An honest near end with enough to send, a link of 12 Mbit/s whose queue it can fill, an honest far end, and somebody who
//! changes what the far end says.

use super::super::frame::{Kind, Known, decode_shim};
use super::super::{Ack, LinkNews, LossNews, Message, Settings, Station};
use crate::hop::testing::data;
use crate::link_rate::Report;
use crate::position::{self, Position};
use crate::selective_repeat::START;
use crate::{End, LinkFacts, MAX_MEMORY, Site};
use airtcp_core::testing::Harness;
use airtcp_core::{Duration, Event, Gauge, Instant, Packet, Port, Rate, Rng, TakenShim};
use std::boxed::Box;
use std::collections::{BTreeSet, VecDeque};
use std::vec::Vec;

const STEP: Duration = Duration::from_micros(250);
pub const SECOND: Duration = Duration::from_secs(1);
/// What the link carries.
pub const LINK: Rate = Rate::from_bps(12_000_000);
/// What would wait longer in the link is dropped.
const ROOM: Duration = Duration::from_millis(120);
/// So many packets wait for the near end at most.
const BACKLOG: usize = 20;

/// What reaches the near end in place of a message.
pub type Lie = Box<dyn FnMut(Message) -> Vec<Message>>;

enum Cargo {
    Packet(Packet),
    Message(Vec<u8>),
}

/// What is on its way to one end, and when it comes.
type Way = VecDeque<(Instant, Cargo)>;

/// See the module.
pub struct Scene {
    pub now: Instant,
    pub a: Harness<Station>,
    pub b: Harness<Station>,
    one_way: Duration,
    loss_per_cent: u64,
    rng: Rng,
    /// The link has sent everything by then.
    free_at: Instant,
    to_a: Way,
    to_b: Way,
    lie: Option<Lie>,
    offered: u32,
    /// Packets that came off the link at least once, by their numbers on the hop.
    crossed: BTreeSet<u32>,
    /// The latest of them.
    latest: Position,
    /// And those without a number.
    plain: usize,
    /// What came out at the far end.
    out: BTreeSet<u32>,
    /// Of the last run: bytes that came out, rates of the near end's queue, and how long packets waited in the link.
    delivered: u64,
    rates: Vec<Option<Rate>>,
    waits: Vec<Duration>,
}

fn station(end: End, name: &str, rate: Option<Rate>) -> Station {
    let mut rng = Rng::derive(1, name);
    let mut site = Site { end, link: LinkFacts::default(), rng: &mut rng, max_memory: MAX_MEMORY, forecast: None };
    Station::new(&Settings { rate, ..Settings::default() }, &mut site)
}

impl Scene {
    /// A hop of 15 ms that loses one packet in a hundred, when the near end knows what it carries; that is given `bound` at
    /// most.
    pub fn new(bound: Option<Rate>) -> Scene {
        Scene::over(Duration::from_millis(15), 1, bound)
    }

    /// The same on a hop that is so long and loses so much.
    pub fn over(one_way: Duration, loss_per_cent: u64, bound: Option<Rate>) -> Scene {
        Scene::begin(1, one_way, loss_per_cent, bound)
    }

    /// The same as the first, with other losses.
    pub fn with_seed(seed: u64, bound: Option<Rate>) -> Scene {
        Scene::begin(seed, Duration::from_millis(15), 1, bound)
    }

    fn begin(seed: u64, one_way: Duration, loss_per_cent: u64, bound: Option<Rate>) -> Scene {
        let mut scene = Scene {
            now: Instant::from_nanos(1_000_000_000),
            a: Harness::new(station(End::Near, "a", bound), "a"),
            b: Harness::new(station(End::Far, "b", None), "b"),
            one_way,
            loss_per_cent,
            rng: Rng::derive(seed, "air"),
            free_at: Instant::ZERO,
            to_a: Way::new(),
            to_b: Way::new(),
            lie: None,
            offered: 0,
            crossed: BTreeSet::new(),
            latest: position::first(START),
            plain: 0,
            out: BTreeSet::new(),
            delivered: 0,
            rates: Vec::new(),
            waits: Vec::new(),
        };
        scene.pass(SECOND, false);
        scene.run(SECOND * 6);
        scene
    }

    /// Somebody lies from now on, or nobody.
    pub fn lie(&mut self, lie: Option<Lie>) {
        self.lie = lie;
    }

    /// Lets time pass, with enough to send: nearly three times as much as the link carries, if it is taken.
    pub fn run(&mut self, time: Duration) {
        self.pass(time, true);
    }

    fn pass(&mut self, time: Duration, sends: bool) {
        (self.delivered, self.rates, self.waits) = (0, Vec::new(), Vec::new());
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            if sends && self.a.element.outgoing.egress.backlog().packets < BACKLOG {
                self.a.packet(self.now, Port::INNER, data(self.offered));
                self.offered += 1;
            }
            self.a.tick(self.now);
            self.b.tick(self.now);
            self.collect();
            self.arrive();
            self.collect();
            self.rates.push(self.a.element.outgoing.egress.rate());
            let memory = [&self.a, &self.b].map(|end| end.gauge(Gauge::MEMORY_BYTES).unwrap());
            assert!(memory.iter().all(|bytes| *bytes <= MAX_MEMORY.0), "{memory:?}");
        }
    }

    fn arrive(&mut self) {
        while let Some((_, cargo)) = self.to_b.pop_front_if(|(at, _)| *at <= self.now) {
            match cargo {
                Cargo::Packet(packet) => {
                    self.note_crossing(&packet);
                    self.b.packet(self.now, Port::LINK, packet);
                }
                Cargo::Message(message) => self.b.control(self.now, &message),
            }
        }
        while let Some((_, cargo)) = self.to_a.pop_front_if(|(at, _)| *at <= self.now) {
            match cargo {
                Cargo::Packet(packet) => self.a.packet(self.now, Port::LINK, packet),
                Cargo::Message(message) => self.a.control(self.now, &message),
            }
        }
    }

    fn note_crossing(&mut self, packet: &Packet) {
        match packet.clone().take_shim() {
            TakenShim::Body(body) => {
                let shim = decode_shim(&body).expect("an honest frame");
                let known = Known { incarnation: shim.frame.incarnation, places: Some((self.latest, self.latest)) };
                let shim = shim.completed(&known).expect("of this incarnation");
                if !matches!(shim.kind, Kind::Code { .. }) {
                    self.latest = position::near(self.latest, shim.frame.sequence);
                    self.crossed.insert(shim.frame.sequence.0);
                }
            }
            _ => self.plain += 1,
        }
    }

    /// Puts what the ends sent on their ways.
    fn collect(&mut self) {
        for packet in core::mem::take(&mut self.a.io.link) {
            let begin = self.free_at.max(self.now);
            let wait = begin.saturating_since(self.now);
            self.waits.push(wait);
            if wait <= ROOM {
                self.free_at = begin + LINK.serialisation(packet.wire_len(), &mut 0);
                if self.rng.below(100) >= self.loss_per_cent {
                    self.to_b.push_back((self.free_at + self.one_way, Cargo::Packet(packet)));
                }
            }
        }
        for message in core::mem::take(&mut self.a.io.control) {
            let at = self.free_at.max(self.now) + self.one_way;
            self.to_b.push_back((at, Cargo::Message(message)));
        }
        let at = self.now + self.one_way;
        self.to_a.extend(core::mem::take(&mut self.b.io.link).into_iter().map(|packet| (at, Cargo::Packet(packet))));
        for message in core::mem::take(&mut self.b.io.control) {
            let told = match &mut self.lie {
                Some(lie) => lie(Message::decode(&message).unwrap()).iter().map(Message::encode).collect(),
                None => std::vec![message],
            };
            self.to_a.extend(told.into_iter().map(|message| (at, Cargo::Message(message))));
        }
        for packet in core::mem::take(&mut self.b.io.inner) {
            self.delivered += u64::from(packet.wire_len());
            let n = (packet.tcp().unwrap().sequence.0 - 1) / 1000;
            assert!(self.out.insert(n), "packet {n} came out twice");
        }
    }

    /// Per cent of what the link carries that came out in the last run.
    pub fn used(&self) -> u64 {
        let time = STEP * self.rates.len() as u64;
        self.delivered * 100 / LINK.bytes_in(time)
    }

    /// The lowest and the highest rate at which the near end's queue was emptied in the last run, in kbit/s; `None` if there
    /// was none for a moment.
    pub fn rates(&self) -> Option<(u64, u64)> {
        let rates: Option<Vec<Rate>> = self.rates.iter().copied().collect();
        rates.and_then(|rates| Some((rates.iter().min()?.bps() / 1000, rates.iter().max()?.bps() / 1000)))
    }

    /// How long packets waited in the link in the last run, but for one in twenty.
    pub fn wait_p95(&mut self) -> Duration {
        self.waits.sort_unstable();
        self.waits[self.waits.len() * 95 / 100]
    }

    /// Five seconds after the last lie all is as if there had been none, and whatever crossed the link comes out.
    pub fn recovers(&mut self, what: &str) {
        self.lie = None;
        self.run(SECOND * 5);
        self.run(SECOND * 4);
        let least = 97 - self.loss_per_cent * 2 - 10;
        assert!(self.used() >= least, "{what}: {} %, {:?}", self.used(), self.rates());
        let known = self.a.element.outgoing.link_rate.of_link(&self.a.element.outgoing.egress).map_or(0, Rate::bps);
        assert!(known.abs_diff(LINK.bps()) <= LINK.bps() / 10, "{what}: {known} bit/s");
        assert!(self.wait_p95() <= Duration::from_millis(15), "{what}: {}", self.wait_p95());
        assert_eq!([&self.a, &self.b].map(|end| end.count(Event::PEER_DOWN)), [0, 0], "{what}");
        self.pass(SECOND * 3, false);
        assert!(self.out.len() >= self.crossed.len() + self.plain, "{what}: something that came was not passed on");
        assert_eq!(self.b.element.receiver.order.held.waiting.packets, 0, "{what}");
    }
}

/// A lie about what acknowledgments say.
pub fn of_news(mut change: impl FnMut(&mut Ack, &mut LinkNews) + 'static) -> Lie {
    Box::new(move |mut message| {
        if let Message::Ack((ack, news)) = &mut message {
            change(ack, news);
        }
        std::vec![message]
    })
}

/// A lie about what was lost.
pub fn of_losses(mut change: impl FnMut(&Ack, &mut LossNews) + 'static) -> Lie {
    of_news(move |ack, news| {
        if let Some(losses) = &mut news.losses {
            change(ack, losses);
        }
    })
}

/// A lie about the n-th report.
pub fn of_report(mut change: impl FnMut(&mut Report, u64) + 'static) -> Lie {
    let mut n = 0;
    of_news(move |_, news| {
        if let Some(report) = &mut news.report {
            n += 1;
            change(report, n);
        }
    })
}
