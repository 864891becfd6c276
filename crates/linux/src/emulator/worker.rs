//! The emulator's thread: wait, take packets from devices, release those that are due.

use super::direction::Direction;
use super::passage::Passages;
use super::report::{EmulatorReport, ReleaseError};
use super::{EmulatorOptions, LinkDevices};
use crate::sys::event::Event;
use crate::sys::poll::{PollSet, Slot};
use crate::sys::tun::Tun;
use crate::sys::{clock, sched};
use airtcp_core::{Duration, Instant};
use airtcp_link::LinkSettings;
use bytes::{Bytes, BytesMut};
use hdrhistogram::Histogram;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

/// Packets taken from one device before the others get their turn and releases are looked at.
const BATCH: usize = 16;

/// Packets are read into pieces of blocks this long, so that one allocation serves many.
const BLOCK: usize = 256 * 1024;

/// Latest release that the histogram tells apart from later ones.
const HISTOGRAM_MAX_NS: u64 = 60_000_000_000;

pub(super) enum Command {
    Restart { seed: u64, settings: Option<Vec<[LinkSettings; 2]>>, warmup: Duration, reply: SyncSender<Instant> },
    Report(SyncSender<EmulatorReport>),
    Stop,
}

/// A device, the direction that starts there, and the device where it ends.
struct Path {
    from: usize,
    to: usize,
    direction: Direction,
    slot: Option<Slot>,
    /// There may be more to take: the last turn stopped at the batch size.
    readable: bool,
}

pub(super) struct Worker {
    devices: Vec<Tun>,
    paths: Vec<Path>,
    options: EmulatorOptions,
    commands: Receiver<Command>,
    wake: Arc<Event>,
    origin: Instant,
    histogram: Histogram<u64>,
    passages: Passages,
    block: BytesMut,
    core: Option<usize>,
    priority: Option<u8>,
    notes: Vec<String>,
}

