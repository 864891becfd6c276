//! Stations that always have something to send: what theory says of them, and what a cell does.

use super::bss::Bss;
use super::entry::Entry;
use super::exchange::Timing;
use super::interface::{Fate, Frame, Load};
use super::report::Report;
use super::settings::CellSettings;
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant, Packet, packet::protocol};
use airtcp_link::{DropTail, Queue, QueueLimit};
use bytes::Bytes;
use std::net::Ipv4Addr;

/// Saturated stations that send to the access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Packets that arrive in a second, of all stations.
    pub packets_per_second: f64,
    /// Share of transmissions that collide.
    pub collision_probability: f64,
}

/// Bianchi's model (IEEE JSAC 18(3), 2000) of `stations` that send packets of `bytes`.
///
/// A collision costs a data frame (or an RTS) and AIFS, frames are damaged never, and sent until they arrive or, with
/// `attempts`, so many times (Wu et al., INFOCOM 2002). Slots count as the model has it: also the one in which another
/// station begins. In a cell that aggregates, every transmission is an aggregate as long as the settings allow.
pub fn bianchi(settings: &CellSettings, stations: usize, bytes: u32, attempts: Option<u32>) -> Saturation {
    let timing = Timing::new(settings);
    let Some(frame) = full_frame(settings, bytes) else {
        return Saturation { packets_per_second: 0.0, collision_probability: 0.0 };
    };
    let packets = match frame.load {
        Load::Aggregate(aggregate) => aggregate.frames as f64,
        _ => 1.0,
    };
    let seconds = |time: Duration| time.as_nanos() as f64 / 1e9;
    let aifs = seconds(timing.aifs(settings.aifs()));
    let (slot, success) = (seconds(timing.slot), seconds(timing.exchange(&frame, Fate::Acked)) + aifs);
    let collision = seconds(timing.opening(&frame)) + aifs;
    let windows = Windows { least: settings.cw_min.unwrap_or(settings.phy.cw_min()), most: settings.cw_max };
    let others = stations as f64 - 1.0;
    // The share that collides rises with the share of slots in which a station sends, which falls with it.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        let met = 1.0 - (1.0 - windows.sends(p, attempts)).powf(others);
        if met > p { low = p } else { high = p }
    }
    let p = if stations == 1 { 0.0 } else { low };
    let tau = windows.sends(p, attempts);
    let busy = 1.0 - (1.0 - tau).powf(others + 1.0);
    let alone = (others + 1.0) * tau * (1.0 - tau).powf(others);
    let mean_slot = (1.0 - busy) * slot + alone * success + (busy - alone) * collision;
    Saturation { packets_per_second: packets * alone / mean_slot, collision_probability: p }
}

/// What a station sends that has more than enough to send.
fn full_frame(settings: &CellSettings, bytes: u32) -> Option<Frame> {
    let mut cell = saturated(settings, 1, bytes, 0);
    cell.interfaces[InterfaceId::FIRST].head.take()
}

/// A cell whose stations have so much to send that more waits whenever a transmission is over.
fn saturated(settings: &CellSettings, stations: usize, bytes: u32, seed: u64) -> Bss {
    let packets = if settings.phy.aggregates() { 2 * settings.block_ack_window() } else { 2 };
    let limit = QueueLimit::Packets(u64::from(2 * packets));
    let queue = if settings.phy.aggregates() { Queue::DropTail(DropTail { limit }) } else { settings.queue.clone() };
    let mut cell = Bss::new(&CellSettings { queue, ..settings.clone() }, stations, seed, "cells.saturated");
    for station in cell.interfaces().skip(1) {
        for _ in 0..packets {
            let entry = Entry::new(InterfaceId::AP, packet(bytes), None);
            cell.send(Instant::ZERO, station, entry).ok();
        }
    }
    cell
}

struct Windows {
    least: u32,
    most: u32,
}

impl Windows {
    /// The share of slots in which a station sends, if a share `p` of its transmissions collide.
    fn sends(&self, p: f64, attempts: Option<u32>) -> f64 {
        // Beyond this many attempts nothing changes any more.
        let attempts = attempts.unwrap_or(10_000);
        let (mut window, mut share) = (self.least, 1.0);
        let (mut sent, mut slots) = (0.0, 0.0);
        for _ in 0..attempts {
            sent += share;
            slots += share * (f64::from(window) / 2.0 + 1.0);
            window = (window * 2 + 1).min(self.most);
            share *= p;
            if share < 1e-15 {
                break;
            }
        }
        sent / slots
    }
}

/// Runs a cell of `stations` that send packets of `bytes` for `span`, after a tenth of it.
pub fn measure(settings: &CellSettings, stations: usize, bytes: u32, span: Duration, seed: u64) -> Saturation {
    let mut cell = saturated(settings, stations, bytes, seed);
    let mut reports = Vec::new();
    let warm = Instant::ZERO + Duration::from_nanos(span.as_nanos() / 10);
    let end = warm + span;
    let (mut arrived, mut before) = (0u64, None);
    while let Some(now) = cell.next_event().filter(|now| *now <= end) {
        cell.advance(now, &mut reports);
        if now >= warm && before.is_none() {
            before = Some((arrived, totals(&cell)));
        }
        for report in reports.drain(..) {
            if let Report::Delivered { from, .. } | Report::Dropped { from, .. } = report {
                arrived += u64::from(matches!(report, Report::Delivered { .. }));
                cell.send(now, from, Entry::new(InterfaceId::AP, packet(bytes), None)).ok();
            }
        }
    }
    let (arrived_before, (sent_before, met_before)) = before.unwrap_or_default();
    let (sent, met) = totals(&cell);
    Saturation {
        packets_per_second: (arrived - arrived_before) as f64 / (span.as_nanos() as f64 / 1e9),
        collision_probability: (met - met_before) as f64 / (sent - sent_before).max(1) as f64,
    }
}

/// Transmissions of all stations, and those that collided.
fn totals(cell: &Bss) -> (u64, u64) {
    let usage = cell.interfaces().map(|interface| cell.usage(interface));
    usage.fold((0, 0), |(sent, met), usage| (sent + usage.transmissions, met + usage.collisions))
}

fn packet(bytes: u32) -> Packet {
    let payload = Bytes::from(vec![0; bytes.saturating_sub(20) as usize]);
    Packet::opaque(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into(), protocol::UDP, payload)
}
