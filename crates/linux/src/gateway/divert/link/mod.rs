//! Takes packets at the link itself, by the programs of `bpf/c/divert.bpf.c`, which says which packets and where.
//!
//! - *A process that is gone* takes its programs along (TCX), and its devices.
//! - *A dead man's switch* in the kernel covers one that is stopped or hangs: the programs take packets until a time that
//!   [`LinkDiversion::beat`] moves on. No beat for [`ALIVE`], no diversion.
//! - *Without the other gateway* nothing is taken: the scheme could not help.

mod headers;
mod hooks;
mod next_hop;
mod peers;
mod program;
mod settings;

pub use headers::{Header, Headers};
pub use hooks::remove_leftovers;

use super::Wanted;
use super::device::{DEVICE_QUEUE_PACKETS, Way};
use super::error::DivertError;
use super::method::Method;
use super::step::{self, Step};
use crate::gateway::config::{Config, Role};
use crate::gateway::estate::Estate;
use crate::gateway::peers::PEERS_MAX;
use crate::sys::clock::TimeNamespace;
use crate::sys::interface;
use airtcp_core::{Duration, Instant, OwnSegments};
use hooks::Hooks;
use next_hop::KnownBy;
use peers::Peers;
use program::Program;
use settings::{Pair, Settings};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// How long the kernel takes packets without a beat.
pub const ALIVE: Duration = Duration::from_secs(1);
/// On a packet that the gateway gives back, until it passes the link's program again: what a gateway sends on the link itself
/// needs it, too (`GIVEN_BACK` of the programs).
pub const MARK: u32 = 0x4154_4350;
/// Between two looks at what was set up.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What an estate calls the hardware addresses that the programs keep.
const HEADERS: &str = "headers";
/// Below the least MTU of IPv6, which therefore leaves the devices alone. Nothing that passes a program is cut by it.
const DEVICE_MTU: u32 = 1000;

/// Names of the program's counters, in their order.
const COUNTERS: [&str; 5] = ["taken_out", "taken_in", "back_out", "back_in", "homeless"];

/// Kinds of links whose packets have an Ethernet header: Ethernet (and Wi-Fi, bridges, VLANs), loopback.
const WITH_MAC: [u16; 2] = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK];
/// Kinds without any: TUN and WireGuard, PPP, raw IP of modems, tunnels.
const WITHOUT_MAC: [u16; 8] = [
    libc::ARPHRD_NONE,
    libc::ARPHRD_PPP,
    519, // ARPHRD_RAWIP
    libc::ARPHRD_TUNNEL,
    libc::ARPHRD_TUNNEL6,
    libc::ARPHRD_SIT,
    libc::ARPHRD_IPGRE,
    823, // ARPHRD_IP6GRE
];

/// `struct state` of the program. What is wanted is said of each peer; `address` is the link's own.
fn state_bytes(alive_until: Instant, wanted: &[Wanted], whole_link: bool, address: [u8; 6]) -> Vec<u8> {
    let most = wanted.iter().copied().max().unwrap_or(Wanted::Nothing);
    let mut bytes = alive_until.as_nanos().to_ne_bytes().to_vec();
    bytes.extend((most as u32).to_ne_bytes());
    bytes.extend(u32::from(whole_link).to_ne_bytes());
    let unused = std::iter::repeat_n(Wanted::Nothing, PEERS_MAX - wanted.len());
    bytes.extend(wanted.iter().copied().chain(unused).map(|wanted| wanted as u8));
    bytes.extend(address);
    bytes.extend([0; 2]);
    bytes
}

/// True if packets of links of this kind have hardware addresses.
pub fn has_addresses(header: u16) -> bool {
    WITH_MAC.contains(&header)
}

/// Whether this build has programs and this kernel takes them, given root.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<(), String> {
    Program::load(&Settings::default().bytes(), None).map(drop)
}

/// The programs at one link.
pub struct LinkDiversion {
    program: Program,
    settings: Settings,
    hooks: Hooks,
    peers: Peers,
    clock: TimeNamespace,
    link: String,
    /// Its hardware address.
    address: [u8; 6],
    look_at: Instant,
}