impl Worker {
    pub fn new(
        links: Vec<LinkDevices>,
        options: EmulatorOptions,
        commands: Receiver<Command>,
        wake: Arc<Event>,
    ) -> Self {
        let mut devices = Vec::new();
        let mut paths = Vec::new();
        for link in links {
            let first = devices.len();
            devices.extend(link.ends);
            let [near, far] = link.addresses;
            let ends = [(near.clone(), far.clone()), (far, near)];
            let ways = ["forward", "reverse"].into_iter().zip(ends).zip(link.settings);
            for (index, ((way, ends), settings)) in ways.enumerate() {
                let name = format!("links.{}.{way}", link.name);
                let direction = Direction::new(name, ends, settings, options.seed);
                let (from, to) = (first + index, first + 1 - index);
                paths.push(Path { from, to, direction, slot: None, readable: false });
            }
        }
        let histogram =
            Histogram::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).expect("bounds and precision are constants in range");
        Worker {
            devices,
            paths,
            options,
            commands,
            wake,
            origin: clock::now(),
            histogram,
            passages: Passages::new(Instant::ZERO),
            block: BytesMut::new(),
            core: None,
            priority: None,
            notes: Vec::new(),
        }
    }

    /// Carries packets until told to stop.
    pub fn run(mut self) {
        self.take_place();
        let mut set = PollSet::new();
        loop {
            let more = self.turn();
            if self.wake.take() && self.obey() {
                return;
            }
            if more {
                continue;
            }
            if let Err(error) = self.sleep(&mut set) {
                tracing::error!("link emulator stopped: ppoll: {error}");
                return;
            }
        }
    }

    /// Gets the thread the place it needs; what is refused is noted and done without.
    fn take_place(&mut self) {
        let core = self.options.core.or_else(last_core);
        let mut note = |what: &str, result: io::Result<()>| match result {
            Ok(()) => true,
            Err(error) => {
                self.notes.push(format!("link emulator: {what} refused ({error}); releases may be late"));
                false
            }
        };
        if let Some(core) = core
            && note("staying on one core", sched::pin_to_core(core))
        {
            self.core = Some(core);
        }
        if note("SCHED_FIFO", sched::set_fifo(self.options.priority)) {
            self.priority = Some(self.options.priority);
        }
        note("exact timers", sched::set_exact_timers());
        note("locked memory", sched::lock_memory());
    }

    fn now(&self) -> Instant {
        self.since_origin(clock::now())
    }

    fn since_origin(&self, time: Instant) -> Instant {
        Instant::from_nanos(time.saturating_since(self.origin).as_nanos())
    }

    /// Takes a batch from every device that has something and releases what is due. True if
    /// there is more to do at once.
    fn turn(&mut self) -> bool {
        let mut more = false;
        for index in 0..self.paths.len() {
            if self.paths[index].readable {
                self.take_batch(index);
                more |= self.paths[index].readable;
                self.release_due();
            }
        }
        self.release_due();
        more
    }

    fn take_batch(&mut self, index: usize) {
        for _ in 0..BATCH {
            match self.take_packet(index) {
                Some(datagram) => {
                    let now = self.now();
                    self.paths[index].direction.accept(now, datagram, &mut self.passages);
                }
                None => {
                    self.paths[index].readable = false;
                    return;
                }
            }
        }
    }

    fn take_packet(&mut self, index: usize) -> Option<Bytes> {
        const LARGEST: usize = crate::sys::tun::DATAGRAM_MAX;
        if self.block.len() < LARGEST {
            // Pieces still in flight keep the old block alive.
            self.block = BytesMut::zeroed(BLOCK);
        }
        let device = &self.devices[self.paths[index].from];
        // An error means "nothing now" or "device down"; a down device is not readable again
        // before it is up.
        let len = device.receive(&mut [IoSliceMut::new(&mut self.block[..LARGEST])]).ok()?;
        Some(self.block.split_to(len).freeze())
    }

    fn release_due(&mut self) {
        for index in 0..self.paths.len() {
            loop {
                let now = self.now();
                let path = &mut self.paths[index];
                let Some((datagram, late)) = path.direction.release(now, &mut self.passages) else { break };
                if self.devices[path.to].send(&[IoSlice::new(&datagram)]).is_err() {
                    path.direction.on_refused(datagram.len());
                }
                self.histogram.saturating_record(late.as_nanos());
            }
        }
    }

    /// Sleeps until a device has something, a packet is due or has its turn, or a command comes.
    fn sleep(&mut self, set: &mut PollSet) -> io::Result<()> {
        set.clear();
        set.add_readable(self.wake.as_fd());
        for path in &mut self.paths {
            path.slot = Some(set.add_readable(self.devices[path.from].as_fd()));
        }
        let next = self.paths.iter().filter_map(|path| path.direction.next_event()).min();
        let timeout = next.map(|next| next.saturating_since(self.now()));
        if timeout == Some(Duration::ZERO) {
            return Ok(());
        }
        set.wait(timeout)?;
        for path in &mut self.paths {
            path.readable = path.slot.is_some_and(|slot| set.is_ready(slot));
        }
        Ok(())
    }

    /// Does what was asked meanwhile; true if that was to stop. An answer that nobody waits for
    /// any more is no concern of this thread.
    fn obey(&mut self) -> bool {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Stop => return true,
                Command::Report(reply) => {
                    let _ = reply.send(self.report());
                }
                Command::Restart { seed, settings, warmup, reply } => {
                    self.restart(seed, settings, warmup);
                    let _ = reply.send(self.origin);
                }
            }
        }
        false
    }

    fn restart(&mut self, seed: u64, settings: Option<Vec<[LinkSettings; 2]>>, warmup: Duration) {
        for index in 0..self.paths.len() {
            // Packets of the run before are in nobody's account any more.
            while self.take_packet(index).is_some() {}
        }
        let mut settings = settings.into_iter().flatten().flatten();
        for path in &mut self.paths {
            path.direction.restart(settings.next(), seed);
            path.readable = false;
        }
        self.histogram.reset();
        self.passages = Passages::new(Instant::ZERO + warmup);
        self.origin = clock::now();
    }

    fn report(&self) -> EmulatorReport {
        EmulatorReport {
            directions: self.paths.iter().map(|path| path.direction.report()).collect(),
            release_error: ReleaseError::of(&self.histogram),
            passages: self.passages.report(),
            core: self.core,
            priority: self.priority,
            notes: self.notes.clone(),
        }
    }
}

/// The last core this process may use; interrupts and other work tend to the first.
fn last_core() -> Option<usize> {
    std::thread::available_parallelism().ok().map(|cores| cores.get() - 1)
}
