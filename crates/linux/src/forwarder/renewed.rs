//! What of a forwarder's file holds at once, without a connection that ends.

use super::config::Config;
use crate::gateway::reload::list;

impl Config {
    /// This configuration with all that may change while it runs from `next`.
    ///
    /// # Errors
    /// Something else differs: nothing is to change.
    pub fn renewed(&self, next: Config) -> Result<Config, String> {
        let Config {
            name,
            listen,
            peer,
            key,
            mtu,
            connections,
            memory,
            buffer,
            silence: _,
            forwards,
            allow: _,
            streams,
            allow_streams: _,
            keep_source,
            realtime,
            metrics,
            run_directory,
            reliable,
            streaming,
        } = self;
        let keys = [
            ("name", *name == next.name),
            ("listen", *listen == next.listen),
            ("peer", *peer == next.peer),
            ("key", *key == next.key),
            ("mtu", *mtu == next.mtu),
            ("connections", *connections == next.connections),
            ("memory", *memory == next.memory),
            ("buffer", *buffer == next.buffer),
            ("forward", *forwards == next.forwards),
            ("stream", *streams == next.streams),
            ("keep_source", *keep_source == next.keep_source),
            ("realtime", *realtime == next.realtime),
            ("metrics", *metrics == next.metrics),
            ("run_directory", *run_directory == next.run_directory),
            ("decoupling", *reliable == next.reliable),
            ("streaming", *streaming == next.streaming),
        ];
        let other: Vec<&str> = keys.iter().filter(|(_, is_same)| !is_same).map(|(key, _)| *key).collect();
        if other.is_empty() {
            return Ok(next);
        }
        Err(format!(
            "{} cannot change while connections are open, so nothing was changed: start the forwarder again to have it so",
            list(&other)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;

    #[test]
    fn who_is_let_in_and_patience_change_at_once_and_nothing_else_does() {
        let now = Config::new("edge", "10.9.0.2:4792".parse().unwrap(), "link.key".into());
        let silence = Duration::from_secs(5);
        let next = Config { allow: vec!["*:443".parse().unwrap()], silence, ..now.clone() };
        assert_eq!(now.renewed(next.clone()), Ok(next.clone()));
        let why = now.renewed(Config { mtu: 1400, buffer: airtcp_core::ByteSize(1 << 20), ..next }).unwrap_err();
        assert!(why.starts_with("`mtu`, `buffer` cannot change"), "{why}");
    }
}
