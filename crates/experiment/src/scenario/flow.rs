//! `[flows.<name>]`: `from`, `to`, `controller` and its options, when, how much, and the keys of [`airtcp_tcp::Config`].

use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::limits::LONGEST;
use super::section::{names, section};
use super::socket::{in_control, socket};
use super::topology::Network;
use super::{FlowSpec, IpVersion};
use crate::catalogue::Catalogue;
use airtcp_core::parameters::NoParameters;
use airtcp_core::{ByteSize, Duration};
use airtcp_tcp::congestion::ControllerChoice;
use airtcp_tcp::{Config, Habits};

section! {
    /// What a flow has besides the parameters of its endpoints.
    Section {
        /// node that sends; required
        from, "\"sender\"";
        /// node that receives; required
        to, "\"receiver\"";
        /// congestion controller of the sender; cubic if left out
        controller, "\"cubic\"";
        /// parameters of the controller, which `airtcp show` lists under its name; its defaults if left out
        controller_options, "{ lda = \"original\" }";
        /// what carries it, one of those that `airtcp show sockets` lists; tcp if left out
        socket, "\"tcp\"";
        /// parameters of the socket, which `airtcp show sockets` lists; its defaults if left out
        socket_options, "{ vmss = 3000 }";
        /// linux: a Linux host, the defaults of its ends; none: unless set, without window_growth, receive_autotuning, send_autotuning, delayed_ack_longest, quick_acks_after_idle, sack_compression and tso, and with a time_wait of 1s; linux if left out, none with the socket decoupling
        habits, "\"none\"";
        /// when it starts; 0s if left out
        start: Duration = Duration::ZERO, "\"0s\"";
        /// a random time within this is added to `start`, another one in each run; 0s if left out
        start_within: Duration = Duration::ZERO, "\"0s\"";
        /// application bytes; until the end of the run if left out
        size, "\"20MB\"";
        /// its fair share in the fairness index, relative to the sum of all weights; 1 if left out
        weight: u32 = 1, "1";
        /// number of equal flows, named NAME1, NAME2, …, or 0 for none; one flow with the name as written if left out
        count, "8";
        /// version of IP, 4 or 6; 4 if left out
        ip, "4";
    }
}

/// What stands in for a controller in control runs.
const CONTROL: &str = "reno";

/// Reads the flow in `keys`, of a run that takes `duration`. In a control run it has the socket that its entry says.
pub(super) fn flow(
    keys: &Keys<'_>,
    duration: Duration,
    network: &Network<'_>,
    catalogue: &Catalogue<'_>,
    control: bool,
) -> Result<FlowSpec, ScenarioError> {
    let socket = socket(keys, catalogue)?;
    let socket = if control { in_control(&socket, catalogue) } else { socket };
    let mut config = match keys.value("habits")?.unwrap_or_else(|| socket.settings.habits()) {
        Habits::Linux => Config::default(),
        Habits::Without => Config::without_habits(),
    };
    keys.set_all(&mut config, &names(KEYS), "a single value")?;
    let [from, to] = keys.ends(["sender", "receiver"], "node", network.nodes)?;
    let ip = ip(keys)?;
    way(keys, network, [from, to], "flow", &config, ip)?;
    let size: Option<ByteSize> = keys.value("size")?;
    let Section { start, start_within, weight } = Section::read(keys)?;
    if size.is_some_and(|size| size.0 == 0) {
        return Err(keys.refuse("size", "a flow has at least one byte"));
    }
    if start >= duration {
        let reason = format!("a flow starts during the run, which ends after {duration}; {start} is too late");
        return Err(keys.refuse("start", reason));
    }
    if start_within > LONGEST {
        return Err(keys.refuse("start_within", format!("a start within more than {LONGEST} is a mistake")));
    }
    if weight == 0 {
        return Err(keys.refuse("weight", "a weight is 1 or more"));
    }
    let controller = controller(keys, catalogue, &mut config)?;
    let name = keys.name().to_owned();
    Ok(FlowSpec { name, from, to, socket, controller, start, start_within, size, weight, ip, config })
}

