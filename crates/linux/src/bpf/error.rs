//! Why a controller could not be loaded or taken away.

use super::ROOT;
use airtcp_core::parameters::ParameterError;
use std::io;

/// One sentence each, with what to do next.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// No such program.
    #[error("there is no program '{name}' for the kernel; {}", match nearest {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("there are: {all}"),
    })]
    Unknown {
        /// What was asked for.
        name: String,
        /// The most similar name.
        nearest: Option<&'static str>,
        /// All names.
        all: String,
    },
    /// Built without clang or without the feature.
    #[error(
        "this airtcp was built without {0}, so it has no programs for the kernel; install what scripts/setup lists and build again"
    )]
    NotBuilt(&'static str),
    /// The kernel lets only root load programs.
    #[error("this needs root: the kernel lets nobody else load, list or unload congestion controllers")]
    NotRoot,
    /// The kernel does not describe its types.
    #[error(
        "this kernel does not describe its types in /sys/kernel/btf/vmlinux, which loading needs; run one built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// It is already loaded.
    #[error("'{0}' is already loaded; `airtcp cc unload {0}` removes it")]
    Loaded(String),
    /// The name is in use by the kernel or by another process.
    #[error("the kernel has another congestion controller called '{0}', its own or that of a live run")]
    Taken(String),
    /// It is not loaded.
    #[error("'{0}' is not loaded; `airtcp cc list` shows what is")]
    NotLoaded(String),
    /// Not a name.
    #[error("'{0}' cannot be the name of a controller; `airtcp cc list` shows what is loaded")]
    NoName(String),
    /// The kernel does not take it.
    #[error("the kernel refused to {action} '{name}': {reason}; Linux 6.4 or newer takes it")]
    Refused {
        /// The controller.
        name: String,
        /// What was tried.
        action: &'static str,
        /// Its words.
        reason: String,
    },
    /// A setting.
    #[error("{0}")]
    Settings(#[from] ParameterError),
    /// Files under [`ROOT`].
    #[error("cannot {action} under {ROOT}: {source}")]
    Files {
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: io::Error,
    },
}

impl BpfError {
    pub(super) fn files(action: &'static str) -> impl FnOnce(io::Error) -> BpfError {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => BpfError::NotRoot,
            _ => BpfError::Files { action, source },
        }
    }
}
