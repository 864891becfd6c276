//! The testbed: a scenario's graph as network namespaces on one machine.
//!
//! Every node is a namespace with the kernel's own TCP/IP. Every link is a pair of TUN devices, one in each of its two
//! namespaces and named after the link; the [`emulator`] holds the other side of both and is the only path from one to
//! the other. Nothing touches the machine's own interfaces, routes or rules.
//!
//! A testbed goes away when dropped and on SIGINT, SIGTERM and SIGHUP. After `kill -9` the next
//! start finds its entry in the registry, sees that its owner is dead, and removes what it left.
//!
//! Set up with `ip -batch` rather than netlink messages of our own: one process per namespace
//! takes some milliseconds, its error messages name the line, and what was done can be repeated
//! by hand.
//!
//! [`emulator`]: crate::emulator

mod addresses;
mod exec;
mod interrupt;
pub(crate) mod ip;
mod registry;
mod routes;
mod settings;
mod spec;

pub use addresses::Family;
pub use exec::{Exec, Program};
pub use registry::{RUN_DIR, remove_leftovers};
pub use spec::{LinkSpec, NodeSpec, SpecError, TestbedSpec};

use crate::emulator::{Emulator, EmulatorError, LinkDevices};
use crate::sys::netns::NetNs;
use crate::sys::tun::Tun;
use addresses::Plan;
use registry::Registration;
use std::io;
use std::net::IpAddr;

/// Why a testbed could not be set up or used.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The machine or the user cannot do it at all.
    #[error("{0}")]
    Unavailable(String),
    /// The specification makes no sense.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// `ip` refused a command.
    #[error("ip failed in {place}: {message}")]
    Ip {
        /// Namespace or "the root namespace".
        place: String,
        /// Its error output.
        message: String,
    },
    /// A kernel call or file access failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was attempted.
        action: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The link emulator did not start.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
}

impl TestbedError {
    fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| TestbedError::Io { action, source }
    }
}

/// Says in one sentence why there can be no testbed here, if so.
pub fn check_available() -> Result<(), TestbedError> {
    let unavailable = |why: &str| Err(TestbedError::Unavailable(why.into()));
    if !crate::sys::process::has_net_admin() {
        return unavailable("live runs need root (CAP_NET_ADMIN and CAP_SYS_ADMIN); use sudo");
    }
    if !std::path::Path::new("/dev/net/tun").exists() {
        return unavailable("/dev/net/tun is missing; load the kernel module 'tun'");
    }
    if !ip::is_installed() {
        return unavailable("the program 'ip' is missing; install the package 'iproute2'");
    }
    Ok(())
}

/// A running testbed. Dropping it removes every namespace and device it made.
#[derive(Debug)]
pub struct Testbed {
    // Fields drop in this order: programs and the emulator let go of devices first.
    emulator: Emulator,
    nodes: Vec<Node>,
    spec: TestbedSpec,
    plan: Plan,
    registration: Registration,
}

#[derive(Debug)]
struct Node {
    name: String,
    namespace: NetNs,
}

impl Testbed {
    /// Removes what killed runs left, then sets everything up and starts the emulator. When it
    /// fails, nothing of it remains.
    pub fn up(spec: TestbedSpec) -> Result<Testbed, TestbedError> {
        check_available()?;
        spec.check()?;
        interrupt::take_down_on_signals()?;
        remove_leftovers()?;
        let plan = Plan::new(&spec);
        let registration = Registration::new(spec.nodes.iter().map(|node| node.name.as_str()))?;
        let nodes = open_nodes(&spec, &registration)?;
        let mut devices = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            devices.push(open_devices(&spec, index, node)?);
            ip::batch(Some(node.namespace.name()), &node_commands(&spec, &plan, index))?;
        }
        let links = pair_up(&spec, &plan, devices);
        let emulator = Emulator::start(links, spec.emulator.clone())?;
        Ok(Testbed { emulator, nodes, spec, plan, registration })
    }

    /// The specification it was made from.
    pub fn spec(&self) -> &TestbedSpec {
        &self.spec
    }

    /// Prefix of the names of its namespaces.
    pub fn prefix(&self) -> &str {
        self.registration.prefix()
    }

    /// The emulator that carries its links.
    pub fn emulator(&self) -> &Emulator {
        &self.emulator
    }

    /// The namespace of a node.
    pub fn namespace(&self, node: &str) -> Option<&NetNs> {
        self.nodes.iter().find(|n| n.name == node).map(|n| &n.namespace)
    }

    /// The node's own address, reachable from every other node.
    pub fn address(&self, node: &str, family: Family) -> Option<IpAddr> {
        let index = self.spec.node_index(node)?;
        Some(self.plan.node(index, family))
    }

    /// The address of `node`'s end of `link`.
    pub fn link_address(&self, link: &str, node: &str, family: Family) -> Option<IpAddr> {
        let index = self.spec.links.iter().position(|l| l.name == link)?;
        let end = self.spec.links[index].between.iter().position(|n| n == node)?;
        Some(self.plan.link_end(index, end, family))
    }

    /// A node's namespace and own address, as flows want them.
    pub fn end(&self, node: &str, family: Family) -> Option<(&NetNs, IpAddr)> {
        Some((self.namespace(node)?, self.address(node, family)?))
    }

    /// Packets that the nodes' own kernels dropped at their ends of the links, before the
    /// emulator saw them or after: none, unless the emulator was held up.
    pub fn device_drops(&self) -> Result<u64, TestbedError> {
        let mut drops = 0;
        for node in &self.nodes {
            // Not /proc/net: that shows the namespace of the main thread.
            let table = node
                .namespace
                .run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))
                .and_then(|result| result)
                .map_err(TestbedError::io("read /proc/thread-self/net/dev"))?;
            drops += dropped(&table);
        }
        Ok(drops)
    }

    /// Starts a program in a node's namespace.
    pub fn start(&self, node: &str, exec: &Exec) -> Result<Program, TestbedError> {
        let namespace =
            self.namespace(node).ok_or_else(|| SpecError::UnknownNode { node: node.into(), place: "start".into() })?;
        exec.start(namespace.name())
    }
}

