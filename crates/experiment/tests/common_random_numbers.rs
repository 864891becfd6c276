//! Compared schemes meet the same random numbers: the n-th packet that a link transmits in run i has the same fate in
//! every cell, whatever stands before the link.

use crate::common::demo_with;
use airtcp_core::parameters::NoParameters;
use airtcp_core::{Context, Element, Packet, Port};
use airtcp_experiment::scenario::Source;
use airtcp_experiment::{Catalogue, Scenario, Simulator, World};
use airtcp_schemes::{Made, Placement, Reports, SchemeEntry, SchemeSettings, Site, settings_for};
use std::cell::RefCell;
use std::collections::VecDeque;

thread_local! {
    /// What went into the air and has not come out, and the fate of what went in, in the order of sending.
    static AIR: RefCell<(VecDeque<String>, Vec<bool>)> = RefCell::default();
}

/// Watches the data packets that its link carries; `thins` drops every third acknowledgment, so that the sender behaves otherwise.
struct Watch {
    thins: bool,
    acknowledgments: u64,
}

impl Element for Watch {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        let name = format!("{:?} {:?}", packet.tcp().map(|tcp| (tcp.sequence, tcp.options)), packet.payload_len());
        if packet.payload_len() > 0 {
            AIR.with_borrow_mut(|(sent, fates)| match port {
                Port::INNER => sent.push_back(name),
                _ => {
                    let place = sent.iter().position(|waiting| *waiting == name).expect("it was sent");
                    // The air keeps the order, so what was sent before is lost.
                    fates.extend(std::iter::repeat_n(false, place).chain([true]));
                    sent.drain(..=place);
                }
            });
        } else if port == Port::INNER && self.thins {
            self.acknowledgments += 1;
            if self.acknowledgments.is_multiple_of(3) {
                return cx.consume(packet);
            }
        }
        cx.send(port.opposite(), packet);
    }
}

fn boxed(thins: bool) -> Made {
    Ok(Box::new(Watch { thins, acknowledgments: 0 }))
}

fn passes(_: &NoParameters, _: &mut Site<'_>) -> Made {
    boxed(false)
}

fn thins(_: &NoParameters, _: &mut Site<'_>) -> Made {
    boxed(true)
}

const fn entry(slug: &'static str, settings: fn() -> Box<dyn SchemeSettings>) -> SchemeEntry {
    let (about, source, placement) = ("Watches the link.", "test", Placement::BothEnds);
    SchemeEntry { slug, about, source, placement, keeps_end_to_end: true, reports: Reports::NONE, settings }
}

const SCHEMES: [SchemeEntry; 2] =
    [entry("watch", || settings_for(passes)), entry("thinning-watch", || settings_for(thins))];

fn scenario() -> Scenario {
    let text = demo_with("[\"none\", \"gsnoop\"]", "[\"watch\", \"thinning-watch\"]");
    let text = text.replace("kind = \"gsnoop\"", "kind = \"watch\"");
    let catalogue = Catalogue { schemes: &SCHEMES, ..Catalogue::BUILT_IN };
    let source = Source { file: "demo.toml".into(), text };
    let sets = ["links.air.loss=5%", "flows.bulk.controller=cubic", "duration=20s", "runs=2"].map(str::to_owned);
    Scenario::read(&source, &sets, &catalogue, &mut |_| unreachable!("no base")).unwrap()
}

/// Whether the n-th packet sent over the air arrived, and what the receiver got.
fn fates(scenario: &Scenario, cell: usize, seed: u64) -> (Vec<bool>, u64) {
    AIR.set(Default::default());
    let outcome = Simulator::default().run(&scenario.cells[cell].scenario, seed).unwrap();
    (AIR.take().1, outcome.flows[0].total_bytes)
}

#[test]
fn schemes_that_send_differently_lose_the_same_transmissions() {
    let scenario = scenario();
    let (plain, plain_bytes) = fates(&scenario, 0, 1);
    let (thinned, thinned_bytes) = fates(&scenario, 1, 1);
    let both = plain.len().min(thinned.len());
    assert!(both > 500 && plain_bytes != thinned_bytes, "{both} packets, {plain_bytes} and {thinned_bytes} bytes");
    assert_eq!(plain[..both], thinned[..both]);
    let lost = plain[..both].iter().filter(|arrived| !**arrived).count();
    assert!((both / 40..both / 10).contains(&lost), "{lost} of {both} lost");
}

#[test]
fn another_run_meets_other_losses() {
    let scenario = scenario();
    let ((one, _), (two, _)) = (fates(&scenario, 0, 1), fates(&scenario, 0, 2));
    let both = one.len().min(two.len());
    assert_ne!(one[..both], two[..both]);
}
