//! How a worker takes another configuration while it works. All that can be refused comes before the first change.

use super::config::Config;
use super::control::Introduction;
use super::hops::Hops;
use super::reload::{Change, list};
use super::scheme::Scheme;
use super::setups::setups;
use super::status::Identity;
use airtcp_core::OwnSegments;

/// Makes the element of a configuration, or says why not.
pub type MakeElement<'a> = &'a dyn Fn(&Config) -> Result<Scheme, String>;

/// What of a worker's beginning a renewal needs.
pub struct Renewal<'a> {
    /// As at the start.
    pub make: MakeElement<'a>,
    /// Who this gateway says to be.
    pub introduction: Introduction,
    /// What the programs at the link let through for the elements.
    pub own: Vec<Option<OwnSegments>>,
}

/// Why all stays as it is.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// The configuration cannot be applied.
    Never(String),
    /// A new worker can.
    NewWorker(String),
}

impl Renewal<'_> {
    /// Works with this configuration from now on, if it can; the answer to the supervisor.
    pub fn obey(&mut self, config: Config, identity: &mut Identity, hops: &mut Hops) -> String {
        match self.apply(config, identity, hops) {
            Ok(what) => format!("reloaded: {what}"),
            Err(Refusal::Never(why)) => format!("kept: {why}"),
            Err(Refusal::NewWorker(why)) => format!("replace: {why}"),
        }
    }

    fn apply(&mut self, config: Config, identity: &mut Identity, hops: &mut Hops) -> Result<String, Refusal> {
        let now = &identity.config;
        let change = Change::between(now, &config);
        // What a new worker would do to connections, too.
        let whole = |why: String| if self.breaks_nothing(now) { Err(Refusal::NewWorker(why)) } else { refuse(&why) };
        match change {
            Change::NewDaemon(keys) => return refuse(&list(&keys)),
            Change::NewWorker(keys) => return whole(list(&keys)),
            Change::InPlace => {}
        }
        let mut schemes = Vec::new();
        for (index, (was, is)) in now.each_peer().iter().zip(&config.each_peer()).enumerate() {
            if without_keys(was) == without_keys(is) {
                continue;
            }
            let scheme = (self.make)(is).map_err(Refusal::Never)?;
            if !scheme.may_be_replaced {
                return refuse("what a scheme is told in which connections end");
            }
            if self.own.get(index) != Some(&scheme.element.own_segments()) {
                return whole("header packets".into());
            }
            schemes.push((index, scheme));
        }
        let introduction = schemes.first().map_or_else(
            || self.introduction.clone(),
            |(_, scheme)| Introduction::new(&config.scheme, &scheme.mode, scheme.element.traffic()),
        );
        let setups = setups(&config, &introduction).map_err(|error| Refusal::Never(error.to_string()))?;
        // From here on nothing is refused.
        self.introduction = introduction;
        let renewed = schemes.len();
        let mut hops: Vec<_> = hops.iter_mut().collect();
        for (index, scheme) in schemes {
            hops[index].renew(scheme);
        }
        for (hop, setup) in hops.iter_mut().zip(setups) {
            if let Some(channel) = hop.control_mut() {
                channel.renew(setup);
            }
        }
        let all = hops.len();
        identity.config = config;
        Ok(match (renewed, all) {
            (0, _) => "keys were read again, the scheme is told nothing new".to_owned(),
            (1, 1) => "applied without a restart".to_owned(),
            _ => format!("applied without a restart, to the links of {renewed} of {all} peers"),
        })
    }

    fn breaks_nothing(&self, now: &Config) -> bool {
        now.each_peer().iter().all(|peer| (self.make)(peer).is_ok_and(|scheme| scheme.may_be_replaced))
    }
}

fn refuse(what: &str) -> Result<String, Refusal> {
    let why =
        format!("{what} cannot change while the gateway runs, so nothing was changed: start it again to have it so");
    Err(Refusal::Never(why))
}

/// What the element is made of.
fn without_keys(config: &Config) -> Config {
    Config { key: None, previous_key: None, insecure: false, ..config.clone() }
}