impl LinkDiversion {
    /// Loads the programs and puts them in place; the devices of this gateway exist already. Those of an heir come into their
    /// places with [`LinkDiversion::take_over`].
    ///
    /// # Errors
    /// [`DivertError::NoPrograms`] where another way is to be taken.
    pub fn start(
        config: &Config,
        method: Option<Method>,
        own: &[Option<OwnSegments>],
        estate: &mut Estate,
    ) -> Result<LinkDiversion, DivertError> {
        let link = &config.link;
        let no_programs = |reason: String| DivertError::NoPrograms { link: link.clone(), reason };
        let no_link = |_| DivertError::NoLink(link.clone());
        let index = interface::index(link).map_err(no_link)?;
        let header = interface::header_type(link).map_err(no_link)?;
        if !WITH_MAC.contains(&header) && !WITHOUT_MAC.contains(&header) {
            return Err(no_programs(format!("its packets have headers of an unknown kind ({header})")));
        }
        let peers = config.each_peer();
        for step in peers.iter().flat_map(|peer| steps(&peer.name)) {
            step::perform(&step)?;
        }
        let settings = Settings {
            link: index,
            has_mac: has_addresses(header),
            control_port: config.listen_address().map_or(0, |address| address.port()),
            by_network: !config.networks.is_empty() || config.peers.iter().any(|peer| !peer.networks.is_empty()),
            own_segments: own.iter().any(Option::is_some),
            takes_own: config.role == Some(Role::Station),
            devices: peers.iter().map(|peer| devices(&peer.name)).collect::<Result<_, _>>()?,
        };
        let headers = estate.take(HEADERS);
        let program = Program::load(&settings.bytes(), headers.as_ref().map(AsFd::as_fd)).map_err(no_programs)?;
        tell(&program, &settings, config, own).map_err(|error| no_programs(error.to_string()))?;
        let hooks = match estate.is_inherited() {
            true => Hooks::inherit(&settings, method, estate),
            false => Hooks::attach(&program, &settings, method),
        };
        let hooks = hooks.map_err(no_programs)?;
        let peers = Peers::new(index, known_by(config, settings.has_mac));
        let address = interface::hardware_address(link).map_err(no_link)?;
        let clock = TimeNamespace::of_this_process();
        let (link, look_at) = (link.clone(), Instant::ZERO);
        Ok(LinkDiversion { program, settings, hooks, peers, clock, link, address, look_at })
    }

    /// What an heir goes on with; nothing where it cannot.
    pub(super) fn lend(&self) -> Vec<(String, BorrowedFd<'_>)> {
        let mut things = self.hooks.lend(&self.settings);
        if !things.is_empty() {
            things.push((HEADERS.to_owned(), self.program.headers_fd()));
        }
        things
    }

    /// The heir's programs take the places of those of the one before. They take what they were told last.
    pub(super) fn take_over(&self) -> Result<(), DivertError> {
        let lost = |error| DivertError::Lost(format!("the programs at the link cannot be replaced: {error}"));
        self.hooks.take_over(&self.program, &self.settings).map_err(lost)
    }

    /// See [`super::Diversion::beat`].
    pub(super) fn beat(
        &mut self,
        now: Instant,
        wanted: &[Wanted],
        addresses: &[Option<IpAddr>],
    ) -> Result<(), DivertError> {
        if now >= self.look_at {
            self.look_at = now + LOOK_EVERY;
            // One that was renamed keeps its address.
            self.address = interface::hardware_address(&self.link).unwrap_or(self.address);
            if !self.hooks.are_in_place() {
                return Err(DivertError::Lost("the programs at the link are gone, or the link is".into()));
            }
        }
        let lost = |error| DivertError::Lost(format!("the programs at the link cannot be told anything: {error}"));
        self.peers.look(now, addresses, &self.program).map_err(lost)?;
        let until = self.clock.on_the_kernels_clock(now + ALIVE);
        self.program.set_state(&self.peers.state(until, wanted, self.address)).map_err(lost)
    }

    /// False while it is not known which packets are those of a peer.
    pub fn knows_whose(&self, peer: usize) -> bool {
        self.peers.knows_whose(peer)
    }

