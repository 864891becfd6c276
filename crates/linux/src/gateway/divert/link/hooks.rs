//! The programs in their places: by TCX where the kernel has it, else by clsact.

use super::super::method::Method;
use super::program::Program;
use super::settings::{Pair, Settings};
use crate::gateway::estate::Estate;
use crate::sys::interface;
use crate::sys::tcx::{self, Side};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Where each program goes: its name, which device, which side. Those that give back first, so that nothing is taken that
/// could not be given back.
fn places(settings: &Settings) -> Vec<(&'static str, u32, Side)> {
    let back =
        |pair: &Pair| [("airtcp_back_out", pair.out, Side::Ingress), ("airtcp_back_in", pair.r#in, Side::Ingress)];
    let take = [("airtcp_leaving", settings.link, Side::Egress), ("airtcp_arriving", settings.link, Side::Ingress)];
    settings.devices.iter().flat_map(back).chain(take).collect()
}

/// Programs in place, until this is dropped.
pub enum Hooks {
    /// Gone with the process.
    Tcx(Vec<OwnedFd>),
    /// To be removed.
    Clsact(clsact::Filters),
}

impl Hooks {
    /// Puts the programs in their places by `method`, or the best there is.
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn attach(program: &Program, settings: &Settings, method: Option<Method>) -> Result<Hooks, String> {
        // What an older kernel or a killed gateway left would see packets twice.
        clsact::remove(settings.link);
        if method != Some(Method::Clsact) {
            let links: io::Result<Vec<OwnedFd>> = places(settings)
                .into_iter()
                .map(|(name, device, side)| tcx::attach(program.fd(name)?.as_fd(), device, side))
                .collect();
            match links {
                Ok(links) => return Ok(Hooks::Tcx(links)),
                Err(error) if method.is_some() => return Err(error.to_string()),
                Err(error) => tracing::debug!("no TCX here: {error}"),
            }
        }
        clsact::Filters::attach(program, settings).map(Hooks::Clsact)
    }

    /// The places in which the one before has its programs, as long as [`Hooks::take_over`] is not called.
    ///
    /// # Errors
    /// They are others than those of `settings`.
    pub fn inherit(settings: &Settings, method: Option<Method>, estate: &mut Estate) -> Result<Hooks, String> {
        if method.is_some_and(|method| method != Method::Tcx) {
            return Err("only hooks by TCX are handed over".into());
        }
        let place = |(name, device, side): (&str, u32, Side)| {
            let link = estate.take(&estate_name(name, device));
            link.filter(|link| tcx::is_at(link.as_fd(), device, side))
                .ok_or_else(|| format!("the one before has no {name} where it is to be"))
        };
        places(settings).into_iter().map(place).collect::<Result<_, _>>().map(Hooks::Tcx)
    }

    /// What an heir needs to put its programs in the place of these; nothing where that cannot be.
    pub fn lend(&self, settings: &Settings) -> Vec<(String, BorrowedFd<'_>)> {
        let Hooks::Tcx(links) = self else { return Vec::new() };
        let names = places(settings).into_iter().map(|(name, device, _)| estate_name(name, device));
        names.zip(links.iter().map(OwnedFd::as_fd)).collect()
    }

    /// Puts the programs in the places of those of the one before: each packet is seen by one of the two.
    ///
    /// # Errors
    /// In the kernel's words.
    pub fn take_over(&self, program: &Program, settings: &Settings) -> io::Result<()> {
        let Hooks::Tcx(links) = self else { return Ok(()) };
        let places = places(settings).into_iter().zip(links);
        places.into_iter().try_for_each(|((name, ..), link)| tcx::replace(link.as_fd(), program.fd(name)?.as_fd()))
    }

    /// False if the link is gone, or somebody removed a program.
    pub fn are_in_place(&self) -> bool {
        match self {
            Hooks::Tcx(links) => links.iter().all(tcx::is_in_place),
            Hooks::Clsact(filters) => filters.are_in_place(),
        }
    }

    /// How the programs are held.
    pub fn method(&self) -> Method {
        match self {
            Hooks::Tcx(_) => Method::Tcx,
            Hooks::Clsact(_) => Method::Clsact,
        }
    }
}

fn estate_name(program: &str, device: u32) -> String {
    format!("{program} at {device}")
}

/// Removes what a killed gateway on `link` left there.
pub fn remove_leftovers(link: &str) {
    if let Ok(index) = interface::index(link) {
        clsact::remove(index);
    }
}

mod clsact {
    //! Filters of the queueing discipline clsact. They stay when the process is killed, and take nothing then.

    use super::{Program, Settings, Side, places};
    use libbpf_rs::{TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook};
    use std::os::fd::{AsFd, BorrowedFd};

    /// First of all filters there.
    const PRIORITY: u32 = 1;
    /// By which our filters are known: "AT".
    const HANDLE: u32 = 0x4154;

    pub struct Filters(Vec<TcHook>);

    impl Filters {
        pub fn attach(program: &Program, settings: &Settings) -> Result<Filters, String> {
            let mut filters = Filters(Vec::new());
            for (name, device, side) in places(settings) {
                let words = |error: libbpf_rs::Error| error.to_string();
                let fd = program.fd(name).map_err(|error| error.to_string())?;
                let mut hook = hook(fd.as_fd(), device, side);
                hook.create().map_err(words)?;
                filters.0.push(hook.replace(true).attach().map_err(words)?);
            }
            Ok(filters)
        }

        pub fn are_in_place(&self) -> bool {
            self.0.iter().all(|hook| hook.clone().query().is_ok())
        }
    }

    impl Drop for Filters {
        fn drop(&mut self) {
            for hook in self.0.iter_mut().rev() {
                // A device that is gone took its filter along.
                let _ = hook.detach();
            }
        }
    }

    /// Removes our filters from the device `index`; others, and the empty clsact, stay.
    pub fn remove(index: u32) {
        for side in [Side::Egress, Side::Ingress] {
            // Which program it is does not matter for a removal.
            let _ = hook(std::io::stdin().as_fd(), index, side).detach();
        }
    }

    fn hook(program: BorrowedFd<'_>, index: u32, side: Side) -> TcHook {
        let point: TcAttachPoint = match side {
            Side::Egress => TC_EGRESS,
            Side::Ingress => TC_INGRESS,
        };
        let mut hook = TcHook::new(program);
        hook.ifindex(index as i32).attach_point(point).priority(PRIORITY).handle(HANDLE);
        hook
    }
}