/// Sum of the columns "drop" of /proc/net/dev (proc(5)), received and transmitted.
fn dropped(table: &str) -> u64 {
    let rows = table.lines().filter_map(|line| line.split_once(':'));
    let counts = rows.filter(|(name, _)| name.trim() != "lo").flat_map(|(_, columns)| {
        let columns: Vec<&str> = columns.split_whitespace().collect();
        [3, 11].map(|at| columns.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0))
    });
    counts.sum()
}

fn open_nodes(spec: &TestbedSpec, registration: &Registration) -> Result<Vec<Node>, TestbedError> {
    let mut nodes = Vec::new();
    for node in &spec.nodes {
        let name = registration.namespace_name(&node.name);
        let namespace = NetNs::open(&name).map_err(TestbedError::io(format!("open namespace {name}")))?;
        settings::prepare(&namespace, node.forwards)?;
        nodes.push(Node { name: node.name.clone(), namespace });
    }
    let namespaces: Vec<&NetNs> = nodes.iter().map(|node| &node.namespace).collect();
    settings::set_default_controller(&namespaces, &spec.default_controller)?;
    Ok(nodes)
}

/// Opens a node's ends of its links inside its namespace, in the order of the links.
fn open_devices(spec: &TestbedSpec, node: usize, made: &Node) -> Result<Vec<(usize, usize, Tun)>, TestbedError> {
    let ends: Vec<(usize, usize)> = spec.ends_of(node).collect();
    let open = || -> io::Result<Vec<_>> {
        ends.iter().map(|(link, end)| Ok((*link, *end, Tun::open(&spec.links[*link].name)?))).collect()
    };
    let action = format!("open the TUN devices of node '{}'", made.name);
    made.namespace.run(open).and_then(|result| result).map_err(TestbedError::io(action))
}

/// Everything `ip` has to do in one node's namespace.
fn node_commands(spec: &TestbedSpec, plan: &Plan, node: usize) -> Vec<String> {
    let mut commands = vec!["link set lo up".to_string()];
    for family in Family::BOTH {
        let address = plan.node_with_prefix(node, family);
        commands.push(format!("addr add {address} dev lo{}", no_detection(family)));
    }
    for (link, end) in spec.ends_of(node) {
        let name = &spec.links[link].name;
        // No multicast: no MLD reports on a device that carries measurements. One segment per
        // packet leaves TCP's pacing and the link's spacing as they are on the wire. The long
        // device queue is only passed through: what queues is the emulated link.
        commands.push(format!(
            "link set dev {name} mtu {} txqueuelen 10000 gso_max_segs 1 multicast off up",
            spec.settings_at(link, end).mtu
        ));
        for family in Family::BOTH {
            let address = plan.link_end_with_prefix(link, end, family);
            commands.push(format!("addr add {address} dev {name}{}", no_detection(family)));
        }
    }
    commands.extend(routes::commands(spec, plan, node));
    commands
}

/// An IPv6 address is of no use to routes until detection of duplicates has let it pass, some
/// time later, even where that is switched off.
fn no_detection(family: Family) -> &'static str {
    match family {
        Family::V4 => "",
        Family::V6 => " nodad",
    }
}

fn pair_up(spec: &TestbedSpec, plan: &Plan, devices: Vec<Vec<(usize, usize, Tun)>>) -> Vec<LinkDevices> {
    let mut ends: Vec<[Option<Tun>; 2]> = spec.links.iter().map(|_| [None, None]).collect();
    for (link, end, tun) in devices.into_iter().flatten() {
        ends[link][end] = Some(tun);
    }
    spec.links
        .iter()
        .zip(ends)
        .map(|(link, ends)| LinkDevices {
            name: link.name.clone(),
            ends: ends.map(|tun| tun.expect("every link end belongs to a node")),
            addresses: link.between.each_ref().map(|node| addresses_of(spec, plan, node)),
            settings: [link.forward.clone(), link.reverse.clone()],
        })
        .collect()
}

fn addresses_of(spec: &TestbedSpec, plan: &Plan, node: &str) -> Vec<IpAddr> {
    let node = spec.node_index(node).expect("a link's ends are nodes");
    Family::BOTH.map(|family| plan.node(node, family)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_summed_over_devices_and_directions_but_not_loopback() {
        let table = "Inter-|   Receive                            |  Transmit\n \
            face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n    \
            lo: 1 1 0 100 0 0 0 0 1 1 0 100 0 0 0 0\n  \
            air: 9 9 0 2 0 0 0 0 9 9 0 3 0 0 0 0\n";
        assert_eq!(dropped(table), 5);
    }
}
