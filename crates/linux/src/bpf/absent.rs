//! In place of `object.rs` where this was built without the feature `bpf`: nothing can be loaded.

use super::{BpfError, Program};
use std::io;
use std::path::Path;

/// Says what is missing.
///
/// # Errors
/// Always.
pub fn check(program: &Program) -> Result<(), BpfError> {
    debug_assert!(program.object.is_empty());
    Err(BpfError::NotBuilt("the feature 'bpf'"))
}

/// Never made here.
#[derive(Debug)]
pub struct Registration(std::convert::Infallible);

impl Registration {
    /// Says what is missing.
    ///
    /// # Errors
    /// Always.
    pub fn new(program: &Program, _name: &str, settings: &[(String, String)]) -> Result<Self, BpfError> {
        (program.settings)(settings)?;
        check(program).map(|()| unreachable!("check() always says what is missing"))
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn counters(&self) -> io::Result<Vec<u64>> {
        match self.0 {}
    }

    pub(super) fn pin(self, _link: &Path, _settings: &Path, _counters: &Path) -> io::Result<()> {
        match self.0 {}
    }
}

pub(super) fn read_pinned(_path: &Path) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn words(_bytes: &[u8]) -> Vec<u64> {
    Vec::new()
}
