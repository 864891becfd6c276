//! All streams of datagrams between this forwarder and its peer: no I/O and no clock.
//!
//! The end that takes datagrams asks the other one, again and again, whether it leads them on; once it does, the circuit is
//! opened. A peer that knows nothing (any more) of a stream says so, and is asked again. A stream lasts as long as both processes.

use super::frame::{Front, Kind};
use super::line_key::LineKey;
use super::opening::Opening;
use super::stream::{Arriving, Leaving};
use airtcp_core::{Duration, Instant, Rng};
use airtcp_schemes::papers::decoupling::CircuitSettings;
use airtcp_schemes::socket::datagram::ArrivalCounts;
use bytes::{Buf, BufMut, Bytes};
use std::collections::{BTreeMap, VecDeque};

/// A message asks whether datagrams are led on to there.
const ASK: u8 = 1;
/// A message says that they are.
const TAKEN: u8 = 2;
/// A message says that they are not, or no longer.
const REFUSED: u8 = 3;
/// Who gets no answer, or a refusal, asks again after this.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Answers that may wait to be sent; the peer asks again.
const ANSWERS_MAX: usize = 1024;

/// How streams are carried.
#[derive(Clone, Debug)]
pub struct StreamSettings {
    /// The circuit of each.
    pub circuit: CircuitSettings,
    /// Frames travel over IPv4, or over IPv6.
    pub is_ipv4: bool,
}

/// What is counted of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamTallies {
    /// Datagrams that this end took.
    pub sent: u64,
    /// Datagrams of the peer that came.
    pub received: u64,
    /// Those that did not come although later ones have.
    pub lost: u64,
    /// Those that came after later ones.
    pub misordered: u64,
    /// Times that the peer would not lead a stream on.
    pub refused: u64,
    /// Frames that are none.
    pub malformed: u64,
}

enum Near {
    /// The peer is asked at this time.
    Asking(Instant),
    Open(Box<Leaving>),
}

/// See the module.
pub struct Streams {
    settings: StreamSettings,
    /// Streams of this end, encoded openings first, by their places in the file.
    near: Vec<(Vec<u8>, Near)>,
    far: BTreeMap<LineKey, Arriving>,
    asked: VecDeque<(LineKey, Opening)>,
    answers: VecDeque<(LineKey, u8)>,
    /// Whose turn it is to send.
    turn: usize,
    rng: Rng,
    /// Of streams that are over.
    before: StreamTallies,
}

/// Whether a frame is of a stream.
pub fn is_of_stream(frame: &Bytes) -> bool {
    Front::take(&mut frame.clone()).is_some_and(|front| front.key.stream_place().is_some())
}

impl Streams {
    /// With streams that lead to `openings`, no more than [`LineKey::STREAMS`]. `settings` were checked.
    pub fn new(settings: StreamSettings, openings: &[Opening], seed: u64, now: Instant) -> Streams {
        let asking = |opening: &Opening| (opening.encode(), Near::Asking(now));
        Streams {
            settings,
            near: openings.iter().map(asking).collect(),
            far: BTreeMap::new(),
            asked: VecDeque::new(),
            answers: VecDeque::new(),
            turn: 0,
            rng: Rng::derive(seed, "streams"),
            before: StreamTallies::default(),
        }
    }

    /// Takes a frame that [`is_of_stream`]: a datagram of the peer is to be given out.
    pub fn handle_frame(&mut self, now: Instant, mut frame: Bytes) -> Option<(LineKey, Bytes)> {
        let front = Front::take(&mut frame)?;
        let key = front.key;
        if front.kind == Kind::Message {
            self.handle_message(now, key, frame);
            return None;
        }
        if key.is_ours {
            let near = key.stream_place().and_then(|place| self.near.get_mut(place));
            // What comes before the peer has said yes is of a circuit that is no more.
            if let Some((_, Near::Open(leaving))) = near {
                self.before.malformed += u64::from(!leaving.handle(now, &front, frame));
            }
            return None;
        }
        let Some(arriving) = self.far.get_mut(&key) else {
            self.answer(key, REFUSED);
            return None;
        };
        if front.kind == Kind::Datagram {
            return arriving.take(frame).map(|datagram| (key, datagram));
        }
        self.before.malformed += u64::from(!arriving.handle(now, &front, frame));
        None
    }

    fn handle_message(&mut self, now: Instant, key: LineKey, mut body: Bytes) {
        let what = body.try_get_u8();
        match (what, key.is_ours) {
            (Ok(TAKEN), true) => self.open(now, key),
            (Ok(REFUSED), true) => {
                self.before.refused += 1;
                self.ask_again(key, now + ASK_AGAIN);
            }
            (Ok(ASK), false) => self.handle_ask(key, &body),
            _ => self.before.malformed += 1,
        }
    }

    fn open(&mut self, now: Instant, key: LineKey) {
        let near = key.stream_place().and_then(|place| self.near.get_mut(place));
        if let Some((_, near @ Near::Asking(_))) = near {
            let StreamSettings { circuit, is_ipv4 } = &self.settings;
            *near = Near::Open(Box::new(Leaving::new(circuit, *is_ipv4, key, &mut self.rng, now)));
        }
    }

    fn ask_again(&mut self, key: LineKey, at: Instant) {
        let Some((_, near)) = key.stream_place().and_then(|place| self.near.get_mut(place)) else { return };
        if let Near::Open(leaving) = near {
            self.before.sent += leaving.sent();
        }
        *near = Near::Asking(at);
    }

