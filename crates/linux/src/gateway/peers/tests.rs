//! What is refused of peers, each in one sentence that says what to do.

use super::super::config::{Config, ConfigError};
use super::super::divert::Method;
use super::*;

fn peer(number: u8) -> PeerConfig {
    PeerConfig {
        name: format!("p{number}"),
        address: Some(SocketAddr::from(([10, 9, 0, number], CONTROL_PORT))),
        key: Some(format!("{number}.key").into()),
        hops: 1,
        networks: vec![format!("10.{number}.0.0/16").parse().unwrap()],
        ..PeerConfig::default()
    }
}

fn hub(peers: impl IntoIterator<Item = PeerConfig>) -> Config {
    Config { peers: peers.into_iter().collect(), ..Config::new("gsnoop", "air") }
}

/// The peers 1 and 2, of which the second is changed.
fn refusal(change: impl FnOnce(&mut PeerConfig)) -> String {
    let mut second = peer(2);
    change(&mut second);
    match hub([peer(1), second]).validate() {
        Err(ConfigError::Peer(Some(1), error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn peers_by_address_by_network_and_by_key_alone_are_fine_together() {
    let anywhere = PeerConfig { address: None, ..peer(2) };
    let by_next_hop = PeerConfig { networks: Vec::new(), ..peer(3) };
    assert_eq!(hub([peer(1), anywhere, by_next_hop]).validate(), Ok(()));
}

#[test]
fn whatever_two_peers_must_not_share_is_named() {
    let sentence = refusal(|peer| peer.name = "p1".into());
    assert!(sentence.contains("'p1'") && sentence.contains("a name of its own"), "{sentence}");
    let sentence = refusal(|second| second.address = peer(1).address);
    assert!(sentence.contains("'p1' and 'p2'") && sentence.contains("same address"), "{sentence}");
    let sentence = refusal(|second| second.previous_key = peer(1).key);
    assert!(sentence.contains("same key") && sentence.contains("make one for each"), "{sentence}");
    let sentence = refusal(|second| second.networks.push("10.1.7.0/24".parse().unwrap()));
    assert!(sentence.contains("10.1.7.0/24 of the peer 'p2' overlaps 10.1.0.0/16 of 'p1'"), "{sentence}");
}

#[test]
fn a_peer_needs_a_key_unless_none_is_wanted_and_its_address_is_known() {
    let sentence = refusal(|peer| peer.key = None);
    assert!(sentence.contains("'p2' has no key") && sentence.contains("airtcp key"), "{sentence}");
    let keyless = |address| PeerConfig { key: None, address, ..peer(1) };
    let insecure = |peer| Config { insecure: true, ..hub([peer]) };
    assert_eq!(insecure(keyless(peer(1).address)).validate(), Ok(()));
    let unknown = Err(ConfigError::Peer(Some(0), PeerError::Unknown("p1".into())));
    assert_eq!(insecure(keyless(None)).validate(), unknown);
}

#[test]
fn bad_names_no_hops_and_other_families_are_refused() {
    for name in ["", "a b", "ä", "a\"b", &"n".repeat(PEER_NAME_MAX + 1)] {
        assert!(refusal(|peer| peer.name = name.into()).contains("cannot name a peer"), "{name}");
    }
    assert!(refusal(|peer| peer.hops = 0).contains("0 hops"));
    let ipv6 = PeerConfig { address: Some("[fd00::2]:4791".parse().unwrap()), ..peer(2) };
    let listen = |listen: &str| Config { listen: Some(listen.parse().unwrap()), ..hub([peer(1), ipv6.clone()]) };
    assert!(listen("0.0.0.0:4791").validate().unwrap_err().to_string().contains("address families"));
    assert_eq!(listen("[::]:4791").validate(), Ok(()));
    assert_eq!(hub([peer(1), ipv6.clone()]).listen_address(), Some("[::]:4791".parse().unwrap()));
}

#[test]
fn what_holds_for_one_peer_is_refused_beside_several() {
    let with = |change: fn(&mut Config)| {
        let mut config = hub([peer(1)]);
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    assert!(with(|config| config.key = Some("k".into())).contains("set it in each [[peer]]"));
    assert!(with(|config| config.hops = 2).contains("`hops` holds for one peer"));
    assert!(with(|config| config.method = Some(Method::Routed)).contains("policy routes"));
    let alone = Config { shared_rate_bps: Some(1_000_000), ..Config::new("gsnoop", "air") };
    assert!(alone.validate().unwrap_err().to_string().contains("with one, set `rate`"));
    assert!(with(|config| config.name = "n".repeat(9)).contains("1 to 8"));
}

#[test]
fn peers_are_as_many_as_there_is_room_for() {
    let many = |count: usize, memory| {
        let peer = |number: usize| PeerConfig {
            address: Some(SocketAddr::from(([10, 9, 0, 1], number as u16 + 1))),
            networks: Vec::new(),
            ..peer(number as u8)
        };
        Config { max_memory_bytes: memory, ..hub((0..count).map(peer)) }
    };
    assert_eq!(many(PEERS_MAX, 64 << 20).validate(), Ok(()));
    assert_eq!(many(PEERS_MAX + 1, 64 << 20).validate(), Err(ConfigError::Peer(None, PeerError::TooMany)));
    assert_eq!(many(16, 16 * LEAST_MEMORY.0 - 1).validate(), Err(ConfigError::Peer(None, PeerError::Memory(16))));
    let each = many(16, 64 << 20).each_peer();
    assert!(each.iter().all(|peer| peer.max_memory_bytes == 4 << 20));
    assert_eq!((each[15].name.as_str(), each[15].peer.unwrap().port()), ("air-15", 16));
}