/// Links lead from one end to the other of what `keys` describe, a `what`, and let its packets pass.
pub(super) fn way(
    keys: &Keys<'_>,
    network: &Network<'_>,
    [from, to]: [usize; 2],
    what: &str,
    config: &Config,
    ip: IpVersion,
) -> Result<(), ScenarioError> {
    if from == to {
        return Err(keys.refuse("to", format!("a {what} ends at another node than it starts at")));
    }
    let Some((path_mtu, narrowest)) = network.narrowest(from, to) else {
        let [start, end] = [from, to].map(|node| &network.nodes[node]);
        let sentence = format!("no links lead from '{start}' to '{end}', the ends of {what} '{}'", keys.name());
        return Err(Problem::Topology(sentence).at(keys.origin));
    };
    config.check(ip == IpVersion::V4).map_err(|(key, reason)| keys.refuse(key, reason))?;
    if config.mtu > path_mtu {
        let reason = format!(
            "packets of {} bytes do not pass '{narrowest}' on their way, and hosts do not look for the longest that do; \
             give the {what} an MTU of {path_mtu}, or '{narrowest}' one of {}",
            config.mtu, config.mtu
        );
        return Err(keys.refuse("mtu", reason));
    }
    Ok(())
}

/// Reads `controller` and its options into `config`, where the simulator has it; its slug.
pub(super) fn controller(
    keys: &Keys<'_>,
    catalogue: &Catalogue<'_>,
    config: &mut Config,
) -> Result<String, ScenarioError> {
    let known = catalogue.controller_names();
    let controller = keys.one_of("controller", "controller", &known)?;
    let controller = controller.map_or_else(|| "cubic".to_owned(), |index| known[index].clone());
    if let Some(choice) = choice(keys, &controller, catalogue)? {
        config.controller = choice;
    }
    Ok(controller)
}

/// Controllers that Linux does not have become Reno, what they are compared with.
pub(super) fn replace_by_reno(flows: &mut [FlowSpec], catalogue: &Catalogue<'_>) {
    for flow in flows {
        reno_for(&mut flow.controller, &mut flow.config, catalogue);
    }
}

/// The same for one of them.
pub(super) fn reno_for(controller: &mut String, config: &mut Config, catalogue: &Catalogue<'_>) {
    let Some(reno) = catalogue.controller(CONTROL).copied() else { return };
    if catalogue.controller(controller).is_some_and(|entry| !entry.in_kernel) {
        *controller = CONTROL.to_owned();
        config.controller = reno.into();
    }
}

/// The controller called `name` with its options; `None` for one that only the kernel has.
fn choice(keys: &Keys<'_>, name: &str, catalogue: &Catalogue<'_>) -> Result<Option<ControllerChoice>, ScenarioError> {
    let entry = catalogue.controller(name).copied();
    let Some(options) = keys.table.get("controller_options") else { return Ok(entry.map(Into::into)) };
    let what = format!("the controller '{name}'");
    let Some(entry) = entry else {
        return keys.options(options, name, &mut NoParameters, &what).map(|_| None);
    };
    let mut settings = (entry.settings)();
    keys.options(options, name, &mut *settings, &what)?;
    Ok(Some(ControllerChoice::new(entry, settings)))
}

pub(super) fn ip(keys: &Keys<'_>) -> Result<IpVersion, ScenarioError> {
    let Some(entry) = keys.table.get("ip") else { return Ok(IpVersion::V4) };
    match keys.scalar(entry, "4 or 6")?.as_str() {
        "4" => Ok(IpVersion::V4),
        "6" => Ok(IpVersion::V6),
        other => Err(keys.bad(entry, format!("there is no IP version '{other}'; write 4 or 6"))),
    }
}
