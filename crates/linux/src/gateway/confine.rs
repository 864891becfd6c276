//! What the processes of a gateway give up, so that whoever takes one over by a packet gains little.

use super::divert::Method;
use crate::sys::capabilities;
use crate::sys::system_calls::{self, Argument};
use caps::Capability;
use serde::{Deserialize, Serialize};

/// What workers need until all is open, and the supervisor to start them.
const TO_START: [Capability; 7] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    // Real-time priority.
    Capability::CAP_SYS_NICE,
    // Locked memory for BPF, before Linux 5.11.
    Capability::CAP_SYS_RESOURCE,
    // A key that belongs to somebody else than root.
    Capability::CAP_DAC_READ_SEARCH,
];

/// What a worker needs to look after its programs and devices, which are the network's, and BPF's before Linux 5.19, and to
/// bind its socket to another interface (raw sockets are refused otherwise).
const TO_WORK: [Capability; 3] = [Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW, Capability::CAP_BPF];

/// All that a worker calls after its start, with any arguments.
const CALLS: &[libc::c_long] = &[
    // Packets, messages, clients, signals.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_ioctl,
    libc::SYS_fcntl,
    libc::SYS_close,
    // What waits goes over to an heir in memory.
    libc::SYS_memfd_create,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    // Time and chance.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    // Memory, and the end.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// And with some: files are only read, sockets are for datagrams or ask the kernel, and of BPF only what maps hold and what
/// is attached.
const CALLS_WITH: &[(libc::c_long, &[Argument])] = &[
    (libc::SYS_openat, &[Argument::Bits(2, (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) as u64, 0)]),
    (libc::SYS_socket, &[Argument::OneOf(0, &[libc::AF_NETLINK as u64, libc::AF_UNIX as u64])]),
    (libc::SYS_socket, &[Argument::OneOf(0, &[libc::AF_INET as u64, libc::AF_INET6 as u64]), DATAGRAMS]),
    (libc::SYS_bpf, &[Argument::OneOf(0, &BPF_COMMANDS)]),
];

/// The type of a socket without its flags.
const DATAGRAMS: Argument = Argument::Bits(1, 0xf, libc::SOCK_DGRAM as u64);

/// Look up, update and delete an element of a map, get information, query what is attached; as linux/bpf.h numbers them.
const BPF_COMMANDS: [u64; 5] = [1, 2, 3, 15, 16];

/// What a process can still do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The capabilities that it has, as capabilities(7) calls them. `None` if they could not be given up.
    pub capabilities: Option<Vec<String>>,
    /// True if system calls that a worker does not need are refused (seccomp(2)).
    pub system_calls_filtered: bool,
    /// What could not be given up, and why.
    pub failed: Vec<String>,
}

/// The supervisor gives up what neither it nor workers need.
pub fn supervisor() -> Confinement {
    let mut keep = TO_START.to_vec();
    if !capabilities::has_bpf() {
        keep.push(Capability::CAP_SYS_ADMIN);
    }
    Confinement::with(&keep)
}

/// A worker that has everything open gives up the rest. The second best way runs `nft` and `ip` later, too, so no system
/// call is refused there.
pub fn worker(method: Method) -> Confinement {
    let mut confinement = Confinement::with(&TO_WORK);
    if method != Method::Routed {
        match system_calls::allow_only(CALLS, CALLS_WITH) {
            Ok(()) => confinement.system_calls_filtered = true,
            Err(error) => confinement.failed.push(format!("system calls cannot be filtered: {error}")),
        }
    }
    confinement
}

impl Confinement {
    fn with(keep: &[Capability]) -> Confinement {
        let (capabilities, failed) = match capabilities::keep_only(keep) {
            Ok(kept) => (Some(kept), Vec::new()),
            Err(error) => (None, vec![format!("capabilities cannot be given up: {error}")]),
        };
        Confinement { capabilities, system_calls_filtered: false, failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::io::ErrorKind;
    use std::net::{TcpListener, UdpSocket};
    use std::process::Command;

    #[test]
    fn a_worker_reads_files_but_writes_none_opens_no_connections_and_starts_nothing() {
        if airtcp_test_support::skip_emulated("seccomp") {
            return;
        }
        let file = std::env::temp_dir().join(format!("airtcp-confined-{}", std::process::id()));
        let path = file.clone();
        // Only this thread is confined.
        let confined = std::thread::spawn(move || {
            let confinement = worker(Method::Tcx);
            assert!(confinement.system_calls_filtered, "{confinement:?}");
            assert!(std::fs::read("/proc/self/status").is_ok());
            assert!(UdpSocket::bind("127.0.0.1:0").is_ok());
            let refused = [
                std::fs::write(&path, "no").map_err(|error| error.kind()),
                TcpListener::bind("127.0.0.1:0").map(drop).map_err(|error| error.kind()),
                Socket::new(Domain::IPV4, Type::RAW, None).map(drop).map_err(|error| error.kind()),
                Socket::new(Domain::PACKET, Type::DGRAM, None).map(drop).map_err(|error| error.kind()),
                Command::new("true").status().map(drop).map_err(|error| error.kind()),
            ];
            assert_eq!(refused, [Err(ErrorKind::PermissionDenied); 5]);
        });
        confined.join().unwrap();
        assert!(!file.exists());
    }
}
