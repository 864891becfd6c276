//! The far end: makes header packets of what changed, and guesses where something is missing. (DEC-41, DEC-42)
//!
//! A lost packet leaves the far end one step behind, and every checksum after it fails. RFC 1144 then discards
//! everything until a whole header comes. *Twice* (RFC 2507 section 10.1) guesses: had one packet been lost, its
//! numbers would have grown by their steps; so the step is taken once more and the checksum tried again, then twice
//! more, and so on. Header packets grow by VMSS each, so the first guess is nearly always right for a single loss.

use super::body::{Body, Changes, Stamps};
use super::context::Context;
use super::settings::HeaderHopSettings;
use crate::hop::{Outlet, Passed};
use crate::papers::decoupling::header_hop::events;
use airtcp_core::{Context as World, DropReason, FlowKey, Packet, Port};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// See the module.
#[derive(Debug)]
pub(super) struct Decompressor {
    guesses: u8,
    contexts: Vec<Option<Slot>>,
}

#[derive(Debug)]
struct Slot {
    context: Context,
    /// A checksum failed and no guess was right: nothing but a whole header helps.
    is_lost: bool,
}

impl Decompressor {
    pub fn new(settings: &HeaderHopSettings) -> Decompressor {
        Decompressor { guesses: settings.twice, contexts: Vec::new() }
    }

    /// Forgets every connection.
    pub fn reset(&mut self) {
        self.contexts.clear();
    }

    /// True if header packets of this connection came lately.
    pub fn knows(&self, flow: &FlowKey) -> bool {
        self.contexts.iter().flatten().any(|slot| slot.context.flow() == *flow)
    }

    /// Connections with a context.
    pub fn len(&self) -> usize {
        self.contexts.iter().flatten().count()
    }

    /// The header packet that a body stands for, and how many packets before it were guessed to be lost; `None` if it
    /// cannot be known.
    pub fn decode(&mut self, body: &Body) -> Option<(Packet, u8)> {
        match body {
            Body::Whole { context, steps, datagram } => {
                let mut header = Context::of(&Packet::parse(datagram.clone())?)?;
                header.steps = *steps;
                let place = usize::from(*context);
                if self.contexts.len() <= place {
                    self.contexts.resize_with(place + 1, || None);
                }
                self.contexts[place] = Some(Slot { context: header, is_lost: false });
                Some((header.packet(), 0))
            }
            Body::Changes { context, changes } => {
                let slot = self.contexts.get_mut(usize::from(*context))?.as_mut()?;
                let guesses = 0..=self.guesses;
                let found = guesses.filter(|_| !slot.is_lost).find_map(|lost| {
                    let next = applied(slot.context, changes, lost)?;
                    (next.checksum() == changes.checksum).then_some((next, lost))
                });
                slot.is_lost = found.is_none();
                let (next, lost) = found?;
                slot.context = next;
                Some((next.packet(), lost))
            }
        }
    }
}

/// The header that follows `last` if `lost` packets between them grew by their steps.
fn applied(mut last: Context, changes: &Changes, lost: u8) -> Option<Context> {
    last.advance(u32::from(lost));
    last.steps.sequence = changes.sequence.unwrap_or(last.steps.sequence);
    last.steps.acknowledgment = changes.acknowledgment.unwrap_or(last.steps.acknowledgment);
    last.advance(1);
    let tcp = &mut last.segment.tcp;
    tcp.window = changes.window.unwrap_or(tcp.window);
    match (changes.timestamps, &mut tcp.options.timestamps) {
        (None, None) => {}
        (Some(Stamps::Whole(new)), Some(stamps)) => *stamps = new,
        (Some(Stamps::Low(value, echo)), Some(stamps)) => {
            stamps.value = nearest(stamps.value, value);
            stamps.echo = nearest(stamps.echo, echo);
        }
        _ => return None,
    }
    Some(last)
}

/// The number with these low bits that is nearest to `last`.
fn nearest(last: u32, low: u16) -> u32 {
    let distance = low.wrapping_sub(last as u16).cast_signed();
    last.wrapping_add_signed(i32::from(distance))
}

impl Decompressor {
    /// A body whose turn has come: the header packet goes on in its place.
    pub fn pass_body(&mut self, cx: &mut World<'_>, packet: Packet) {
        let body = packet.payload_bytes().and_then(|bytes| Body::decode(&bytes));
        let Some((header, lost)) = body.and_then(|body| self.decode(&body)) else {
            cx.emit(events::HEADER_LOST);
            return cx.discard(packet, DropReason::CORRUPTED);
        };
        match lost.cmp(&1) {
            Ordering::Less => {}
            Ordering::Equal => cx.emit(events::TWICE_FIRST),
            Ordering::Greater => cx.emit(events::TWICE_LATER),
        }
        cx.send(Port::INNER, header);
    }
}

impl Outlet for Decompressor {
    fn pass(&mut self, cx: &mut World<'_>, _passed: &Passed, packet: Packet) {
        self.pass_body(cx, packet);
    }
}
