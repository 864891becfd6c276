//! Looking at the packets of a run as they pass: captures and traces.
//!
//! A tap sees and changes nothing, so a run with one has the same trace hash as the run without. What a packet was
//! made for is in the packet itself ([`Packet::origin`]).

use airtcp_core::{DropReason, Duration, Instant, Packet};
use std::collections::BTreeMap;

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Direction {
    /// Position of the link in the topology, in the order in which links were added.
    pub link: usize,
    /// From the link's second node to its first.
    pub reverse: bool,
}

/// Sees every packet at both ends of every link, and every packet that ends before its goal.
pub trait Tap {
    /// A packet was given to a link, where it may still have to wait in its queue.
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet);

    /// A packet that was given to a link will not come out at its other end. A link decides most losses, also those in
    /// the air, when it is given the packet: this call then follows that of [`Tap::on_sent`] at once.
    fn on_lost(&mut self, at: Instant, direction: Direction, packet: &Packet, reason: DropReason);

    /// A packet came out of a link.
    fn on_arrived(&mut self, at: Instant, direction: Direction, packet: &Packet);

    /// A packet went no further between two links: at a host, a scheme or a node. `place` is the name that counters
    /// of drops use, `schemes.repair.a`.
    fn on_dropped(&mut self, at: Instant, place: &str, packet: &Packet, reason: DropReason);
}

/// A tap, or none. It hears of everything in the order of time, although links decide ahead, or late.
pub struct Tapped<'t> {
    tap: Option<InOrder<'t>>,
    /// See [`Tapped::limit`].
    limit: Instant,
    /// When the run ends.
    until: Instant,
}

impl<'t> Tapped<'t> {
    pub fn new(tap: Option<&'t mut dyn Tap>) -> Self {
        let tap =
            tap.map(|tap| InOrder { tap, lag: Duration::ZERO, told: Instant::ZERO, later: BTreeMap::new(), count: 0 });
        Tapped { tap, limit: Instant::ZERO, until: Instant::ZERO }
    }

    /// The run ends at `until`.
    pub fn set_until(&mut self, until: Instant) {
        self.until = until;
        let past = until.saturating_add(Duration::from_nanos(1));
        self.limit = if self.tap.is_some() { Instant::ZERO } else { past };
    }

    /// When the run ends.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// What happens from then on is looked at: what comes after the end, or with a tap all.
    #[inline]
    pub fn limit(&self) -> Instant {
        self.limit
    }

    /// What happens is decided so long after it at the latest.
    pub fn set_lag(&mut self, lag: Duration) {
        if let Some(tap) = &mut self.tap {
            tap.lag = lag;
        }
    }

    /// The run has ended at `end`: nothing more is decided.
    pub fn finish(&mut self, end: Instant) {
        self.set_lag(Duration::ZERO);
        self.advance(end);
    }

    /// The tap, if this run has one.
    #[inline]
    pub fn get(&mut self) -> Option<&mut dyn Tap> {
        match &mut self.tap {
            Some(tap) => Some(tap),
            None => None,
        }
    }

    /// It is `now`: what happens until then is told, but for the last of it, before which something may yet be decided.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if let Some(tap) = &mut self.tap {
            tap.advance(now);
        }
    }
}

/// Keeps what is yet to happen until its time has come.
struct InOrder<'t> {
    tap: &'t mut dyn Tap,
    lag: Duration,
    /// All until then was told.
    told: Instant,
    later: BTreeMap<(Instant, u64), (Packet, Look)>,
    count: u64,
}

/// One call of a tap.
enum Look {
    Sent(Direction),
    Lost(Direction, DropReason),
    Arrived(Direction),
    Dropped(String, DropReason),
}

impl InOrder<'_> {
    #[cold]
    fn advance(&mut self, now: Instant) {
        self.tell(now - self.lag);
    }

    fn tell(&mut self, until: Instant) {
        self.told = until;
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, _), (packet, look)) = entry.remove_entry();
            match look {
                Look::Sent(direction) => self.tap.on_sent(at, direction, &packet),
                Look::Lost(direction, reason) => self.tap.on_lost(at, direction, &packet, reason),
                Look::Arrived(direction) => self.tap.on_arrived(at, direction, &packet),
                Look::Dropped(place, reason) => self.tap.on_dropped(at, &place, &packet, reason),
            }
        }
    }

    fn look(&mut self, at: Instant, packet: &Packet, look: Look) {
        self.count += 1;
        self.later.insert((at, self.count), (packet.clone(), look));
        if at <= self.told {
            self.tell(self.told);
        }
    }
}

impl Tap for InOrder<'_> {
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.look(at, packet, Look::Sent(direction));
    }
    fn on_lost(&mut self, at: Instant, direction: Direction, packet: &Packet, reason: DropReason) {
        self.look(at, packet, Look::Lost(direction, reason));
    }
    fn on_arrived(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.look(at, packet, Look::Arrived(direction));
    }
    fn on_dropped(&mut self, at: Instant, place: &str, packet: &Packet, reason: DropReason) {
        self.look(at, packet, Look::Dropped(place.to_owned(), reason));
    }
}
