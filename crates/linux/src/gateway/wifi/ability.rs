//! Whether an interface tells what becomes of frames (`airtcp gateway --check`, `airtcp doctor`).

use super::air::is_radio;
use crate::finding::Finding;
use crate::gateway::config::{Config, Role};
use crate::sys::genetlink::{GenericSocket, Request};
use crate::sys::interface;
use std::io;

// linux/nl80211.h.
const NL80211_CMD_GET_WIPHY: u8 = 1;
const NL80211_CMD_GET_INTERFACE: u8 = 5;
const NL80211_ATTR_IFINDEX: u16 = 3;
const NL80211_ATTR_IFTYPE: u16 = 5;
const NL80211_ATTR_FEATURE_FLAGS: u16 = 143;
/// The stack hands reports to the socket that sent a frame.
const NL80211_FEATURE_SK_TX_STATUS: u32 = 1;
const NL80211_IFTYPE_STATION: u32 = 2;

/// What a radio's interface is, and what it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ability {
    /// `enum nl80211_iftype`.
    kind: u32,
    reports: bool,
}

/// What the kernel says of an interface.
fn ask(link: &str) -> io::Result<Ability> {
    let mut socket = GenericSocket::open()?;
    let family = socket.family("nl80211")?;
    let index = interface::index(link)?.to_ne_bytes();
    let about = |command| Request::new(family, command).with(NL80211_ATTR_IFINDEX, &index);
    let (mut kind, mut features) = (0, 0);
    socket.ask(about(NL80211_CMD_GET_INTERFACE), |message| {
        kind = message.number(NL80211_ATTR_IFTYPE).unwrap_or(kind);
    })?;
    socket.ask(about(NL80211_CMD_GET_WIPHY), |message| {
        features = message.number(NL80211_ATTR_FEATURE_FLAGS).unwrap_or(features);
    })?;
    Ok(Ability { kind, reports: features & NL80211_FEATURE_SK_TX_STATUS != 0 })
}

/// The kernel driver of an interface, by name.
fn driver(link: &str) -> Option<String> {
    let driver = std::fs::read_link(format!("/sys/class/net/{link}/device/driver")).ok()?;
    Some(driver.file_name()?.to_string_lossy().into_owned())
}

/// What `airtcp gateway --check` says of a station, and of an access point that a station's gateway sends to.
pub fn findings(config: &Config) -> Vec<Finding> {
    if config.role.is_none() || interface::index(&config.link).is_err() {
        return Vec::new();
    }
    vec![finding(&config.link, config.role == Some(Role::Station))]
}

/// What is said of one interface; of a station's, it matters more.
pub fn finding(link: &str, is_of_station: bool) -> Finding {
    if !is_radio(link) {
        let what = format!("{link} is no Wi-Fi interface of this kernel: nothing tells which frames arrive");
        return if is_of_station {
            Finding::warning(
                format!("{what}, so no acknowledgment is spared"),
                "set `link` to one that `iw dev` shows; until then every packet passes as it is",
            )
        } else {
            Finding::good(format!("{what}, which a split need not know"))
        };
    }
    let driver = driver(link).map_or(String::new(), |driver| format!(" (driver {driver})"));
    match ask(link) {
        Ok(Ability { reports: false, .. }) => Finding::warning(
            format!("{link}{driver} does not report what becomes of frames: no acknowledgment is spared"),
            "use a radio whose driver is built on mac80211 (`iw phy` says \"Device supports TX status socket option\")",
        ),
        Ok(Ability { kind: NL80211_IFTYPE_STATION, .. }) => Finding::good(format!(
            "{link}{driver} is a station and reports what becomes of frames; no monitor interface is needed"
        )),
        Ok(_) if is_of_station => Finding::warning(
            format!("{link}{driver} reports what becomes of frames, and is no station"),
            "run the role \"station\" on the host that joins the access point",
        ),
        Ok(_) => Finding::good(format!("{link}{driver} reports what becomes of frames, which a split need not know")),
        Err(error) => Finding::warning(
            format!("the kernel does not say what {link}{driver} reports: {error}"),
            "run as root; the station finds out by its first frames",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    #[test]
    fn an_interface_that_is_no_radio_is_said_to_spare_nothing() {
        let found = finding("lo", true);
        assert_eq!(found.level, Level::Warning);
        assert!(found.what.contains("no Wi-Fi interface") && !found.fix.is_empty(), "{found:?}");
        assert_eq!(finding("lo", false).level, Level::Good);
    }
}
