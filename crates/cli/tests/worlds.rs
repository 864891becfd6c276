//! One script in both worlds, the simulator and the gateway's runtime: the same packets lead to the same order of
//! reports, the same counts, and control messages of the size that the world states.

use airtcp_core::initial_sequence::InitialSequences;
use airtcp_core::packet::protocol;
use airtcp_core::parameters::Parameters;
use airtcp_core::{
    Context, CreateReason, DropReason, Duration, Element, Event, Instant, Packet, Peer, Port, Rng, Token, Traffic,
    TxStatus, parameters,
};
use airtcp_link::LinkSettings;
use airtcp_linux::device::TunDevice;
use airtcp_linux::gateway::control::{ControlSocket, HOP_LIMIT, Introduction, Origin, Secret, Session, Setup};
use airtcp_linux::gateway::hops::Hops;
use airtcp_linux::gateway::runtime::Runtime;
use airtcp_linux::gateway::scheme::Scheme;
use airtcp_linux::sys::clock;
use airtcp_linux::sys::tun::Tun;
use airtcp_schemes::{End, Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_sim::{Direction, Flow, RunSettings, Tap, Topology};
use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;

const ENTRY: SchemeEntry = SchemeEntry {
    slug: "script",
    about: "Sends everything tracked and twice, with a message beside it",
    source: "this test",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

parameters! {
    /// The script's settings.
    struct Settings {
        /// How often each packet is sent.
        copies: u64 = 3, "this test";
    }
}

airtcp_core::declare! { Event, EVENTS:
    /// A packet was to leave through the link.
    LEAVING = "leaving",
    /// The fate of a packet was told.
    TOLD = "told",
}

/// What the script saw and did, beside what its world counts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Log {
    /// Packets that were to leave through the link, as they stand on the wire.
    leaving: Vec<Vec<u8>>,
    /// Reports on tracked packets, in the order in which they came.
    told: Vec<Token>,
    /// Bytes that each message was said to take.
    charged: Vec<u32>,
}

thread_local! {
    /// Of the near end that runs on this thread; a line in the table of schemes holds no closure.
    static LOG: RefCell<Log> = RefCell::default();
}

/// The near end follows the script, the far end passes everything on.
struct Script {
    is_near: bool,
    copies: u64,
    packets: u64,
}

fn make(settings: &Settings, site: &mut Site<'_>) -> Made {
    Ok(Box::new(Script { is_near: site.end == End::Near, copies: settings.copies, packets: 0 }))
}

impl Script {
    fn say(cx: &mut Context<'_>, bytes: usize) {
        let charged = cx.send_control(Peer::OTHER_END, &vec![7; bytes]);
        LOG.with_borrow_mut(|log| log.charged.push(charged));
    }
}

impl Element for Script {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if !self.is_near || port == Port::LINK {
            return cx.send(port.opposite(), packet);
        }
        LOG.with_borrow_mut(|log| log.leaving.push(packet.to_wire().to_vec()));
        cx.emit(LEAVING);
        let number = self.packets;
        self.packets += 1;
        for token in self.copies * number..self.copies * (number + 1) {
            let copy = cx.duplicate(&packet, CreateReason::REPAIR);
            cx.send_tracked(Port::LINK, copy, Token(token)).expect("the link takes everything");
        }
        Script::say(cx, 10 * number as usize);
        cx.discard(packet, DropReason::DUPLICATE);
    }

    fn handle_tx_status(&mut self, cx: &mut Context<'_>, status: TxStatus) {
        LOG.with_borrow_mut(|log| log.told.push(status.token));
        cx.emit(TOLD);
        if status.token.0.is_multiple_of(5) {
            Script::say(cx, 100);
        }
    }
}

/// What a world shows from outside.
#[derive(Debug, Default, PartialEq)]
struct World {
    log: Log,
    /// IP bytes of the messages that left.
    messages: Vec<u32>,
    events: Vec<(Event, u64)>,
    discarded: Vec<(DropReason, u64)>,
}

impl Tap for World {
    fn on_sent(&mut self, _: Instant, direction: Direction, packet: &Packet) {
        if direction == LINK && packet.ip().protocol == protocol::UDP {
            self.messages.push(packet.wire_len());
        }
    }
    fn on_lost(&mut self, _: Instant, _: Direction, _: &Packet, _: DropReason) {}
    fn on_arrived(&mut self, _: Instant, _: Direction, _: &Packet) {}
    fn on_dropped(&mut self, _: Instant, _: &str, _: &Packet, _: DropReason) {}
}

/// The link with the script, in the direction of the data.
const LINK: Direction = Direction { link: 1, reverse: false };

