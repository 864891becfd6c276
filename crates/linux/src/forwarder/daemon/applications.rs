//! The applications' side of a forwarder: whom it takes, whom it connects to, and what moves.

use super::{ACCEPTS, Daemon, token_of};
use crate::forwarder::LineKey;
use crate::forwarder::application::App;
use crate::forwarder::config::Forward;
use crate::forwarder::opening::{Host, Opening};
use crate::forwarder::pump::{Left, Pump, errno};
use crate::forwarder::resolver::Asked;
use crate::sys::epoll::Ready;
use airtcp_core::Instant;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};

impl Daemon {
    pub(super) fn handle_app(&mut self, now: Instant, key: LineKey, event: Ready) {
        let Some(app) = self.apps.get_mut(&key) else { return };
        let error = if event.is_broken || app.pump.is_none() { app.socket.error() } else { None };
        if let Some(error) = error {
            return self.app_failed(now, key, error);
        }
        match &mut app.pump {
            Some(pump) => pump.ready(event.to_read, event.to_write),
            None if event.to_write => {
                app.pump = Some(Pump::default());
                app.pump.iter_mut().for_each(|pump| pump.ready(true, true));
                self.exchange.opened(key);
            }
            None => return,
        }
        self.pump(now, key);
    }

    /// An application's socket broke, or nobody took its connection.
    pub(super) fn app_failed(&mut self, now: Instant, key: LineKey, error: io::Error) {
        let Some(app) = self.apps.remove(&key) else { return };
        self.forget(key);
        if app.pump.is_some() {
            return self.exchange.close(now, key, errno(error));
        }
        match App::connect(app.others, app.source) {
            Ok(next) => self.keep(now, key, next),
            Err(_) => {
                self.counts.refused_by_host += 1;
                self.exchange.close(now, key, errno(error));
            }
        }
    }

    pub(super) fn forget(&mut self, key: LineKey) {
        self.awaited.remove(&key);
        self.short.remove(&key);
        self.resolving.remove(&key);
    }

    pub(super) fn keep(&mut self, now: Instant, key: LineKey, app: App) {
        if let Err(error) = self.set.add_changes(app.socket.fd(), token_of(key)) {
            return self.exchange.close(now, key, errno(error));
        }
        self.apps.insert(key, app);
    }

    pub(super) fn accept(&mut self, now: Instant, index: usize) {
        for _ in 0..ACCEPTS {
            let Some((listener, forward)) = self.listeners.get(index) else { return };
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                // Without descriptors the others wait in the kernel.
                Err(_) => return,
            };
            self.counts.accepted += 1;
            let forward = forward.clone();
            // Whatever is refused is reset: that is what closing does.
            let Some(opening) = opening_for(&forward, &stream) else { continue };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if !self.association.is_ready() {
                self.counts.refused_peer += 1;
                continue;
            }
            let Ok(key) = self.exchange.open(now, &opening) else { continue };
            self.keep(now, key, App::accepted(stream));
        }
    }

    /// The peer asks for a connection.
    pub(super) fn asked(&mut self, now: Instant, key: LineKey, opening: Opening) {
        let Opening { host, port, source } = opening;
        if !self.config.allow.iter().any(|allowed| allowed.includes(&host, port)) {
            self.counts.refused_not_allowed += 1;
            return self.exchange.close(now, key, libc::EACCES as u16);
        }
        let source = source.filter(|_| self.config.keep_source);
        match host {
            Host::Address(address) => self.connect(now, key, [SocketAddr::new(address, port)].into(), source),
            Host::Name(name) => match self.resolver.ask(key, name, port) {
                Some(asked) => drop(self.resolving.insert(key, (asked.number, source))),
                None => self.exchange.close(now, key, libc::EAGAIN as u16),
            },
        }
    }

    pub(super) fn take_answers(&mut self, now: Instant) {
        while let Some((Asked { key, number }, found)) = self.resolver.answer() {
            // What another connection or another life of the peer asked for, under the same key, is nobody's.
            let Some((_, source)) = self.resolving.get(&key).copied().filter(|(asked, _)| *asked == number) else {
                continue;
            };
            self.resolving.remove(&key);
            if key.stream_place().is_some() {
                self.lead(key, found.unwrap_or_default());
                continue;
            }
            match found {
                Ok(addresses) => self.connect(now, key, addresses, source),
                Err(_) => {
                    self.counts.refused_by_host += 1;
                    self.exchange.close(now, key, libc::EHOSTUNREACH as u16);
                }
            }
        }
    }

    pub(super) fn connect(&mut self, now: Instant, key: LineKey, to: VecDeque<SocketAddr>, source: Option<SocketAddr>) {
        match App::connect(to, source) {
            Ok(app) => self.keep(now, key, app),
            Err(error) => {
                self.counts.refused_by_host += 1;
                self.exchange.close(now, key, errno(error));
            }
        }
    }

    pub(super) fn pump(&mut self, now: Instant, key: LineKey) {
        let most = self.exchange.may_read(key);
        let Some(app) = self.apps.get_mut(&key) else { return };
        let (Some(pump), Some(line)) = (&mut app.pump, self.exchange.line(key)) else { return };
        let result = pump.run(line, &mut app.socket, most);
        self.exchange.touched(key);
        let Left { has_more, awaits_acknowledgment } = match result {
            Ok(left) => left,
            Err(errno) => {
                self.apps.remove(&key);
                self.forget(key);
                return self.exchange.close(now, key, errno);
            }
        };
        if has_more {
            self.more.push_back(key);
        }
        if awaits_acknowledgment {
            self.awaited.insert(key)
        } else {
            self.awaited.remove(&key)
        };
        if most < usize::MAX {
            self.short.insert(key)
        } else {
            self.short.remove(&key)
        };
    }
}

/// Where a connection that was taken is to lead.
fn opening_for(forward: &Forward, stream: &TcpStream) -> Option<Opening> {
    let source = if forward.keep_source { Some(stream.peer_addr().ok()?) } else { None };
    let (host, port) = match &forward.to {
        Some(to) => to.clone(),
        None => {
            let wanted = stream.local_addr().ok()?;
            (Host::Address(wanted.ip()), wanted.port())
        }
    };
    Some(Opening { host, port, source })
}
