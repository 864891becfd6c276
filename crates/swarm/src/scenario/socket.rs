//! What carries a random flow: TCP, a decoupling socket, a stream of datagrams over a circuit, or a socket that is new in
//! the table.

use super::{Scenario, circuit};
use crate::Tables;
use crate::draw::Draw;
use crate::parameters::{Reach, Scale, draw_settings};
use airtcp_core::Duration;
use airtcp_core::parameters::ParameterError;
use airtcp_schemes::SOCKETS;
use airtcp_schemes::papers::decoupling::{datagrams, socket};
use airtcp_schemes::socket::{SocketChoice, SocketEntry};

/// A socket, and the parameters that differ from the defaults, key and value as text.
#[derive(Clone, Debug)]
pub struct SocketPlan {
    /// As the simulator takes it.
    pub choice: SocketChoice,
    settings: Vec<(String, String)>,
}

/// Longest tick that is drawn: a control TCP's RTO is two at least.
const LONGEST_TICK: Duration = Duration::from_millis(500);

/// Values worth trying together, by the name of the parameter.
const DATA: [(&str, &[&str]); 5] = [
    ("data_sack", &["true", "false"]),
    ("repeat", &["path", "window", "never"]),
    ("holes", &["all", "first"]),
    ("timer", &["fine", "coarse"]),
    ("when_full", &["block", "drop"]),
];
const CIRCUIT: [(&str, &[&str]); 11] = [
    ("vmss", &["500", "1000", "1448", "3000", "9000"]),
    ("controls", &["2", "3", "8"]),
    ("controller", &["cubic", "bbr", "westwood"]),
    ("recovery", &["newreno", "sack", "rack"]),
    ("byte_counting", &["delivered"]),
    ("rto_tick", &["auto", "50ms", "500ms"]),
    ("delayed_ack", &["1", "4"]),
    ("timestamps", &["false"]),
    ("gmb", &["10kbit", "200kbit"]),
    ("tunnel", &["1", "2", "10", "200"]),
    ("shaper", &["true"]),
];

/// Draws what carries a flow from one node to another with packets of `mtu` bytes.
///
/// Gateways that end TCP connections, or answer for their ends, take header packets for segments without payload, so
/// sockets other than TCP are drawn on paths without schemes.
pub(super) fn draw_socket(
    draw: &mut Draw,
    scenario: &Scenario,
    ends: [usize; 2],
    mtu: u32,
    is_endless: bool,
    tables: &Tables<'_>,
) -> SocketPlan {
    let [from, to] = ends;
    let path = scenario.path(from, to).into_iter().chain(scenario.path(to, from));
    let is_free = path.map(|(link, _)| link).all(|link| scenario.links[link].scheme.is_none());
    if !is_free || !draw.percent(40) {
        return SocketPlan::tcp();
    }
    let is_other = |entry: &SocketEntry| SOCKETS.iter().all(|built_in| built_in.slug != entry.slug);
    let fits = |entry: &SocketEntry| is_other(entry) && (is_endless || entry.has_size);
    let others: Vec<SocketEntry> = tables.sockets.iter().copied().filter(fits).collect();
    if !others.is_empty() && draw.percent(50) {
        let entry = draw.pick(&others);
        let scale = Scale { reach: Reach::Moderate, rate: None, least_packets: 2, mtu };
        let settings = draw_settings(draw, &entry.fields(), &scale);
        return SocketPlan::new(&entry, settings).unwrap_or_else(|_| SocketPlan::tcp());
    }
    let good = "drawn from what reads";
    if is_endless && draw.percent(40) {
        let mut settings = some_of(draw, &CIRCUIT);
        settings.push(("packet".into(), draw.between(200, u64::from(mtu.max(200))).to_string()));
        return SocketPlan::new(&datagrams::STREAMING, settings).expect(good);
    }
    let settings = [some_of(draw, &DATA), some_of(draw, &CIRCUIT)].concat();
    SocketPlan::new(&socket::ENTRY, settings).expect(good)
}

fn some_of(draw: &mut Draw, table: &[(&str, &[&str])]) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (key, values) in table {
        let value = draw.pick(values);
        if draw.percent(30) {
            settings.push(((*key).to_owned(), value.to_owned()));
        }
    }
    settings
}

impl SocketPlan {
    /// A TCP connection.
    pub fn tcp() -> SocketPlan {
        SocketPlan { choice: SocketChoice::default(), settings: Vec::new() }
    }

    fn new(entry: &SocketEntry, settings: Vec<(String, String)>) -> Result<SocketPlan, ParameterError> {
        let choice = entry.with(settings.iter().map(|(key, value)| (key, value)))?;
        Ok(SocketPlan { choice, settings })
    }

    /// In words, with a blank before; nothing for TCP.
    pub fn describe(&self) -> String {
        if self.choice.is_tcp() {
            return String::new();
        }
        let settings: String = self.settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!(" {} socket{settings},", self.choice.entry.slug)
    }

    /// True if a timeout is twice as long as the one before although what was sent again has arrived: no repair is a
    /// sample of the round trip (RFC 6298, section 3) without timestamps, which the data TCP has if `timestamps`. So do
    /// the coarse timer of a data TCP and control TCPs.
    pub fn backs_off(&self, timestamps: bool) -> bool {
        let has = |name: &str, wanted: &str| self.settings.iter().any(|(key, value)| key == name && value == wanted);
        !timestamps && has("timer", "coarse") || has("timestamps", "false")
    }

    /// Bytes of data for a header packet of its circuit, where it has one.
    pub fn vmss(&self) -> Option<u64> {
        (!self.choice.is_tcp()).then(|| circuit::vmss(&self.settings))
    }

    /// Fits a circuit, where it has one, to the queues on its way.
    pub(super) fn fit_circuit(&mut self, room: circuit::Room) {
        let entry = self.choice.entry;
        let mut settings = self.settings.clone();
        if entry.fields().iter().any(|field| field.name == "vmss") {
            circuit::fit(&mut settings, room);
        }
        if settings != self.settings {
            *self = SocketPlan::new(&entry, settings).expect("smaller values of what was drawn");
        }
    }

    /// The timers that a circuit adds to its flow's: the least and the longest RTO of a control TCP, where it has one.
    pub fn timers(&self) -> Option<Duration> {
        (!self.choice.is_tcp()).then_some(LONGEST_TICK.saturating_mul(2))
    }
}
