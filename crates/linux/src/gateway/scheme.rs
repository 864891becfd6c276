//! From a configuration to the element it names, through the same table as the simulator.

use super::config::{Config, Direction, Role};
use airtcp_core::{ByteSize, Element, Rng};
use airtcp_schemes::{End, PathEnds, Placement, Reports, SchemeEntry, Site, find};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The element of one gateway, and what it reports besides the common events.
pub struct Scheme {
    /// The element.
    pub element: Box<dyn Element>,
    /// From its line in the table.
    pub reports: Reports,
    /// Its mode, where it has any; both ends need the same.
    pub mode: String,
    /// False if connections end in its element: they would break if another took its place.
    pub may_be_replaced: bool,
}

/// Makes the element of one gateway, or says in a sentence what is wrong with the configuration.
///
/// # Errors
/// The scheme does not exist, or refuses a setting.
pub fn make(schemes: &[SchemeEntry], config: &Config) -> Result<Scheme, String> {
    let entry = find(schemes, &config.scheme).ok_or_else(|| {
        let known: Vec<&str> = schemes.iter().map(|entry| entry.slug).collect();
        format!("there is no scheme '{}'; known: {} (airtcp show)", config.scheme, known.join(", "))
    })?;
    let choice = entry.with(&config.settings).map_err(|error| error.to_string())?;
    let mode = choice.settings.fields().into_iter().find(|field| field.name == "mode");
    let mode = mode.map_or(String::new(), |field| field.value);
    let mut link = config.facts.link();
    link.mtu = link.mtu.or_else(|| interface_mtu(&config.link));
    link.ends = config.peer.map(|peer| PathEnds::Gateways([own_address(config, peer), peer.ip()]));
    let mut site = Site {
        end: end(entry, config),
        link,
        rng: &mut Rng::derive(config.seed.unwrap_or_else(unguessable), &format!("{} settings", config.scheme)),
        max_memory: ByteSize(config.max_memory_bytes),
        forecast: None,
    };
    match choice.settings.make(&mut site) {
        Ok(element) => Ok(Scheme { element, reports: entry.reports, mode, may_be_replaced: entry.keeps_end_to_end }),
        Err(error) => Err(error.to_string()),
    }
}

/// Where on its link or path this gateway is.
fn end(entry: &SchemeEntry, config: &Config) -> End {
    match config.direction {
        _ if config.role == Some(Role::Station) => End::Far,
        _ if entry.placement != Placement::Path && config.facts.far_end => End::Far,
        _ if entry.placement != Placement::Path => End::Near,
        Direction::Both => End::Both,
        Direction::Out => End::Near,
        Direction::In => End::Far,
    }
}

/// The address that packets to the peer come from, as the kernel knows it now; none of any interface if no way leads there.
fn own_address(config: &Config, peer: SocketAddr) -> IpAddr {
    let listen = config.listen_address().map_or(Config::default_listen(peer).ip(), |listen| listen.ip());
    let of_socket = || {
        let socket = UdpSocket::bind((listen, 0))?;
        // Sends nothing.
        socket.connect(peer)?;
        socket.local_addr()
    };
    of_socket().map_or(listen, |address| address.ip())
}

/// The kernel's information about the interface; `None` if it does not exist (yet).
fn interface_mtu(link: &str) -> Option<u32> {
    std::fs::read_to_string(format!("/sys/class/net/{link}/mtu")).ok()?.trim().parse().ok()
}

/// A seed that nobody can guess: tables keyed by it cannot be attacked.
pub(super) fn unguessable() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Traffic;
    use airtcp_schemes::SCHEMES;

    #[test]
    fn every_scheme_can_be_made_from_its_defaults() {
        for entry in SCHEMES {
            assert!(make(SCHEMES, &Config::new(entry.slug, "air")).is_ok(), "{}", entry.slug);
        }
    }

    #[test]
    fn a_trunk_takes_what_leaves_where_it_begins_and_nothing_where_it_only_ends() {
        for (direction, taken) in
            [(Direction::Both, Traffic::Leaving), (Direction::Out, Traffic::Leaving), (Direction::In, Traffic::Nothing)]
        {
            let config = Config { direction, ..Config::new("decoupling", "air") };
            assert_eq!(make(SCHEMES, &config).ok().unwrap().element.traffic(), taken, "{direction:?}");
        }
    }

    #[test]
    fn an_unknown_scheme_is_answered_with_those_that_exist() {
        let message = make(SCHEMES, &Config::new("gsnop", "air")).err().unwrap();
        assert!(message.contains("gsnoop"), "{message}");
    }

    #[test]
    fn a_setting_that_the_scheme_does_not_have_is_refused() {
        let mut config = Config::new(SCHEMES[0].slug, "air");
        config.settings.insert("no_such_setting".into(), "1".into());
        assert!(make(SCHEMES, &config).is_err());
    }
}