    /// Why not, if there is something to do about it.
    pub fn advice(&self, peer: usize) -> Option<&'static str> {
        self.peers.advice(peer)
    }

    /// The hardware addresses of the packets that are taken.
    ///
    /// # Errors
    /// Too many open files.
    pub fn headers(&self) -> std::io::Result<Headers> {
        self.program.headers().map(Headers::new)
    }

    /// [`Method::Tcx`] or [`Method::Clsact`].
    pub fn method(&self) -> Method {
        self.hooks.method()
    }

    /// What the programs counted, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.into_iter().zip(self.program.counters()).collect()
    }

    /// Takes no more packets. The programs stay: they pass on what the gateway still gives back.
    pub fn stop(&mut self) {
        // They stop by themselves after a second.
        let _ = self.program.set_state(&state_bytes(Instant::ZERO, &[], false, self.address));
    }
}

/// The devices of the gateway `name`, by index.
fn devices(name: &str) -> Result<Pair, DivertError> {
    let device = |way: Way| {
        let name = way.device(name);
        interface::index(&name).map_err(|source| DivertError::Device { name, source })
    };
    Ok(Pair { out: device(Way::Out)?, r#in: device(Way::In)? })
}

/// Whose networks, devices and segments are whose.
fn tell(program: &Program, settings: &Settings, config: &Config, own: &[Option<OwnSegments>]) -> std::io::Result<()> {
    for (peer, pair) in (0..).zip(&settings.devices) {
        program.set_owner(pair.out, peer)?;
        program.set_owner(pair.r#in, peer)?;
    }
    for (peer, own) in (0..).zip(own) {
        own.iter().try_for_each(|own| program.set_own_segments(own, peer))?;
    }
    config.networks.iter().try_for_each(|network| program.set_network(&peers::network_key(network), 0))?;
    for (index, peer) in (0..).zip(&config.peers) {
        peer.networks.iter().try_for_each(|network| program.set_network(&peers::network_key(network), index))?;
    }
    Ok(())
}

/// How the packets of each peer are known.
fn known_by(config: &Config, has_mac: bool) -> Vec<KnownBy> {
    if !config.networks.is_empty() {
        return vec![KnownBy::Networks];
    }
    if config.peers.is_empty() {
        let is_shared = has_mac && config.peer.is_some();
        return vec![if is_shared { KnownBy::NextHop { alone: true } } else { KnownBy::Link }];
    }
    let of = |networks: &[_]| match (networks.is_empty(), has_mac) {
        (false, _) => KnownBy::Networks,
        (true, true) => KnownBy::NextHop { alone: false },
        (true, false) => KnownBy::Nothing,
    };
    config.peers.iter().map(|peer| of(&peer.networks)).collect()
}

/// What the devices of the gateway `name` need: to be up, and to be left alone by everybody else.
pub fn steps(name: &str) -> Vec<Step> {
    let set = |way: Way| {
        let device = way.device(name);
        let queue = DEVICE_QUEUE_PACKETS;
        step::run(&format!("ip link set dev {device} mtu {DEVICE_MTU} txqueuelen {queue} multicast off up"))
    };
    Way::ALL.map(set).into()
}

/// All of it as an operator would look at it, with the undo.
pub fn describe(config: &Config) -> String {
    let link = &config.link;
    let peers = config.each_peer();
    let of = |way: Way| peers.iter().map(|peer| way.device(&peer.name)).collect::<Vec<_>>();
    let mut text = String::from("# the process makes these devices; they are gone when it ends:\n");
    for device in of(Way::Out).iter().zip(&of(Way::In)).flat_map(|(out, r#in)| [out, r#in]) {
        text += &format!("#   ip tuntap add dev {device} mode tun\n");
    }
    for step in peers.iter().flat_map(|peer| steps(&peer.name)) {
        text += &format!("{step}\n");
    }
    text += &format!(
        "# and puts programs in place, gone when it ends: `airtcp_leaving` and `airtcp_arriving` at {link}, \
         `airtcp_back_out` at {}, `airtcp_back_in` at {}\n#   bpftool net show     # lists them\n# undo: kill $(cat {})\n",
        of(Way::Out).join(", "),
        of(Way::In).join(", "),
        config.pid_path().display()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_state_are_as_long_as_the_programs_structures() {
        assert_eq!(Settings::default().bytes().len(), (7 + 2 * PEERS_MAX) * 4);
        assert_eq!(state_bytes(Instant::ZERO, &[Wanted::All; 2], false, [0; 6]).len(), 24 + PEERS_MAX);
    }
}