/// A small file over a link with the script.
fn simulated() -> World {
    let mut topology = Topology::new();
    let [sender, router, receiver] = ["sender", "router", "receiver"].map(|name| topology.node(name));
    // With a rate, so that packets come to the script one by one, as a gateway takes them.
    let mut access = LinkSettings::default();
    access.set("rate", &"10Mbit".into()).unwrap();
    topology.link("access", sender, router, access.clone(), access);
    let link = topology.link("link", router, receiver, LinkSettings::default(), LinkSettings::default());
    topology.scheme("script", link, &ENTRY);
    topology.flow(Flow { size: Some(20_000), ..Flow::new("file", sender, receiver) });
    let mut world = World::default();
    let settings = RunSettings { duration: Duration::from_secs(5), ..RunSettings::default() };
    let outcome = topology.run_tapped(&settings, &mut world).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    world.log = LOG.take();
    world.events = outcome.schemes[0].elements[0].events.clone();
    let dropped = outcome.drops.iter().filter(|drop| drop.place.starts_with("schemes.script"));
    world.discarded = dropped.map(|drop| (drop.reason, drop.packets)).collect();
    world
}

/// A socket that stands for a TUN device, and its other end.
fn device(name: &str) -> (TunDevice, UnixDatagram) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    (TunDevice::new(Tun::over(ours.into(), name)), theirs)
}

/// The session of one end of the control channel with `peer`.
fn session(peer: SocketAddr, secret: Option<&[u8]>, entropy: u8) -> Session {
    let secrets = secret.map(|secret| Secret::from_bytes(secret).expect("long enough")).into_iter().collect();
    let introduction = Introduction::new(ENTRY.slug, "", Traffic::All);
    Session::new(Setup { peer: Some(peer), secrets, introduction, hops: 1, rate: None, mtu: None }, [entropy; 32])
}

/// Answers the runtime's challenge as a gateway at the other end would.
fn meet(hops: &mut Hops, socket: &UdpSocket, mut session: Session) {
    let (mut buffer, mut answer) = ([0; 2048], Vec::new());
    session.set_local(socket.local_addr().unwrap());
    hops.handle_timeouts();
    let (length, from) = socket.recv_from(&mut buffer).expect("a challenge");
    session.open(clock::now(), Origin { from, hop_limit: HOP_LIMIT }, &buffer[..length]).expect("in order");
    assert!(session.poll_transmit(clock::now(), &mut answer).is_some());
    socket.send_to(&answer, from).unwrap();
    hops.handle_control().unwrap();
    let _ = socket.recv(&mut buffer).expect("an answer to its challenge");
    let state = hops.iter().next().and_then(Runtime::peer_state);
    assert!(state.as_ref().is_some_and(|state| state.up), "{state:?}");
}

/// The packets `leaving` given to the script in a gateway's runtime.
fn live(leaving: &[Vec<u8>], secret: Option<&[u8]>) -> World {
    let (out, kernel) = device("script-out");
    let (arrived, _other) = device("script-in");
    let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    peer.set_nonblocking(true).unwrap();
    peer.set_ttl(u32::from(HOP_LIMIT)).unwrap();
    let reserved = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listen = reserved.local_addr().unwrap();
    drop(reserved);
    let ours = session(peer.local_addr().unwrap(), secret, 1);
    let (control, channels) = ControlSocket::open(listen, "lo", None, [ours]).unwrap();
    let scheme = Scheme {
        element: Box::new(Script { is_near: true, copies: Settings::default().copies, packets: 0 }),
        reports: ENTRY.reports,
        mode: String::new(),
        may_be_replaced: true,
    };
    let sequences = InitialSequences::new(&[1; 16]);
    let channel = channels.into_iter().next();
    let runtime = Runtime::new(scheme, Rng::derive(1, "script"), sequences, [out, arrived], channel);
    let mut hops = Hops::new(vec![runtime], Some(control));
    meet(&mut hops, &peer, session(listen, secret, 2));
    let (mut world, mut buffer) = (World::default(), [0; 2048]);
    for packet in leaving {
        kernel.send(packet).unwrap();
        hops.handle_packets().unwrap();
        for _ in 0..3 {
            let length = kernel.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], packet, "a copy left as the packet came");
        }
        while let Ok(length) = peer.recv(&mut buffer) {
            world.messages.push(length as u32 + 20 + 8);
        }
    }
    let runtime = hops.iter().next().expect("one hop");
    assert!(runtime.balance().holds());
    world.log = LOG.take();
    let ledger = runtime.ledger();
    world.events = ledger.events.iter().filter(|(_, count)| *count > 0).collect();
    world.discarded = ledger.discarded.iter().filter(|(_, count)| *count > 0).collect();
    world
}

#[test]
fn a_script_is_told_charged_and_counted_alike_in_both_worlds() {
    let simulated = simulated();
    let count = simulated.log.leaving.len() as u64;
    assert!(count > 10, "a connection, data and its end: {count}");
    assert_eq!(simulated.log.told, (0..3 * count).map(Token).collect::<Vec<_>>(), "first sent, first told");
    assert_eq!(simulated.messages, simulated.log.charged);
    assert_eq!(live(&simulated.log.leaving, None), simulated);
}

#[test]
fn a_key_makes_messages_longer_and_the_script_is_charged_for_it() {
    let plain = simulated();
    let keyed = live(&plain.log.leaving, Some(b"sixteen bytes ok"));
    assert_eq!(keyed.messages, keyed.log.charged);
    let with_mac: Vec<u32> = plain.messages.iter().map(|bytes| bytes + 16).collect();
    assert_eq!(keyed.messages, with_mac);
}
