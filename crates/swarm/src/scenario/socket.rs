//! What carries a random flow: TCP, a decoupling socket, or a stream of datagrams over a circuit.

use super::Scenario;
use crate::draw::Draw;
use airtcp_core::Duration;
use airtcp_schemes::decoupling::{datagrams, socket};
use airtcp_sim::FlowKind;

/// A socket with the parameters that differ from the defaults, key and value as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketPlan {
    /// A TCP connection.
    Tcp,
    /// A reliable decoupling socket.
    Decoupling(Vec<(String, String)>),
    /// Datagrams over a circuit, for endless flows only.
    Streaming(Vec<(String, String)>),
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
/// Boxes that end TCP connections, or answer for their ends, take header packets for segments without payload, so circuits
/// are drawn on paths without schemes.
pub(super) fn draw_socket(
    draw: &mut Draw,
    scenario: &Scenario,
    ends: [usize; 2],
    mtu: u32,
    is_endless: bool,
) -> SocketPlan {
    let [from, to] = ends;
    let way = scenario.path(from, to).into_iter().chain(scenario.path(to, from));
    let is_free = way.map(|(link, _)| link).all(|link| scenario.links[link].scheme.is_none());
    if !is_free || !draw.percent(40) {
        return SocketPlan::Tcp;
    }
    if is_endless && draw.percent(40) {
        let mut settings = some_of(draw, &CIRCUIT);
        settings.push(("packet".into(), draw.between(200, u64::from(mtu.max(200))).to_string()));
        return SocketPlan::Streaming(settings);
    }
    let settings = [some_of(draw, &DATA), some_of(draw, &CIRCUIT)].concat();
    SocketPlan::Decoupling(settings)
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
    /// As the simulator takes it.
    pub fn kind(&self) -> FlowKind {
        let good = "drawn from what reads";
        match self {
            SocketPlan::Tcp => FlowKind::Tcp,
            SocketPlan::Decoupling(settings) => {
                FlowKind::Decoupling(Box::new(socket::Settings::with(settings).expect(good)))
            }
            SocketPlan::Streaming(settings) => {
                FlowKind::Datagrams(Box::new(datagrams::Settings::with(settings, true).expect(good)))
            }
        }
    }

    /// In words, with a blank before; nothing for TCP.
    pub fn describe(&self) -> String {
        let (name, settings) = match self {
            SocketPlan::Tcp => return String::new(),
            SocketPlan::Decoupling(settings) => ("decoupling", settings),
            SocketPlan::Streaming(settings) => ("streaming", settings),
        };
        let settings: String = settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!(" {name} socket{settings},")
    }

    /// The timers that a circuit adds to its flow's: the least and the longest RTO of a control TCP, where it has one.
    pub fn timers(&self) -> Option<Duration> {
        (*self != SocketPlan::Tcp).then_some(LONGEST_TICK.saturating_mul(2))
    }
}
