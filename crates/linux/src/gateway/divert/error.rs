//! Why traffic could not be diverted.

use crate::gateway::command::CommandError;
use std::io::{self, ErrorKind};
use std::net::IpAddr;

/// Why traffic could not be diverted; nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum DivertError {
    /// The link has a gateway.
    #[error("another gateway already runs on {0}; stop it first (airtcp status)")]
    LinkBusy(String),
    /// The link is not there.
    #[error("there is no interface {0}")]
    NoLink(String),
    /// The kernel runs no programs at this link.
    #[error("the kernel runs no program of ours at {link}: {reason}")]
    NoPrograms {
        /// Which.
        link: String,
        /// In the kernel's or the loader's words.
        reason: String,
    },
    /// Segments of a trunk are taken by programs only.
    #[error(
        "header packets as TCP segments can be taken at the link only, and not by policy routes: leave out `method`, or set \
         `headers = \"udp\"`"
    )]
    RoutedSegments,
    /// A station's own packets are taken by programs only.
    #[error("a station's own packets can be taken at the link only, and not by policy routes: leave out `method`")]
    RoutedStation,
    /// Nothing leads to the peer, so it is not known which address segments to it come from.
    #[error(
        "header packets as TCP segments need an address of this gateway, and no route leads to {remote}: give {link} its \
         address and route first"
    )]
    NoAddress {
        /// The peer's.
        remote: IpAddr,
        /// The link.
        link: String,
    },
    /// Too many gateways of the second way.
    #[error("{0} gateways already run here; stop one first (airtcp status)")]
    Full(u8),
    /// A rule of this router that policy routes would break.
    #[error("{0}")]
    Refused(String),
    /// `ip` or `nft` failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The device could not be made.
    #[error("the device {name} could not be made: {source}; {}", advice(.source))]
    Device {
        /// Which one.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// A setting of the own device could not be written.
    #[error("{path} could not be written: {source}; is /proc/sys read-only (a container)?")]
    Setting {
        /// Which file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// What was set up is no longer there, or no longer right: the gateway must start anew.
    #[error("{0}")]
    Lost(String),
}

fn advice(error: &io::Error) -> &'static str {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) => "load the driver: modprobe tun (in a container: pass /dev/net/tun through)",
        (ErrorKind::PermissionDenied, _) => "run as root, or with CAP_NET_ADMIN",
        (_, Some(libc::EBUSY)) => "a device of that name exists; give this gateway another name",
        _ => "see `airtcp doctor`",
    }
}
