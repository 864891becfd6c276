//! What a process may do beyond its user: less and less.

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;
use std::io;

/// Gives up all capabilities of the calling thread but those to `keep`, as far as it has them, for itself and for every
/// program that it starts from now on, which cannot get others either. Returns what is left, by name, in order.
///
/// # Errors
/// What the system says; some may be given up already.
pub fn keep_only(keep: &[Capability]) -> io::Result<Vec<String>> {
    set_no_new_privs()?;
    let held = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    let kept: CapsHashSet = keep.iter().copied().filter(|capability| held.contains(capability)).collect();
    // Without it the bounding set stays as it is. It bounds nothing then that "no new privileges" does not.
    if held.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::runtime::thread_all_supported().difference(&kept) {
            caps::drop(None, CapSet::Bounding, *capability).map_err(io::Error::other)?;
        }
    }
    let _ = caps::clear(None, CapSet::Ambient);
    caps::set(None, CapSet::Effective, &kept).map_err(io::Error::other)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(io::Error::other)?;
    caps::clear(None, CapSet::Inheritable).map_err(io::Error::other)?;
    let mut names: Vec<String> = kept.iter().map(ToString::to_string).collect();
    names.sort();
    Ok(names)
}

/// True if this kernel tells BPF from the rest of what only root may do (Linux 5.8).
pub fn has_bpf() -> bool {
    caps::runtime::thread_all_supported().contains(&Capability::CAP_BPF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_gone_also_for_programs_that_are_started() {
        // Capabilities belong to threads.
        let child = std::thread::spawn(|| {
            let kept = keep_only(&[Capability::CAP_NET_ADMIN]).unwrap();
            assert!(kept.is_empty() || kept == ["CAP_NET_ADMIN"], "{kept:?}");
            assert_eq!(keep_only(&[Capability::CAP_NET_ADMIN, Capability::CAP_SYS_ADMIN]).unwrap(), kept);
            std::process::Command::new("cat").arg("/proc/self/status").output().unwrap()
        });
        let status = String::from_utf8(child.join().unwrap().stdout).unwrap();
        let of = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned();
        assert_eq!(of("NoNewPrivs:"), "1");
        let net_admin = 1_u64 << Capability::CAP_NET_ADMIN.index();
        for set in ["CapEff:", "CapPrm:"] {
            assert_eq!(u64::from_str_radix(&of(set), 16).unwrap() & !net_admin, 0, "{set} {}", of(set));
        }
    }
}