    fn handle_ask(&mut self, key: LineKey, opening: &[u8]) {
        match (self.far.get(&key), Opening::decode(opening)) {
            (Some(arriving), _) if arriving.is_taken => self.answer(key, TAKEN),
            // Its name is looked up.
            (Some(_), _) => {}
            (None, Some(opening)) => {
                self.far.insert(key, Arriving::new(&self.settings.circuit, key, &mut self.rng));
                self.asked.push_back((key, opening));
            }
            (None, None) => self.before.malformed += 1,
        }
    }

    fn answer(&mut self, key: LineKey, what: u8) {
        if self.answers.len() < ANSWERS_MAX {
            self.answers.push_back((key, what));
        }
    }

    /// Where the peer wants datagrams led on to: answer with [`Streams::take`] or [`Streams::refuse`].
    pub fn poll_asked(&mut self) -> Option<(LineKey, Opening)> {
        self.asked.pop_front()
    }

    /// They are.
    pub fn take(&mut self, key: LineKey) {
        if let Some(arriving) = self.far.get_mut(&key) {
            arriving.is_taken = true;
            self.answer(key, TAKEN);
        }
    }

    /// They are not.
    pub fn refuse(&mut self, key: LineKey) {
        self.note_end_of(key);
        self.answer(key, REFUSED);
    }

    fn note_end_of(&mut self, key: LineKey) {
        if let Some(arriving) = self.far.remove(&key) {
            add(&mut self.before, &arriving);
        }
    }

    /// The peer is another process than before, or gone.
    pub fn forget_peer(&mut self, now: Instant) {
        for key in self.far.keys().copied().collect::<Vec<_>>() {
            self.note_end_of(key);
        }
        self.asked.clear();
        self.answers.clear();
        for place in 0..self.near.len() {
            self.ask_again(LineKey::stream(place), now);
        }
    }

    /// Datagrams that the stream with this place takes now.
    pub fn room(&self, place: usize) -> usize {
        match self.near.get(place) {
            Some((_, Near::Open(leaving))) => leaving.room(),
            _ => 0,
        }
    }

    /// Takes a datagram of an application.
    pub fn offer(&mut self, now: Instant, place: usize, datagram: &[u8]) {
        if let Some((_, Near::Open(leaving))) = self.near.get_mut(place) {
            leaving.offer(now, datagram);
        }
    }

    /// Writes the next frame to `out`, without number and tag; false if there is none now.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        if let Some((key, what)) = self.answers.pop_front() {
            Front { kind: Kind::Message, control: 0, key }.put(out);
            out.put_u8(what);
            return true;
        }
        let count = self.near.len();
        for step in 0..count {
            let place = (self.turn + step) % count;
            if self.poll_near(now, place, out) {
                // One frame each in turn.
                self.turn = place + 1;
                return true;
            }
        }
        self.far.values_mut().any(|arriving| arriving.poll_transmit(now, out))
    }

    fn poll_near(&mut self, now: Instant, place: usize, out: &mut Vec<u8>) -> bool {
        let (opening, near) = &mut self.near[place];
        match near {
            Near::Open(leaving) => leaving.poll_transmit(now, out),
            Near::Asking(at) if *at <= now => {
                *at = now + ASK_AGAIN;
                Front { kind: Kind::Message, control: 0, key: LineKey::stream(place) }.put(out);
                out.put_u8(ASK);
                out.put_slice(opening);
                true
            }
            Near::Asking(_) => false,
        }
    }

    /// The earliest deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let near = self.near.iter().filter_map(|(_, near)| match near {
            Near::Asking(at) => Some(*at),
            Near::Open(leaving) => leaving.circuit().poll_timeout(),
        });
        near.chain(self.far.values().filter_map(|arriving| arriving.end().poll_timeout())).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        for (_, near) in &mut self.near {
            if let Near::Open(leaving) = near {
                leaving.circuit_mut().handle_timeout(now);
            }
        }
        self.far.values_mut().for_each(|arriving| arriving.end_mut().handle_timeout(now));
    }

    fn open_ones(&self) -> impl Iterator<Item = &Leaving> {
        self.near.iter().filter_map(|(_, near)| match near {
            Near::Open(leaving) => Some(&**leaving),
            Near::Asking(_) => None,
        })
    }

    /// Streams of this end that the peer leads on, and of the peer that this end does.
    pub fn count_open(&self) -> (usize, usize) {
        (self.open_ones().count(), self.far.values().filter(|arriving| arriving.is_taken).count())
    }

    /// What was counted so far.
    pub fn tallies(&self) -> StreamTallies {
        let mut sum = self.before;
        sum.sent += self.open_ones().map(Leaving::sent).sum::<u64>();
        self.far.values().for_each(|arriving| add(&mut sum, arriving));
        sum
    }

    /// All of it by name.
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let StreamTallies { sent, received, lost, misordered, refused, malformed } = self.tallies();
        vec![
            ("stream_sent", sent),
            ("stream_received", received),
            ("stream_lost", lost),
            ("stream_misordered", misordered),
            ("stream_refused", refused),
            ("stream_malformed", malformed),
        ]
    }

    /// Sum of the windows of all circuits, in bytes.
    pub fn window(&self) -> u64 {
        self.open_ones().map(|leaving| leaving.circuit().window_bytes()).sum()
    }

    /// What holds at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        self.open_ones().try_for_each(|leaving| leaving.circuit().check())?;
        self.far.values().try_for_each(|arriving| arriving.end().check())
    }
}

fn add(sum: &mut StreamTallies, arriving: &Arriving) {
    let (received, ArrivalCounts { lost, misordered, .. }) = arriving.counts();
    sum.received += received;
    sum.lost += lost;
    sum.misordered += misordered;
}
