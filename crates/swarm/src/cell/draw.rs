//! What a cell is made of.

use super::{Cell, Keys, Upload, with};
use crate::Tables;
use crate::draw::Draw;
use crate::scenario::SchemePlan;
use airtcp_core::parameters::Parameters;
use airtcp_core::{Duration, Rate};
use airtcp_link::{DropTail, LinkSettings, Queue, QueueLimit};
use airtcp_sim::dot11::{CellSettings, Edca, Phy};
use airtcp_tcp::Config;

/// Schemes for the access point or the stations of a cell that ask for no more than their defaults.
const ON_CELLS: [&str; 3] = ["as-tcp", "thin", "ack-filter"];

/// The cell of a seed: schemes and controllers come from `tables`.
pub fn cell(seed: u64, tables: &Tables<'_>) -> Cell {
    let draw = &mut Draw::new(seed, "swarm/cell");
    let is_calm = draw.percent(60);
    let stations = draw.between(1, 6) as usize;
    let mut keys = Accepted { settings: CellSettings::default(), keys: Keys::new() };
    draw_physical(draw, &mut keys);
    draw_frames(draw, &mut keys);
    draw_damage(draw, &mut keys, is_calm);
    draw_sleep(draw, &mut keys);
    let mut edca = Vec::new();
    if !is_calm {
        draw_contention(draw, &mut keys);
        edca = (0..stations).filter_map(|station| Some((station, draw_edca(draw, &keys.settings)?))).collect();
    }
    draw_queues(draw, &mut keys, is_calm);
    let scheme = draw_scheme(draw, tables);
    let flows = (0..draw.between(1, 6)).map(|_| draw_flow(draw, stations, tables)).collect();
    let Accepted { keys, .. } = keys;
    Cell { seed, is_calm, stations, keys, edca, wire: draw_wire(draw), scheme, flows }
}

/// Keys that make sense together.
struct Accepted {
    settings: CellSettings,
    keys: Keys,
}

impl Accepted {
    /// Takes a key, unless the cell refuses it beside the others.
    fn add(&mut self, key: &str, value: impl ToString) {
        let (mut settings, value) = (self.settings.clone(), value.to_string());
        if settings.set(key, &value.as_str().into()).is_ok() && settings.check().is_ok() {
            self.settings = settings;
            self.keys.retain(|(name, _)| name != key);
            self.keys.push((key.to_owned(), value));
        }
    }

    /// Takes it where it is `wanted`.
    fn maybe(&mut self, key: &str, value: impl ToString, wanted: bool) {
        if wanted {
            self.add(key, value);
        }
    }
}

/// Physical layer, rate or modulation.
fn draw_physical(draw: &mut Draw, keys: &mut Accepted) {
    keys.add("phy", draw.pick(&["b-long", "b-short", "g", "n", "n", "ac", "ac", "ax", "ax"]));
    keys.maybe("band", "2.4GHz", draw.percent(30));
    keys.maybe("long_slot", "true", draw.percent(30));
    keys.maybe("width", draw.pick(&[20, 40, 80, 160]), draw.percent(50));
    keys.maybe("streams", draw.between(1, 8), draw.percent(50));
    keys.maybe("mcs", draw.between(0, 11), draw.percent(70));
    keys.maybe("guard_interval", draw.pick(&["400ns", "800ns", "1600ns", "3200ns"]), draw.percent(50));
    let rates = match keys.settings.phy {
        Phy::G => &["6Mbit", "12Mbit", "24Mbit", "36Mbit", "54Mbit"][..],
        Phy::BLong | Phy::BShort => &["1Mbit", "2Mbit", "5.5Mbit", "11Mbit"][..],
        Phy::N | Phy::Ac | Phy::Ax => return,
    };
    keys.maybe("rate", draw.pick(rates), draw.percent(60));
}

/// Aggregates, what answers carry, RTS.
fn draw_frames(draw: &mut Draw, keys: &mut Accepted) {
    keys.maybe("block_ack_window", draw.magnitude(1, 256), draw.percent(40));
    keys.maybe("ampdu_bytes", draw.magnitude(1_542, 6_500_631), draw.percent(40));
    keys.maybe("ppdu_time", Duration::from_micros(draw.between(300, 5_484)), draw.percent(30));
    keys.maybe("txop", draw.span(Duration::from_micros(32), Duration::from_millis(8)), draw.percent(30));
    keys.maybe("ap_txop", draw.span(Duration::from_micros(32), Duration::from_millis(8)), draw.percent(30));
    keys.maybe("hand_up", "frame", draw.percent(40));
    keys.maybe("hack", "true", draw.percent(35));
    keys.maybe("reverse_frame", draw.pick(&["head", "any"]), draw.percent(20));
    keys.maybe("rts_threshold", draw.magnitude(1, 100_000), draw.percent(30));
    keys.maybe("eifs", "true", draw.percent(20));
    keys.maybe("contention", "idle-sense", draw.percent(20));
}

