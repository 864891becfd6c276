//! The process that moves packets: one thread, one loop.
//!
//! Started by the supervisor with the configuration on its standard input; tells it over its
//! standard output, a line each: `ready: how packets are taken`, `beat` every 100 ms, `note: a line of the log`, or
//! `failed: why` before it ends (`alone: why` if it could work but for the one before).
//!
//! An *heir* takes the place of a worker that runs ([`super::estate`]). It opens all that it needs first, says `prepared`, and
//! begins when the one before has left what it held and stopped.

use super::bare::bounce;
use super::burden::Burden;
use super::config::{Config, Role};
use super::confine::{self, Confinement};
use super::control::{ControlChannel, ControlSocket, Introduction, Session, Setup};
use super::divert::{Devices, Diversion, DivertError, Lock, Wanted};
use super::estate::{self, Estate};
use super::hops::{Hops, control_name};
use super::news::News;
use super::orders::{Inbox, Order, Orders};
use super::predecessor;
use super::reload::Reloads;
use super::renewal::Renewal;
use super::runtime::Runtime;
use super::scheme::{self, Scheme};
use super::setups::{SetupError, setups};
use super::status::{Identity, OpenError, Status, StatusServer};
use super::wifi::Air;
use crate::device::{DeviceGone, TunDevice};
use crate::notice::{Notice, What};
use crate::sys::descriptors;
use crate::sys::poll::PollSet;
use crate::sys::process::{Signals, set_nonblocking};
use crate::sys::{clock, entropy, sched};
use airtcp_core::initial_sequence::InitialSequences;
use airtcp_core::{Duration, Instant, Legacy, Rate, Rng, Traffic};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;

pub use super::orders::Mode;
pub use super::renewal::MakeElement;

/// Between two signs of life, to the supervisor and to the kernel.
pub const BEAT_INTERVAL: Duration = Duration::from_millis(100);
/// How long a gateway that ends waits for its element to release held packets.
const DRAIN: Duration = Duration::from_millis(500);
/// Packets the bare loop moves before it looks up.
const BARE_BATCH: usize = 64;

