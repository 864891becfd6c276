//! The checks that watch every run: conservation, streams, bounds. The first failure is kept.

use crate::air::Wlan;
use crate::element::PlacedElement;
use crate::host::Host;
use crate::index::ElementId;
use crate::network::Network;
use crate::outcome::Checks;
use crate::pipe::Pipe;
use airtcp_core::Instant;
use typed_index_collections::TiSlice;

/// Watches a run.
#[derive(Debug)]
pub struct Checker {
    checks: Checks,
}

impl Checker {
    pub fn new(enabled: bool) -> Self {
        let initial = enabled.then_some(Ok(()));
        Checker { checks: Checks { conservation: initial.clone(), stream: initial.clone(), bounds: initial } }
    }

    /// Checks conservation and bounds everywhere.
    pub fn check(&mut self, now: Instant, elements: &TiSlice<ElementId, PlacedElement>, network: &Network<'_>) {
        for slot in elements {
            fail_if(&mut self.checks.conservation, element_conserves(now, slot, network));
            fail_if(&mut self.checks.bounds, || {
                let broken = slot.body.as_element().check().err()?;
                Some(format!("{now} {}: {broken}", slot.place.name(&network.node_names)))
            });
        }
        for pipe in &network.pipes {
            fail_if(&mut self.checks.conservation, link_conserves(now, pipe, network));
        }
        for wlan in &network.wlans {
            fail_if(&mut self.checks.conservation, cell_conserves(now, wlan));
        }
    }

    /// An element broke a bound that is watched elsewhere.
    pub fn fail_bounds(&mut self, name: &str, broken: &str) {
        fail_if(&mut self.checks.bounds, || Some(format!("{name}: {broken}")));
    }

    /// Checks that everything a host took in is the stream that was sent.
    pub fn check_streams(&mut self, host: &Host) {
        fail_if(&mut self.checks.stream, || host.stream_failure());
    }

    pub fn finish(self) -> Checks {
        self.checks
    }
}

fn fail_if(check: &mut Option<Result<(), String>>, failure: impl FnOnce() -> Option<String>) {
    if let Some(Ok(())) = check
        && let Some(failure) = failure()
    {
        *check = Some(Err(failure));
    }
}

fn element_conserves(now: Instant, slot: &PlacedElement, network: &Network<'_>) -> impl FnOnce() -> Option<String> {
    move || {
        let balance = slot.ledger.balance(slot.body.as_element().held().packets);
        let name = || slot.place.name(&network.node_names);
        (!balance.holds()).then(|| format!("{now} {}: {} packets are missing: {balance:?}", name(), balance.missing()))
    }
}

fn link_conserves(now: Instant, pipe: &Pipe, network: &Network<'_>) -> impl FnOnce() -> Option<String> {
    move || {
        let counters = pipe.link.counters();
        let into = counters.packets_in + counters.duplicated;
        let out = counters.packets_delivered + counters.dropped_total();
        let held = pipe.link.held().packets as u64;
        let name = || pipe.name(&network.links);
        (into != out + held).then(|| format!("{now} {}: {into} in, {out} out, {held} held", name()))
    }
}

fn cell_conserves(now: Instant, wlan: &Wlan) -> impl FnOnce() -> Option<String> {
    move || {
        wlan.bss.interfaces().find_map(|interface| {
            let counters = wlan.bss.counters(interface);
            let out = counters.packets_delivered + counters.dropped_total();
            let held = wlan.bss.held(interface) as u64;
            let into = counters.packets_in;
            let (wlan, number) = (&wlan.name, usize::from(interface));
            (into != out + held).then(|| format!("{now} {wlan} interface {number}: {into} in, {out} out, {held} held"))
        })
    }
}