/// A calm cell's retries repair nearly all of it.
fn draw_damage(draw: &mut Draw, keys: &mut Accepted, is_calm: bool) {
    let [data, control] = if is_calm { [15, 5] } else { [95, 95] };
    keys.maybe("data_loss", format!("{}%", draw.magnitude(1, data)), draw.percent(50));
    keys.maybe("control_loss", format!("{}%", draw.magnitude(1, control)), draw.percent(30));
    if !is_calm {
        keys.maybe("retry_limit", draw.magnitude(1, 40), draw.percent(50));
        keys.maybe("long_retry_limit", draw.magnitude(1, 40), draw.percent(50));
    }
}

fn draw_sleep(draw: &mut Draw, keys: &mut Accepted) {
    keys.maybe("beacon_interval", draw.span(Duration::from_millis(10), Duration::from_millis(200)), draw.percent(30));
    keys.maybe("power_save", "true", draw.percent(40));
    keys.maybe("power_save_fetch", "ps-poll", draw.percent(50));
}

/// Windows and AIFS with which some may starve others.
fn draw_contention(draw: &mut Draw, keys: &mut Accepted) {
    for (least, most) in [("cw_min", "cw_max"), ("ap_cw_min", "ap_cw_max")] {
        keys.maybe(least, draw.magnitude(0, 1023), draw.percent(30));
        keys.maybe(most, draw.magnitude(0, 4095), draw.percent(30));
    }
    keys.maybe("aifs", draw.magnitude(0, 20), draw.percent(30));
    keys.maybe("ap_aifs", draw.magnitude(0, 20), draw.percent(30));
}

fn draw_edca(draw: &mut Draw, settings: &CellSettings) -> Option<Keys> {
    let aifs = draw.magnitude(0, 20).to_string();
    let [least, most] = [draw.magnitude(0, 63), draw.magnitude(63, 2047)].map(|window| window.to_string());
    let txop = draw.span(Duration::from_micros(32), Duration::from_millis(8)).to_string();
    let all = [("aifs", aifs), ("cw_min", least), ("cw_max", most), ("txop", txop)];
    let keys: Keys = all.into_iter().filter(|_| draw.percent(40)).map(|(key, value)| (key.to_owned(), value)).collect();
    let edca = with(Edca::default(), &keys).ok()?;
    (!keys.is_empty() && draw.percent(40) && settings.check_edca(&edca).is_ok()).then_some(keys)
}

/// Drop-tail or ring; a calm one has room for a few packets of each flow.
fn draw_queues(draw: &mut Draw, keys: &mut Accepted, is_calm: bool) {
    for key in ["queue", "ap_queue"] {
        let packets = draw.magnitude(if is_calm { 20 } else { 1 }, 1_000);
        let kind = draw.pick(&["droptail", "ring"]);
        keys.maybe(key, format!("{{ kind = \"{kind}\", limit = \"{packets}packets\" }}"), draw.percent(70));
    }
}

fn draw_wire(draw: &mut Draw) -> LinkSettings {
    LinkSettings {
        rate: Rate::from_bps(draw.magnitude(2_000_000, 1_000_000_000)).into(),
        delay: draw.span(Duration::from_micros(10), Duration::from_millis(30)).into(),
        queue: Queue::DropTail(DropTail { limit: QueueLimit::Packets(draw.magnitude(50, 2_000)) }),
        ..LinkSettings::default()
    }
}

fn draw_scheme(draw: &mut Draw, tables: &Tables<'_>) -> Option<SchemePlan> {
    let some: Vec<_> = tables.schemes.iter().filter(|entry| ON_CELLS.contains(&entry.slug)).copied().collect();
    if some.is_empty() || !draw.percent(40) {
        return None;
    }
    let entry = draw.pick(&some);
    let downloads = entry.slug == "as-tcp" && draw.percent(50);
    let settings = downloads.then(|| ("downloads".to_owned(), "true".to_owned()));
    Some(SchemePlan { entry, settings: settings.into_iter().collect() })
}

/// Up, down, or from station to station.
fn draw_flow(draw: &mut Draw, stations: usize, tables: &Tables<'_>) -> Upload {
    let station = 2 + draw.index(stations);
    let other = if draw.percent(75) { draw.index(2) } else { 2 + draw.index(stations) };
    let other = if other == station { 0 } else { other };
    let ends = if draw.percent(50) { [station, other] } else { [other, station] };
    let controlled: Vec<_> = tables.controllers.iter().filter(|entry| entry.slug != "unlimited").copied().collect();
    let tcp = Config {
        controller: draw.pick(&controlled).into(),
        sack: draw.percent(80),
        timestamps: draw.percent(50),
        // Timeouts that hold nothing up for longer than the run.
        max_rto: Duration::from_secs(5),
        syn_retries: 100,
        max_retries: 1000,
        ..if draw.percent(50) { Config::default() } else { Config::without_habits() }
    };
    let start = Duration::from_nanos(draw.below(1_000_000_000));
    Upload { ends, tcp, start, size: draw.magnitude(0, 600_000), ipv6: draw.percent(30) }
}
