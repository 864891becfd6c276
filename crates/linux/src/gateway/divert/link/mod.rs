//! Takes packets at the link itself, by the programs of `bpf/c/divert.bpf.c`, which says which packets and where.
//!
//! - *A process that is gone* takes its programs along (TCX), and its devices.
//! - *A dead man's switch* in the kernel covers one that is stopped or hangs: the programs take packets until a time that
//!   [`LinkDiversion::beat`] moves on. No beat for [`ALIVE`], no diversion.
//! - *Without the other gateway* nothing is taken: the scheme could not help.

mod hooks;
mod next_hop;
mod program;
mod settings;

pub use hooks::remove_leftovers;

use super::Wanted;
use super::device::{DEVICE_QUEUE_PACKETS, Way};
use super::error::DivertError;
use super::method::Method;
use super::step::{self, Step};
use crate::gateway::config::Config;
use crate::sys::interface;
use airtcp_core::{Duration, Instant};
use hooks::Hooks;
use next_hop::{NextHop, Whose};
use program::Program;
use settings::Settings;

/// How long the kernel takes packets without a beat.
pub const ALIVE: Duration = Duration::from_secs(1);
/// Between two looks at what was set up.
const LOOK_EVERY: Duration = Duration::from_secs(1);
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

/// `struct state` of the program.
#[derive(Clone, Copy, Debug)]
struct State {
    alive_until: Instant,
    wanted: Wanted,
    whose: Whose,
}

impl State {
    fn bytes(&self) -> Vec<u8> {
        let (wanted, only, address) = match self.whose {
            Whose::Nobodys => (Wanted::Nothing, true, [0; 6]),
            Whose::NextHops(address) => (self.wanted, true, address),
            Whose::WholeLink => (self.wanted, false, [0; 6]),
        };
        let mut bytes = self.alive_until.as_nanos().to_ne_bytes().to_vec();
        bytes.extend((wanted as u32).to_ne_bytes());
        bytes.extend(u32::from(only).to_ne_bytes());
        bytes.extend(address);
        bytes.extend([0; 2]);
        bytes
    }
}

/// Whether this build has programs and this kernel takes them, given root.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<(), String> {
    Program::load(&Settings::default().bytes()).map(drop)
}

/// The programs at one link.
pub struct LinkDiversion {
    program: Program,
    hooks: Hooks,
    next_hop: NextHop,
    whose: Whose,
    look_at: Instant,
}

impl LinkDiversion {
    /// Loads the programs and puts them in place; the devices of this gateway exist already.
    ///
    /// # Errors
    /// [`DivertError::NoPrograms`] where another way is to be taken.
    pub fn start(config: &Config, method: Option<Method>) -> Result<LinkDiversion, DivertError> {
        let link = &config.link;
        let no_programs = |reason: String| DivertError::NoPrograms { link: link.clone(), reason };
        let no_link = |_| DivertError::NoLink(link.clone());
        let index = interface::index(link).map_err(no_link)?;
        let header = interface::header_type(link).map_err(no_link)?;
        if !WITH_MAC.contains(&header) && !WITHOUT_MAC.contains(&header) {
            return Err(no_programs(format!("its packets have headers of an unknown kind ({header})")));
        }
        for step in steps(&config.name) {
            step::perform(&step)?;
        }
        let device = |way: Way| {
            let name = way.device(&config.name);
            interface::index(&name).map_err(|source| DivertError::Device { name, source })
        };
        let settings = Settings {
            link: index,
            out: device(Way::Out)?,
            r#in: device(Way::In)?,
            has_mac: WITH_MAC.contains(&header),
            control_port: config.listen_address().map_or(0, |address| address.port()),
        };
        let program = Program::load(&settings.bytes()).map_err(no_programs)?;
        let hooks = Hooks::attach(&program, &settings, method).map_err(no_programs)?;
        let peer = config.peer.filter(|_| settings.has_mac).map(|peer| peer.ip());
        let next_hop = NextHop::new(index, peer);
        Ok(LinkDiversion { program, hooks, next_hop, whose: Whose::Nobodys, look_at: Instant::ZERO })
    }

    /// See [`super::Diversion::beat`].
    pub(super) fn beat(&mut self, now: Instant, wanted: Wanted) -> Result<(), DivertError> {
        let look = now >= self.look_at;
        if look {
            self.look_at = now + LOOK_EVERY;
            if !self.hooks.are_in_place() {
                return Err(DivertError::Lost("the programs at the link are gone, or the link is".into()));
            }
        }
        if look || self.whose == Whose::Nobodys {
            self.whose = self.next_hop.look(self.whose);
        }
        self.set(State { alive_until: now + ALIVE, wanted, whose: self.whose })
    }

    fn set(&self, state: State) -> Result<(), DivertError> {
        let lost = |error| DivertError::Lost(format!("the programs at the link cannot be told anything: {error}"));
        self.program.set_state(&state.bytes()).map_err(lost)
    }

    /// False while the hardware address of the other gateway is not known.
    pub fn knows_whose(&self) -> bool {
        self.whose != Whose::Nobodys
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
        let _ = self.set(State { alive_until: Instant::ZERO, wanted: Wanted::Nothing, whose: Whose::Nobodys });
    }
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
    let (name, link) = (&config.name, &config.link);
    let [out, r#in] = Way::ALL.map(|way| way.device(name));
    let mut text = String::from("# the process makes these devices; they are gone when it ends:\n");
    for device in [&out, &r#in] {
        text += &format!("#   ip tuntap add dev {device} mode tun\n");
    }
    for step in steps(name) {
        text += &format!("{step}\n");
    }
    text += &format!(
        "# and puts programs in place, gone when it ends: `airtcp_leaving` and `airtcp_arriving` at {link}, \
         `airtcp_back_out` at {out}, `airtcp_back_in` at {in}\n#   bpftool net show     # lists them\n# undo: kill $(cat {})\n",
        config.pid_path().display()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_state_are_as_long_as_the_programs_structures() {
        assert_eq!(Settings::default().bytes().len(), 5 * 4);
        let state = State { alive_until: Instant::ZERO, wanted: Wanted::All, whose: Whose::WholeLink };
        assert_eq!(state.bytes().len(), 24);
    }

    #[test]
    fn nothing_is_wanted_while_nobody_is_known() {
        let wanted = |wanted, whose| State { alive_until: Instant::ZERO, wanted, whose }.bytes()[8];
        assert_eq!(wanted(Wanted::All, Whose::Nobodys), 0);
        assert_eq!(wanted(Wanted::Tcp, Whose::WholeLink), 1);
        assert_eq!(wanted(Wanted::All, Whose::NextHops([2; 6])), 2);
    }
}
