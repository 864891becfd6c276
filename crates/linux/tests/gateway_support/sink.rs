//! An end for packets: counts those of one device that are long, and drops them before anything else sees them.
//!
//! Before a gateway there, too: one that took them would need a part of the processor of whoever sends them.

use super::Net;
use super::packet::Counter;
use airtcp_linux::sys::netns::NetNs;
use airtcp_linux::sys::tcx::{self, Side};
use libbpf_sys::{BPF_PROG_TYPE_SCHED_CLS, bpf_insn, bpf_prog_load};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Packets end here until it is dropped.
pub struct Sink {
    counter: Counter,
    _link: OwnedFd,
}

impl Sink {
    /// Ends packets of more than so many IP bytes that come in at one device of one host. The program comes before those that
    /// are there already.
    ///
    /// # Errors
    /// EINVAL where the kernel has no TCX (before Linux 6.6).
    pub fn of_longer(net: &Net, host: &str, device: &str, than: u32) -> io::Result<Sink> {
        let counter = Counter::of_longer(net, host, device, than);
        let name = CString::new(device).unwrap();
        let attach = move || {
            let program = program(than)?;
            // SAFETY: the name lives through the call.
            let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
            tcx::attach(program.as_fd(), index, Side::Ingress)
        };
        let link = NetNs::open(&net.ns(host))?.run(attach)?;
        Ok(Sink { counter, _link: link? })
    }

    /// Packets since the last call.
    pub fn arrived(&self) -> u64 {
        self.counter.arrived()
    }
}

/// `if skb->len > than + ethernet { drop } else { next }`.
fn program(than: u32) -> io::Result<OwnedFd> {
    const LOAD_WORD: u8 = 0x61;
    const JUMP_IF_NOT_GREATER: u8 = 0xb5;
    const MOVE: u8 = 0xb7;
    const EXIT: u8 = 0x95;
    const ETHERNET: i32 = 14;
    const NEXT: i32 = -1;
    const DROP: i32 = 2;
    let instruction = |code, registers: u8, off, imm| {
        let mut instruction = bpf_insn { code, off, imm, ..Default::default() };
        instruction.set_dst_reg(registers & 0xf);
        instruction.set_src_reg(registers >> 4);
        instruction
    };
    let program = [
        instruction(LOAD_WORD, 0x10, 0, 0),
        instruction(JUMP_IF_NOT_GREATER, 0, 2, than as i32 + ETHERNET),
        instruction(MOVE, 0, 0, DROP),
        instruction(EXIT, 0, 0, 0),
        instruction(MOVE, 0, 0, NEXT),
        instruction(EXIT, 0, 0, 0),
    ];
    // SAFETY: strings and instructions live through the call; the descriptor belongs to nobody else.
    unsafe {
        let fd = bpf_prog_load(
            BPF_PROG_TYPE_SCHED_CLS,
            c"sink".as_ptr(),
            c"GPL".as_ptr(),
            program.as_ptr(),
            program.len() as u64,
            std::ptr::null_mut(),
        );
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}
