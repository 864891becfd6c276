//! The near end: writes a header packet as what changed since the last of its connection. (DEC-41)

use super::body::{Body, Changes, Stamps};
use super::context::Context;
use super::settings::{Compress, HeaderHopSettings};
use airtcp_core::{Packet, TcpHeader, TcpOptions, Timestamps};
use alloc::vec::Vec;

/// See the module.
#[derive(Debug)]
pub(super) struct Compressor {
    mode: Compress,
    guesses: u32,
    refresh: u16,
    limit: usize,
    /// The number of a context is its place.
    contexts: Vec<Slot>,
    /// Counts headers, for the order of use.
    clock: u64,
}

#[derive(Debug)]
struct Slot {
    context: Context,
    used: u64,
    /// Compressed headers since the last whole one.
    since_whole: u16,
}

impl Compressor {
    pub fn new(settings: &HeaderHopSettings) -> Compressor {
        Compressor {
            mode: settings.compress,
            guesses: u32::from(settings.twice),
            refresh: settings.refresh,
            limit: usize::from(settings.contexts),
            contexts: Vec::new(),
            clock: 0,
        }
    }

    /// The other end knows nothing any more.
    pub fn reset(&mut self) {
        self.contexts.clear();
    }

    /// Connections with a context.
    pub fn len(&self) -> usize {
        self.contexts.len()
    }

    /// A header packet as it goes over the link; `None` for a packet that can only go as it is.
    pub fn encode(&mut self, packet: &Packet) -> Option<Body> {
        let next = Context::of(packet)?;
        let flow = next.flow();
        self.clock += 1;
        let place = self.contexts.iter().position(|slot| slot.context.flow() == flow);
        let changes = place.and_then(|place| self.changes(&self.contexts[place], &next));
        let place = place.unwrap_or_else(|| self.place_for(next));
        let slot = &mut self.contexts[place];
        let (context, mut steps) = (place as u8, slot.context.steps);
        slot.used = self.clock;
        if let Some(changes) = changes {
            steps.sequence = changes.sequence.unwrap_or(steps.sequence);
            steps.acknowledgment = changes.acknowledgment.unwrap_or(steps.acknowledgment);
            slot.context = Context { steps, ..next };
            slot.since_whole = slot.since_whole.saturating_add(1);
            return Some(Body::Changes { context, changes });
        }
        slot.context = Context { steps, ..next };
        slot.since_whole = 0;
        Some(Body::Whole { context, steps, datagram: packet.to_wire() })
    }

    /// A place for a new connection: a new one, or that of the connection that was silent longest.
    fn place_for(&mut self, context: Context) -> usize {
        let slot = Slot { context, used: self.clock, since_whole: 0 };
        if self.contexts.len() < self.limit {
            self.contexts.push(slot);
            return self.contexts.len() - 1;
        }
        let oldest = (0..self.contexts.len()).min_by_key(|place| self.contexts[*place].used).unwrap_or(0);
        self.contexts[oldest] = slot;
        oldest
    }

    /// What changed; `None` where the header must go whole.
    fn changes(&self, slot: &Slot, next: &Context) -> Option<Changes> {
        let last = &slot.context;
        let is_due = self.refresh > 0 && slot.since_whole >= self.refresh;
        if self.mode == Compress::None || is_due || constants(last) != constants(next) {
            return None;
        }
        let (old, new) = (last.tcp(), next.tcp());
        let growth = |of: fn(&TcpHeader) -> u32| u16::try_from(of(new).wrapping_sub(of(old))).ok();
        let sequence = growth(|tcp| tcp.sequence.0).filter(|growth| self.is_telling(*growth))?;
        let acknowledgment = growth(|tcp| tcp.acknowledgment.0).filter(|growth| self.is_telling(*growth))?;
        // Sent again, likely because the other end of the connection heard nothing (RFC 1144 section 3.2.3).
        if sequence == 0 && acknowledgment == 0 {
            return None;
        }
        Some(Changes {
            checksum: next.checksum(),
            sequence: Some(sequence).filter(|growth| *growth != last.steps.sequence),
            acknowledgment: Some(acknowledgment).filter(|growth| *growth != last.steps.acknowledgment),
            window: Some(new.window).filter(|window| *window != old.window),
            timestamps: new.options.timestamps.map(|stamps| self.stamps(old.options.timestamps, stamps)),
        })
    }

    /// Whether the checksum tells a header from those that grew by this once or several times more: it does not where
    /// the sum grows by a multiple of 65535 (RFC 1071).
    fn is_telling(&self, growth: u16) -> bool {
        growth == 0 || (1..=self.guesses.max(1)).all(|times| u32::from(growth) * times % 0xffff != 0)
    }

    fn stamps(&self, last: Option<Timestamps>, stamps: Timestamps) -> Stamps {
        let is_near = |last: u32, new: u32| new.wrapping_sub(last) < 1 << 14;
        let are_near = last.is_some_and(|last| is_near(last.value, stamps.value) && is_near(last.echo, stamps.echo));
        if self.mode == Compress::Timestamps && are_near {
            Stamps::Low(stamps.value as u16, stamps.echo as u16)
        } else {
            Stamps::Whole(stamps)
        }
    }
}

/// A header without what may change from one to the next.
fn constants(context: &Context) -> (TcpHeader, u8, u8, bool) {
    let tcp = *context.tcp();
    let has_stamps = tcp.options.timestamps.is_some();
    let options = TcpOptions { timestamps: None, ..tcp.options };
    let still = TcpHeader {
        sequence: airtcp_core::SeqNum(0),
        acknowledgment: airtcp_core::SeqNum(0),
        window: 0,
        options,
        ..tcp
    };
    (still, context.segment.traffic_class, context.hop_limit, has_stamps)
}
