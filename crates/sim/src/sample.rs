//! Samples: what a run records at steady times.

use crate::belief::Belief;
use crate::element::{ElementKind, PlacedElement};
use crate::engine::Engine;
use crate::events::Kind;
use crate::index::{ElementId, PipeId};
use crate::levels::Level;
use crate::outcome::LevelSample;
use crate::pipe::Pipe;
use airtcp_core::{Duration, Event, Instant};
use typed_index_collections::TiSlice;

impl Engine<'_> {
    pub(crate) fn set_sample(&mut self) {
        self.network.queue.set(self.network.sources.of(Kind::Sample), self.now + self.sample_every, self.network.since);
    }

    #[cold]
    pub(crate) fn on_warm(&mut self) {
        for slot in &mut self.elements {
            if let ElementKind::Host(host) = &mut slot.body {
                host.on_warm();
            }
        }
    }

    #[cold]
    pub(crate) fn sample(&mut self) {
        self.network.enter_all(self.now - Duration::from_nanos(1));
        // Only series have them.
        let repairs = if self.settings.series {
            self.elements.iter().map(|slot| slot.ledger.events.get(Event::REPAIR)).sum()
        } else {
            0
        };
        for slot in &mut self.elements {
            match &mut slot.body {
                ElementKind::Host(host) => host.sample(self.now, repairs, self.settings.series),
                ElementKind::Scheme(scheme) if self.settings.series => {
                    slot.beliefs.extend(Belief::of(scheme.as_ref(), self.now));
                }
                ElementKind::Scheme(_) => {}
            }
        }
        if !self.settings.levels.is_empty() {
            let (pipes, now) = (&mut self.network.pipes, self.now);
            let read = |level: &Level| read_level(level, now, pipes, &self.elements, &self.schemes);
            let values = self.settings.levels.iter().map(read).collect();
            self.levels.push(LevelSample { at: now, values });
        }
        self.checker.check(self.now, &self.elements, &self.network);
    }
}

/// A scheme's name, slug and elements.
type Placed = (String, &'static str, Vec<ElementId>);

/// The level now.
fn read_level(
    level: &Level,
    now: Instant,
    pipes: &mut TiSlice<PipeId, Pipe>,
    elements: &TiSlice<ElementId, PlacedElement>,
    schemes: &[Placed],
) -> u64 {
    match level {
        Level::Queue { link, reverse } => {
            pipes.get_mut(PipeId::of(*link, *reverse)).map_or(0, |pipe| pipe.link.take_queue_peak(now))
        }
        Level::Headers { link, reverse } => {
            let levels = pipes.get(PipeId::of(*link, *reverse)).and_then(|pipe| pipe.link.header_levels(now));
            levels.map_or(0, |levels| levels.waiting)
        }
        Level::Gauge { scheme, gauge } => {
            let placed = schemes.iter().filter(|(name, ..)| name == scheme).flat_map(|(.., placed)| placed);
            let mut sum = 0;
            for index in placed {
                elements[*index].body.as_element().observe(&mut |found, level| {
                    sum += if found == *gauge { level } else { 0 };
                });
            }
            sum
        }
    }
}