/// Why a worker ended.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The orders are not understood.
    #[error("the worker is started by `airtcp gateway`, not by hand ({0})")]
    Orders(String),
    /// The scheme refused its settings.
    #[error("{0}")]
    Scheme(String),
    /// A key cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The control socket could not be opened.
    #[error("control messages cannot be received at {address}: {source}; set another `listen`")]
    Control {
        /// Where.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody could ask for the status.
    #[error(transparent)]
    Status(#[from] OpenError),
    /// Traffic could not be diverted.
    #[error(transparent)]
    Divert(#[from] DivertError),
    /// A device went away.
    #[error(transparent)]
    Device(#[from] DeviceGone),
    /// The one before did not hand over.
    #[error("the place of the worker that runs cannot be taken: {0}")]
    Estate(io::Error),
    /// The nft table went away.
    #[error("the nft table was lost: the `nft` process that holds it ended")]
    TableLost,
    /// The system refused something that never fails in practice.
    #[error("the packet loop cannot go on: {0}")]
    System(#[from] io::Error),
}

/// Tells the supervisor; never waits for it.
struct Reporter(File);

impl Reporter {
    fn new() -> io::Result<Reporter> {
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        set_nonblocking(output.as_fd())?;
        Ok(Reporter(output.into()))
    }

    fn note(&mut self, notice: &Notice) {
        self.say(&format!("note: {notice}"));
    }

    /// The gateway has less than it should have.
    fn limited(&mut self, text: String) {
        self.note(&Notice::warning(What::Limited, text));
    }

    /// False when the supervisor is gone. A full pipe means that it is stopped: no harm.
    fn say(&mut self, line: &str) -> bool {
        match self.0.write_all(format!("{line}\n").as_bytes()) {
            Err(error) => error.kind() == ErrorKind::WouldBlock,
            Ok(()) => true,
        }
    }
}

/// The whole worker process, for the binary's hidden argument. Call it on the main thread (the
/// kernel ends the nft holder with the thread that started it).
///
/// # Errors
/// Why it ended; also reported to the supervisor.
pub fn main(make: MakeElement<'_>) -> Result<(), WorkerError> {
    let signals = Signals::collect()?;
    let mut reporter = Reporter::new()?;
    let mut inbox = Inbox::open()?;
    let orders = match inbox.take() {
        Ok(Some(Order::Start(orders))) => Ok((orders, Estate::default())),
        Ok(Some(Order::Inherit(orders, socket))) => {
            let estate = descriptors::adopt(socket).and_then(Estate::receive);
            estate.map(|estate| (orders, estate)).map_err(WorkerError::Estate)
        }
        Ok(_) => Err(WorkerError::Orders("there are no orders".into())),
        Err(error) => Err(WorkerError::Orders(error.to_string())),
    };
    let result = orders.and_then(|(orders, estate)| run(&orders, estate, make, &signals, &mut reporter, inbox));
    if let Err(error) = &result {
        // What an heir lacks it could make itself, were it alone.
        let word = if matches!(error, WorkerError::Estate(_)) { "alone" } else { "failed" };
        reporter.say(&format!("{word}: {error}"));
    }
    result
}

fn run(
    orders: &Orders,
    mut estate: Estate,
    make: MakeElement<'_>,
    signals: &Signals,
    reporter: &mut Reporter,
    inbox: Inbox,
) -> Result<(), WorkerError> {
    let config = &orders.config;
    let started = clock::now();
    // Everything that can be refused comes before the first change to the machine.
    let peers = config.each_peer();
    let schemes = match orders.mode {
        Mode::Scheme => peers.iter().map(make).collect::<Result<Vec<_>, _>>().map_err(WorkerError::Scheme)?,
        Mode::Bare => Vec::new(),
    };
    // All peers have the scheme and its settings in common.
    let traffic = schemes.first().map_or(Traffic::All, |scheme| scheme.element.traffic());
    let mode = schemes.first().map_or("", |scheme| &scheme.mode);
    let introduction = Introduction::new(&config.scheme, mode, traffic);
    // Another gateway on this link would be in the way of all that follows.
    let lock = Lock::link(&config.link, &mut estate)?;
    let (control, channels) = open_control(config, setups(config, &introduction)?, &mut estate)?;
    let mut status = StatusServer::open(&config.run_directory, &config.name, config.metrics, &mut estate)?;
    let own: Vec<_> = schemes.iter().map(|scheme| scheme.element.own_segments()).collect();
    let (mut diversion, devices) = Diversion::start(config, &own, lock, &mut estate).map_err(|error| match error {
        DivertError::NoPrograms { reason, .. } if estate.is_inherited() => {
            WorkerError::Estate(io::Error::other(reason))
        }
        error => error.into(),
    })?;
    let air = open_air(config, &diversion)?;
    be_quick(config, reporter);
    let devices = devices.into_iter().map(|Devices { out, r#in }| [TunDevice::new(out), TunDevice::new(r#in)]);
    let mut beat = Beat { reporter, due: Instant::ZERO };
    if orders.mode == Mode::Bare {
        beat.begin(&diversion);
        return bare(devices.flatten().collect(), &peers, &mut diversion, signals, &mut beat);
    }
    let mut hops = make_hops(config, schemes, devices, channels, (control, air))?;
    if estate.is_inherited() && !take_over(estate, config, &mut hops, &mut diversion, signals, &mut beat)? {
        return Ok(());
    }
    let (restarts, reloads) = (orders.restarts, orders.reloads.clone());
    let confinement = beat.begin(&diversion);
    let mut identity = Identity { config: config.clone(), started, restarts, reloads, confinement };
    let mut desk = Desk { inbox, renewal: Renewal { make, introduction, own } };
    match work(&mut hops, &mut diversion, &mut status, (&mut identity, &mut desk), signals, &mut beat)? {
        Ending::Requested => {
            diversion.stop();
            drain(&mut hops, true)
        }
        Ending::Yielded => {
            let legacies = hops.close();
            if hops.held() > 0 {
                drain(&mut hops, false)?;
            }
            status.leave();
            desk.leave(&identity.config, &hops, &legacies)
        }
    }
}

/// Waits until the one before has stopped, and takes its place. False if the end was requested meanwhile.
fn take_over(
    estate: Estate,
    config: &Config,
    hops: &mut Hops,
    diversion: &mut Diversion,
    signals: &Signals,
    beat: &mut Beat<'_>,
) -> Result<bool, WorkerError> {
    beat.reporter.say("prepared");
    let mut set = PollSet::new();
    loop {
        set.clear();
        let signal_slot = set.add_readable(signals.as_fd());
        let turn_slot = estate.fd().map(|fd| set.add_readable(fd));
        set.wait(None)?;
        if set.is_ready(signal_slot) && signals.take().end {
            return Ok(false);
        }
        if turn_slot.is_none_or(|slot| set.is_ready(slot)) {
            break;
        }
    }
    let (words, mut legacies) = estate.last_words().map_err(WorkerError::Estate)?;
    for (hop, name) in hops.iter_mut().zip(config.peer_names()) {
        let name = name.unwrap_or_default();
        if let Some(known) = words.peers.get(name) {
            hop.resume(known);
        }
        hop.inherit(legacies.remove(name).unwrap_or_default());
    }
    // The programs know what to take before they come into their places.
    let wanted = |now| hops.iter().map(|hop| wanted_of(hop, now, &mut Burden::default())).collect();
    beat.on_time(diversion, || hops.addresses(), wanted)?;
    diversion.take_over()?;
    Ok(true)
}

/// One hop for each peer.
fn make_hops(
    config: &Config,
    schemes: Vec<Scheme>,
    devices: impl Iterator<Item = [TunDevice; 2]>,
    channels: Vec<ControlChannel>,
    (control, mut air): (Option<ControlSocket>, Option<Air>),
) -> Result<Hops, WorkerError> {
    let seed = config.seed.unwrap_or_else(scheme::unguessable);
    let mut channels = channels.into_iter();
    let mut hops = Vec::with_capacity(schemes.len());
    for ((scheme, devices), peer) in schemes.into_iter().zip(devices).zip(config.peer_names()) {
        let stream = peer.map_or_else(|| config.scheme.clone(), |name| format!("{} {name}", config.scheme));
        let sequences = InitialSequences::new(&entropy::bytes()?);
        let hop = Runtime::new(scheme, Rng::derive(seed, &stream), sequences, devices, channels.next());
        let hop = config.role.into_iter().fold(hop, Runtime::with_watch);
        hops.push(air.take().into_iter().fold(hop, Runtime::with_air));
    }
    let mut hops = Hops::new(hops, control);
    if let Some(bps) = config.shared_rate_bps {
        // As much again as the peer's tables.
        hops.share(Rate::from_bps(bps), config.max_memory_bytes / config.peers.len() as u64);
    }
    Ok(hops)
}

/// The way over the air, of a station.
fn open_air(config: &Config, diversion: &Diversion) -> Result<Option<Air>, WorkerError> {
    match diversion.headers()? {
        Some(headers) if config.role == Some(Role::Station) => Ok(Some(Air::open(&config.link, headers)?)),
        _ => Ok(None),
    }
}

/// The control socket and a channel for each peer, if there are peers.
fn open_control(
    config: &Config,
    setups: Vec<Setup>,
    estate: &mut Estate,
) -> Result<(Option<ControlSocket>, Vec<ControlChannel>), WorkerError> {
    let Some(listen) = config.listen_address().filter(|_| !setups.is_empty()) else {
        return Ok((None, Vec::new()));
    };
    let mut sessions = Vec::with_capacity(setups.len());
    for setup in setups {
        sessions.push((setup, entropy::bytes()?));
    }
    let in_use = |error: &io::Error| error.kind() == ErrorKind::AddrInUse;
    let session = |(setup, entropy): &(Setup, [u8; 32])| Session::new(setup.clone(), *entropy);
    let mut handed_over = estate.take(&control_name(listen));
    let open = || ControlSocket::open(listen, &config.link, handed_over.take(), sessions.iter().map(session));
    predecessor::wait_out(in_use, open)
        .map(|(socket, channels)| (Some(socket), channels))
        .map_err(|source| WorkerError::Control { address: listen.to_string(), source })
}

/// Real-time priority and exact timers, where they are allowed. A machine that has one core only would do nothing else
/// while packets come faster than they can be handled, so there the gateway takes its turn with others.
fn be_quick(config: &Config, reporter: &mut Reporter) {
    if let Err(error) = sched::set_exact_timers() {
        reporter.limited(format!("timers may be late: {error}"));
    }
    let Some(priority) = config.realtime else { return };
    if sched::cores() == 1 {
        reporter.limited("no real-time priority, as there is one core only: packets may wait 3 to 5 ms more".into());
    } else if let Err(error) = sched::set_fifo(priority) {
        reporter.limited(format!("no real-time priority ({error}): packets may wait 3 to 5 ms more"));
    }
}

/// Signs of life to the supervisor and the kernel.
struct Beat<'a> {
    reporter: &'a mut Reporter,
    due: Instant,
}

impl Beat<'_> {
    /// All is open: gives up what is not needed for that, and says that packets are taken.
    fn begin(&mut self, diversion: &Diversion) -> Confinement {
        let confinement = confine::worker(diversion.method());
        confinement.failed.iter().for_each(|failed| self.reporter.limited(failed.clone()));
        self.reporter.say(&format!("ready: {}", diversion.method()));
        confinement
    }

    /// Beats if it is time; false when the supervisor is gone. What is wanted of each peer's packets is diverted until the
    /// next beat.
    fn on_time(
        &mut self,
        diversion: &mut Diversion,
        addresses: impl FnOnce() -> Vec<Option<IpAddr>>,
        wanted: impl FnOnce(Instant) -> Vec<Wanted>,
    ) -> Result<bool, WorkerError> {
        let now = clock::now();
        if now < self.due {
            return Ok(true);
        }
        self.due = now + BEAT_INTERVAL;
        diversion.beat(now, &wanted(now), &addresses())?;
        Ok(self.reporter.say("beat"))
    }

    /// Says what is new of the peers and of the links to them.
    fn note(&mut self, news: &mut [News], identity: &Identity, hops: &Hops, diversion: &Diversion) {
        let now = clock::now();
        for (index, (hop, news)) in hops.iter().zip(news).enumerate() {
            let peer = identity.describe_peer(index, hop);
            let of_peer = hop.peer_state().zip(peer.as_deref());
            let of_peer = of_peer.and_then(|(state, peer)| news.of_peer(now, peer, &state));
            let advice = diversion.advice(index).or_else(|| hop.advice());
            let of_link = news.of_link(now, identity.peer_name(index), advice);
            of_peer.into_iter().chain(of_link).for_each(|notice| self.reporter.note(&notice));
        }
    }

    fn until(&self) -> Duration {
        self.due.saturating_since(clock::now())
    }
}

/// Where orders come in, and what it takes to obey them.
struct Desk<'a> {
    inbox: Inbox,
    renewal: Renewal<'a>,
}

impl Desk<'_> {
    /// Obeys all orders that came; true if the heir is to go on.
    fn attend(
        &mut self,
        identity: &mut Identity,
        hops: &mut Hops,
        (diversion, status): (&Diversion, &StatusServer),
        reporter: &mut Reporter,
    ) -> Result<bool, WorkerError> {
        while let Some(order) = self.inbox.take().map_err(|error| WorkerError::Orders(error.to_string()))? {
            match order {
                Order::Lend => self.lend(&identity.config, hops, diversion, status)?,
                Order::Yield => return Ok(true),
                Order::Adopted => (identity.restarts, identity.reloads) = (0, Reloads::default()),
                Order::Start(_) | Order::Inherit(..) => {}
                Order::Told(reloads) => identity.reloads = reloads,
                Order::Reload(config) => {
                    let answer = self.renewal.obey(*config, identity, hops);
                    reporter.say(&answer);
                }
            }
        }
        Ok(false)
    }

    /// Lends all that is open to the heir; nothing where its programs could not take the places of ours.
    fn lend(
        &self,
        config: &Config,
        hops: &Hops,
        diversion: &Diversion,
        status: &StatusServer,
    ) -> Result<(), WorkerError> {
        let mut things = diversion.lend();
        if !things.is_empty() {
            things.extend(hops.lend(config.listen_address()));
            things.extend(status.lend(config.metrics));
        }
        estate::lend(self.inbox.socket(), &things).map_err(WorkerError::Estate)
    }

    /// Says to the heir that all is its own, what is known, and what the element of each peer leaves.
    fn leave(&self, config: &Config, hops: &Hops, legacies: &[Legacy]) -> Result<(), WorkerError> {
        let names = config.peer_names().into_iter().map(|name| name.unwrap_or_default().to_owned());
        let known = names.clone().zip(hops.iter().map(Runtime::known)).collect();
        estate::leave(self.inbox.socket(), known, names.zip(legacies)).map_err(WorkerError::Estate)
    }
}

/// Why the packet loop ended.
enum Ending {
    /// The end was requested, or the supervisor is gone.
    Requested,
    /// An heir goes on.
    Yielded,
}

/// The packet loop, until the end is requested or an heir is to go on.
fn work(
    hops: &mut Hops,
    diversion: &mut Diversion,
    status: &mut StatusServer,
    (identity, desk): (&mut Identity, &mut Desk<'_>),
    signals: &Signals,
    beat: &mut Beat<'_>,
) -> Result<Ending, WorkerError> {
    if let Some(fd) = desk.inbox.fd() {
        set_nonblocking(fd)?;
    }
    let mut set = PollSet::new();
    let mut burdens: Vec<Burden> = hops.iter().map(|_| Burden::default()).collect();
    let mut news: Vec<News> = hops.iter().map(|_| News::new(clock::now())).collect();
    loop {
        set.clear();
        let signal_slot = set.add_readable(signals.as_fd());
        let table_slot = diversion.watch().map(|fd| set.add_readable(fd));
        let order_slot = desk.inbox.fd().map(|fd| set.add_readable(fd));
        let slots = hops.add_to(&mut set);
        let status_slots: Vec<_> = status.fds().map(|fd| set.add_readable(fd)).collect();
        let idle = hops.until_timeout().map_or(beat.until(), |due| due.min(beat.until()));
        set.wait(Some(if hops.has_more() { Duration::ZERO } else { idle }))?;

        hops.handle_ready(&set, &slots)?;
        for (peer, burden) in burdens.iter_mut().enumerate() {
            if burden.look(clock::now(), clock::used_by_thread) && diversion.takes(peer) == Wanted::All {
                beat.due = Instant::ZERO;
            }
        }
        let is_beat = beat.until().is_zero();
        let wanted = |now| hops.iter().zip(&mut burdens).map(|(hop, burden)| wanted_of(hop, now, burden)).collect();
        if !beat.on_time(diversion, || hops.addresses(), wanted)? {
            return Ok(Ending::Requested);
        }
        if is_beat {
            beat.note(&mut news, identity, hops, diversion);
        }
        if is_beat || status_slots.iter().any(|slot| set.is_ready(*slot)) {
            status.serve(clock::now(), || Status::of(identity, hops, diversion));
        }
        if order_slot.is_some_and(|slot| set.is_ready(slot))
            && desk.attend(identity, hops, (diversion, status), beat.reporter)?
        {
            return Ok(Ending::Yielded);
        }
        if set.is_ready(signal_slot) && signals.take().end {
            return Ok(Ending::Requested);
        }
        if table_slot.is_some_and(|slot| set.is_broken(slot)) {
            return Err(WorkerError::TableLost);
        }
    }
}

/// What is to be diverted for a hop.
fn wanted_of(hop: &Runtime, now: Instant, burden: &mut Burden) -> Wanted {
    if hop.is_in_reach() { burden.wanted(now, hop.traffic()) } else { Wanted::Nothing }
}

/// After diverting has stopped: passes on the packets that the elements hold, and those in the devices if nobody else will.
fn drain(hops: &mut Hops, is_the_last: bool) -> Result<(), WorkerError> {
    let deadline = clock::now() + DRAIN;
    loop {
        hops.handle_control()?;
        // While an element changes, nothing is read of what is to leave.
        let is_unread = is_the_last && hops.is_changing();
        let more = hops.handle_packets()? || is_unread;
        hops.handle_timeouts();
        let now = clock::now();
        if (!more && hops.held() == 0) || now >= deadline {
            hops.release_all();
            return Ok(());
        }
        let mut set = PollSet::new();
        let _ = hops.add_to(&mut set);
        let tick = Duration::from_millis(10).min(deadline.saturating_since(now));
        set.wait(Some(hops.until_timeout().map_or(tick, |due| due.min(tick))))?;
    }
}

fn bare(
    mut devices: Vec<TunDevice>,
    peers: &[Config],
    diversion: &mut Diversion,
    signals: &Signals,
    beat: &mut Beat<'_>,
) -> Result<(), WorkerError> {
    let mut set = PollSet::new();
    loop {
        set.clear();
        let signal_slot = set.add_readable(signals.as_fd());
        let table_slot = diversion.watch().map(|fd| set.add_readable(fd));
        for device in &devices {
            set.add_readable(device.as_fd());
        }
        set.wait(Some(beat.until()))?;
        for device in &mut devices {
            bounce(device, BARE_BATCH)?;
        }
        let addresses = || peers.iter().map(|peer| peer.peer.map(|peer| peer.ip())).collect();
        let alive = beat.on_time(diversion, addresses, |_| vec![Wanted::All; peers.len()])?;
        if !alive || (set.is_ready(signal_slot) && signals.take().end) {
            return Ok(());
        }
        if table_slot.is_some_and(|slot| set.is_broken(slot)) {
            return Err(WorkerError::TableLost);
        }
    }
}
