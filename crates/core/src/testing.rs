//! A world for tests: one element, every send recorded, conservation checked after each call.

use crate::element::{Backlog, Context, Element, Io, Peer, Token};
use crate::event::{Event, Gauge};
use crate::initial_sequence::InitialSequences;
use crate::ledger::Ledger;
use crate::packet::{FlowKey, Packet};
use crate::port::Port;
use crate::rng::Rng;
use crate::serial::SeqNum;
use crate::time::Instant;
use alloc::vec::Vec;

/// What an element sent.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Sent through [`Port::LINK`].
    pub link: Vec<Packet>,
    /// Sent through [`Port::INNER`].
    pub inner: Vec<Packet>,
    /// Sent to the other end.
    pub control: Vec<Vec<u8>>,
    /// [`Port::LINK`] has no room.
    pub refuses: bool,
    /// Where connections begin; left to the element's random stream if there is none.
    pub sequences: Option<InitialSequences>,
    /// What is known of the path.
    pub path_mtu: Option<u32>,
}

impl Io for Recorder {
    fn room(&mut self, _: Port) -> usize {
        usize::MAX
    }
    fn backlog(&mut self, _: Port) -> Backlog {
        Backlog::default()
    }
    fn try_send(&mut self, port: Port, packet: Packet, _: Option<Token>) -> Result<(), Packet> {
        if port == Port::LINK && self.refuses {
            return Err(packet);
        }
        if port == Port::LINK {
            self.link.push(packet)
        } else {
            self.inner.push(packet)
        }
        Ok(())
    }
    fn initial_sequence(&self, now: Instant, flow: &FlowKey) -> Option<SeqNum> {
        self.sequences.as_ref().map(|sequences| sequences.at(now, flow))
    }
    fn control_overhead(&self) -> u32 {
        crate::control::overhead(false, false)
    }
    fn path_mtu(&self) -> Option<u32> {
        self.path_mtu
    }
    fn send_control(&mut self, _: Peer, message: &[u8]) {
        self.control.push(message.to_vec());
    }
}

/// An element under test with its recorder.
#[derive(Debug)]
pub struct Harness<E> {
    /// The element.
    pub element: E,
    /// What it sent.
    pub io: Recorder,
    /// What it counted.
    pub ledger: Ledger,
    rng: Rng,
}

impl<E: Element> Harness<E> {
    /// Puts an element under test; `name` seeds its random stream.
    pub fn new(element: E, name: &str) -> Self {
        Harness { element, io: Recorder::default(), ledger: Ledger::default(), rng: Rng::derive(1, name) }
    }

    /// Hands a packet over at `now`.
    pub fn packet(&mut self, now: Instant, port: Port, packet: Packet) {
        self.ledger.receive(port);
        self.call(now, |element, cx| element.handle_packet(cx, port, packet));
    }

    /// Hands a message from the other end over at `now`.
    pub fn control(&mut self, now: Instant, message: &[u8]) {
        self.call(now, |element, cx| element.handle_control(cx, Peer::OTHER_END, message));
    }

    /// Runs timeouts that are due at `now`.
    pub fn tick(&mut self, now: Instant) {
        self.call(now, |_, _| {});
    }

    /// Calls the element, then its due timeouts, then checks conservation and its invariants.
    ///
    /// # Panics
    /// A packet vanished or came from nowhere, an invariant is broken, or a handled timeout
    /// did not move.
    pub fn call(&mut self, now: Instant, work: impl FnOnce(&mut E, &mut Context<'_>)) {
        work(&mut self.element, &mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.io));
        let mut rounds = 0;
        while self.element.poll_timeout().is_some_and(|due| due <= now) {
            self.element.handle_timeout(&mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.io));
            rounds += 1;
            assert!(rounds < 10_000, "a handled timeout must move later");
        }
        assert_eq!(self.ledger.balance(self.element.held().packets).missing(), 0, "conservation");
        self.element.check().expect("the element's invariants hold");
    }

    /// How often an event was emitted.
    pub fn count(&self, event: Event) -> u64 {
        self.ledger.events.get(event)
    }

    /// A level of the element.
    pub fn gauge(&self, wanted: Gauge) -> Option<u64> {
        let mut found = None;
        self.element.observe(&mut |gauge, value| {
            if gauge == wanted {
                found = Some(value);
            }
        });
        found
    }
}
