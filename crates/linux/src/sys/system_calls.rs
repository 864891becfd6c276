//! Which system calls a thread may make from now on. Others fail with EPERM: nothing dies of a call that somebody forgot.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// What an argument has to be.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// One of these values.
    OneOf(u8, &'static [u64]),
    /// With this value in these bits.
    Bits(u8, u64, u64),
}

/// Allows the calling thread, and what it starts, the calls of `any` with all arguments and those of `some` with such
/// arguments (all of those of one line; a call may have several lines); it gets no new privileges either.
///
/// # Errors
/// Why it stays as it was: an architecture or a kernel without such filters.
#[allow(clippy::useless_conversion, reason = "`c_long` has 32 bits on machines of 32 bits")]
pub fn allow_only(any: &[libc::c_long], some: &[(libc::c_long, &[Argument])]) -> io::Result<()> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = any.iter().map(|call| (i64::from(*call), Vec::new())).collect();
    for (call, arguments) in some {
        rules.entry(i64::from(*call)).or_default().extend(alternatives(arguments).map_err(io::Error::other)?);
    }
    let here = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let otherwise = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, otherwise, SeccompAction::Allow, here).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

/// A rule for each way to fulfil all of them.
fn alternatives(arguments: &[Argument]) -> Result<Vec<SeccompRule>, BackendError> {
    let mut ways = vec![Vec::new()];
    for argument in arguments {
        let conditions = argument.conditions()?;
        let longer = |way: &Vec<_>| {
            conditions.iter().map(|one| [&way[..], std::slice::from_ref(one)].concat()).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(longer).collect();
    }
    ways.into_iter().map(SeccompRule::new).collect()
}

impl Argument {
    fn conditions(self) -> Result<Vec<SeccompCondition>, BackendError> {
        let is = |place, how, value| SeccompCondition::new(place, SeccompCmpArgLen::Dword, how, value);
        match self {
            Argument::OneOf(place, values) => values.iter().map(|value| is(place, SeccompCmpOp::Eq, *value)).collect(),
            Argument::Bits(place, bits, value) => Ok(vec![is(place, SeccompCmpOp::MaskedEq(bits), value)?]),
        }
    }
}
