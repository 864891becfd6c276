//! The tables of schemes, controllers and sockets that a scenario may name.
//!
//! They are passed in and never looked up in a global, because a crate outside the workspace adds entries.

use airtcp_schemes::SchemeEntry;
use airtcp_schemes::socket::SocketEntry;
use airtcp_tcp::congestion::ControllerEntry;
use std::collections::BTreeSet;

/// In files: no scheme, the link as it is; TCP from end to end (AST-15).
pub const NO_SCHEME: &str = "none";

/// Congestion controllers of the Linux kernel that have no twin here: they run live only, where the kernel has them.
pub const KERNEL_ONLY: &[&str] = &["dctcp", "htcp", "hybla", "illinois"];

/// Everything a file can name.
#[derive(Clone, Copy)]
pub struct Catalogue<'a> {
    /// Schemes, without `none`.
    pub schemes: &'a [SchemeEntry],
    /// Congestion controllers.
    pub controllers: &'a [ControllerEntry],
    /// Sockets; the first one carries a flow that names none.
    pub sockets: &'a [SocketEntry],
}

impl Catalogue<'static> {
    /// What this workspace has.
    pub const BUILT_IN: Catalogue<'static> = Catalogue {
        schemes: airtcp_schemes::SCHEMES,
        controllers: airtcp_tcp::congestion::CONTROLLERS,
        sockets: airtcp_schemes::SOCKETS,
    };
}

impl<'a> Catalogue<'a> {
    /// The scheme called `slug`.
    pub fn scheme(&self, slug: &str) -> Option<&'a SchemeEntry> {
        airtcp_schemes::find(self.schemes, slug)
    }

    /// Every slug a file may write as a scheme's `kind`.
    pub fn scheme_names(&self) -> Vec<String> {
        std::iter::once(NO_SCHEME).chain(self.schemes.iter().map(|entry| entry.slug)).map(str::to_owned).collect()
    }

    /// Every slug a file may write as a flow's `controller`.
    pub fn controller_names(&self) -> Vec<String> {
        let ours = self.controllers.iter().map(|entry| entry.slug);
        let kernel = KERNEL_ONLY.iter().copied().filter(|name| self.controller(name).is_none());
        ours.chain(kernel).map(str::to_owned).collect()
    }

    /// The controller called `slug`, if the simulator has it.
    pub fn controller(&self, slug: &str) -> Option<&'a ControllerEntry> {
        self.controllers.iter().find(|entry| entry.slug == slug)
    }

    /// The socket called `slug`.
    pub fn socket(&self, slug: &str) -> Option<&'a SocketEntry> {
        self.sockets.iter().find(|entry| entry.slug == slug)
    }

    /// Every parameter of any scheme, for the keys that may stand beside `kind = "none"`.
    pub fn scheme_keys(&self) -> BTreeSet<&'static str> {
        self.schemes.iter().flat_map(|entry| entry.fields()).map(|field| field.name).collect()
    }
}
