//! What another configuration changes in a gateway that runs, and what became of the attempts.
//!
//! Three things can follow. What the scheme is told (rates, queue, modes, memory) and the keys change in place: the worker
//! goes on, with its devices and its session with the peer, and peers that are told nothing new notice nothing. What the
//! devices, the programs at the link or the socket are made of needs a new worker: the kernel forwards plainly meanwhile. And
//! what others know the daemon by needs a new daemon.

use super::config::Config;
use serde::{Deserialize, Serialize};

/// What became of reloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloads {
    /// How many there were.
    pub asked: u64,
    /// After how many of them all stayed as it was.
    pub refused: u64,
    /// What became of the last one, in words; empty before the first.
    pub last: String,
    /// True if the last one was refused.
    pub last_refused: bool,
}

impl Reloads {
    /// One more.
    pub fn conclude(&mut self, is_applied: bool, last: String) {
        self.asked += 1;
        self.refused += u64::from(!is_applied);
        (self.last, self.last_refused) = (last, !is_applied);
    }
}

/// What it takes to apply a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The worker can do it.
    InPlace,
    /// A new worker, because of these keys of the file.
    NewWorker(Vec<&'static str>),
    /// A new daemon, because of these.
    NewDaemon(Vec<&'static str>),
}

impl Change {
    /// From one configuration to another one.
    pub fn between(now: &Config, next: &Config) -> Change {
        let Config {
            name,
            scheme,
            settings: _,
            link,
            facts: _,
            peer,
            listen,
            key: _,
            previous_key: _,
            insecure: _,
            hops,
            networks,
            direction,
            role,
            peers,
            shared_rate_bps,
            max_memory_bytes: _,
            realtime,
            metrics,
            run_directory,
            seed,
            method,
        } = next;
        let daemon = [("name", *name != now.name), ("run_directory", *run_directory != now.run_directory)];
        // Who the peers are, and how their packets are known.
        let who = |config: &Config| {
            let of = |peer: &super::peers::PeerConfig| {
                (peer.name.clone(), peer.address, peer.hops, peer.networks.clone(), peer.key.is_some())
            };
            config.peers.iter().map(of).collect::<Vec<_>>()
        };
        let worker = [
            ("scheme", *scheme != now.scheme),
            ("link", *link != now.link),
            ("peer", *peer != now.peer || peers.len() != now.peers.len() || who(next) != who(now)),
            ("listen", *listen != now.listen),
            ("hops", *hops != now.hops),
            ("networks", *networks != now.networks),
            ("direction", *direction != now.direction),
            ("role", *role != now.role),
            ("shared_rate", *shared_rate_bps != now.shared_rate_bps),
            ("realtime", *realtime != now.realtime),
            ("metrics", *metrics != now.metrics),
            ("seed", *seed != now.seed),
            ("method", *method != now.method),
        ];
        let changed = |keys: &[(&'static str, bool)]| -> Vec<&'static str> {
            keys.iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| *key).collect()
        };
        match (changed(&daemon), changed(&worker)) {
            (keys, _) if !keys.is_empty() => Change::NewDaemon(keys),
            (_, keys) if !keys.is_empty() => Change::NewWorker(keys),
            _ => Change::InPlace,
        }
    }
}

/// `a`, `b` and `c` in one phrase, as keys of a file.
pub fn list(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::peers::PeerConfig;
    use airtcp_core::Value;

    fn changed(change: impl FnOnce(&mut Config)) -> Change {
        let peers = vec![PeerConfig { name: "east".into(), hops: 1, key: Some("a".into()), ..PeerConfig::default() }];
        let now = Config { peers, ..Config::new("gsnoop", "air") };
        let mut next = now.clone();
        change(&mut next);
        Change::between(&now, &next)
    }

    #[test]
    fn what_the_scheme_is_told_and_keys_change_in_place() {
        assert_eq!(changed(|_| {}), Change::InPlace);
        let told = changed(|config| {
            config.facts.rate_bps = Some(1);
            config.settings.insert("tries".into(), Value::from("4"));
            config.max_memory_bytes += 1;
            config.key = Some("b".into());
            config.peers[0].facts.queue_bytes = Some(1);
            config.peers[0].previous_key = config.peers[0].key.replace("new".into());
        });
        assert_eq!(told, Change::InPlace);
    }

    #[test]
    fn devices_programs_and_the_socket_need_a_new_worker() {
        let fewer = changed(|config| config.peers.clear());
        assert_eq!(fewer, Change::NewWorker(vec!["peer"]));
        assert_eq!(changed(|config| config.peers[0].hops = 2), Change::NewWorker(vec!["peer"]));
        let several = changed(|config| {
            config.link = "other".into();
            config.listen = Some("0.0.0.0:1".parse().unwrap());
            config.facts.rate_bps = Some(1);
        });
        assert_eq!(several, Change::NewWorker(vec!["link", "listen"]));
    }

    #[test]
    fn what_the_daemon_is_known_by_needs_a_new_daemon_whatever_else_changes() {
        let renamed = changed(|config| {
            config.name = "other".into();
            config.link = "other".into();
        });
        assert_eq!(renamed, Change::NewDaemon(vec!["name"]));
    }

    #[test]
    fn the_last_attempt_is_told_and_all_are_counted() {
        let mut reloads = Reloads::default();
        reloads.conclude(false, "line 3: no".into());
        reloads.conclude(true, "applied".into());
        assert_eq!(reloads, Reloads { asked: 2, refused: 1, last: "applied".into(), last_refused: false });
    }
}
