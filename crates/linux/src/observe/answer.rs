//! The other end of probes, where no gateway runs: answers those that are made with the same key, and nothing else.

use crate::gateway::control::{Probe, Secret};
use crate::sys::clock;
use crate::sys::hop_limit_socket::HopLimitSocket;
use crate::sys::poll::PollSet;
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Probes that are looked at in each [`EVERY`], as a gateway does: each costs a MAC.
const MOST: u32 = 200;
const EVERY: Duration = Duration::from_millis(100);

/// Answers probes at `listen` until `stop` is set; how many were answered. An answer is never longer than its probe.
///
/// # Errors
/// The address is taken or not ours.
pub fn answer(listen: SocketAddr, secret: Option<&Secret>, stop: &AtomicBool) -> io::Result<u32> {
    let socket = HopLimitSocket::bind(listen)?;
    let (mut answered, mut since, mut looked) = (0u32, Instant::ZERO, 0);
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let mut set = PollSet::new();
        set.add_readable(socket.as_fd());
        set.wait(Some(EVERY))?;
        loop {
            let arrival = match socket.receive(&mut buffer) {
                Ok(arrival) => arrival,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => continue,
            };
            let now = clock::now();
            if now.saturating_since(since) >= EVERY {
                (since, looked) = (now, 0);
            }
            looked += 1;
            let datagram = &buffer[..arrival.length];
            let Some(probe) = Probe::decode(datagram).filter(|probe| !probe.is_answer && looked <= MOST) else {
                continue;
            };
            let key = secret.map(|secret| secret.test_key(probe.test));
            if key.as_ref().is_some_and(|key| !Probe::is_authentic(datagram, key)) {
                continue;
            }
            let (order, at_ns, hop_limit) = (answered, now.as_nanos(), arrival.hop_limit);
            answered = answered.wrapping_add(1);
            let answer = Probe { is_answer: true, order, at_ns, hop_limit, ..probe }.encode(key.as_ref(), 0);
            // From the address that was asked; a lost answer is the test's affair.
            let _ = match arrival.to {
                Some(from) => socket.send_from(&answer, from, arrival.from),
                None => socket.send_to(&answer, arrival.from),
            };
        }
    }
    Ok(answered)
}
