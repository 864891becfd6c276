//! Two forwarders on real packets: what applications see of each other through them, and of what happens to them.

mod forwarder_support;

use airtcp_core::Rng;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_test_support::is_long;
use forwarder_support::{
    FORBIDDEN, Fate, NAMED, Pair, REFUSED, Server, client, elapsed, has_leftovers, serve_one, turn, wait_for,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const SIGSTOP: i32 = 19;
const SIGCONT: i32 = 18;
/// Bounds of the issue: of a process, in MiB.
const MEMORY_MAX: u64 = 256;
/// An application knows by then that its connection broke.
const LATEST: Duration = Duration::from_secs(60);
const STACK: usize = 128 << 10;

/// Reads until it fails or ends; how.
fn outcome(mut stream: &TcpStream) -> Result<(), ErrorKind> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.kind()),
        }
    }
}

#[test]
fn live_applications_see_each_others_ends_and_resets_and_nobody_who_is_not_allowed() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::up(&[("rate", "50Mbit"), ("delay", "5ms"), ("loss", "1%")], "");
    let before = [0, 1].map(|end| pair.resources(end).1);
    let server = pair.serve();

    // Half-closed either way, in both directions.
    let near = pair.connect(Pair::port(), 1).remove(0);
    let far = server.accept();
    (&far).write_all(b"first").unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    assert_eq!(outcome(&near), Ok(()));
    (&near).write_all(b"second").unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    (&far).read_to_end(&mut all).unwrap();
    assert_eq!(all, b"second");
    wait_for("the connection to be complete", || [0, 1].iter().all(|end| pair.count(*end, "finished") == 1));

    // A reset by either application arrives at the other.
    for at_near in [true, false] {
        let near = pair.connect(Pair::port(), 1).remove(0);
        let far = server.accept();
        (&near).write_all(b"x").unwrap();
        (&far).read_exact(&mut [0]).unwrap();
        let (resets, sees) = if at_near { (near, far) } else { (far, near) };
        // Closing with unread bytes resets (RFC 1122 section 4.2.2.13).
        (&sees).write_all(b"unread").unwrap();
        wait_for("the bytes to arrive", || resets.peek(&mut [0; 6]).is_ok());
        drop(resets);
        assert_eq!(outcome(&sees), Err(ErrorKind::ConnectionReset), "reset at the near end: {at_near}");
    }

    // Refused by the far host, by the far file; and a name that is looked up there.
    for port in [REFUSED, FORBIDDEN] {
        assert_eq!(outcome(&pair.connect(port, 1)[0]), Err(ErrorKind::ConnectionReset), "port {port}");
    }
    assert_eq!((pair.count(1, "refused_by_host"), pair.count(1, "refused_not_allowed")), (1, 1));
    let named = pair.connect(NAMED, 1).remove(0);
    let served = std::thread::spawn(move || serve_one(server.accept()));
    assert_eq!((client(named, 7, 100_000, 100_000), served.join().unwrap()), (Fate::Whole, Fate::Whole));

    wait_for("all to be over", || [0, 1].iter().all(|end| pair.count(*end, "connections") == 0));
    wait_for("descriptors to be given back", || [0, 1].map(|end| pair.resources(end).1) == before);
}

#[test]
fn live_forwarders_reach_each_other_and_the_server_by_ipv6() {
    let Some(_turn) = turn() else { return };
    let pair =
        Pair::over(Family::V6, &[("rate", "50Mbit"), ("delay", "5ms"), ("loss", "1%")], "", |_, _| Default::default());
    let server = pair.serve();
    let near = pair.connect(Pair::port(), 1).remove(0);
    let far = server.accept();
    assert!(far.peer_addr().unwrap().ip().is_ipv6());
    let served = std::thread::spawn(move || serve_one(far));
    assert_eq!((client(near, 3, 1_000_000, 1_000_000), served.join().unwrap()), (Fate::Whole, Fate::Whole));
    for port in [REFUSED, FORBIDDEN] {
        assert_eq!(outcome(&pair.connect(port, 1)[0]), Err(ErrorKind::ConnectionReset), "port {port}");
    }
    wait_for("all to be over", || [0, 1].iter().all(|end| pair.count(*end, "connections") == 0));
}

#[test]
fn live_a_reader_that_stops_stops_the_writer_and_a_stopped_forwarder_delays_both() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::up(&[("rate", "100Mbit"), ("delay", "2ms")], "memory = \"2MiB\"\nbuffer = \"512KiB\"");
    let server = pair.serve();
    let near = pair.connect(Pair::port(), 1).remove(0);
    let far = server.accept();
    near.set_nonblocking(true).unwrap();
    let (chunk, mut written, mut since) = (vec![7; 64 << 10], 0, clock::now());
    // As long as anything goes on.
    while elapsed(since) < Duration::from_secs(1) {
        match (&near).write(&chunk) {
            Ok(length) => (written, since) = (written + length, clock::now()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    // Two buffers here, and those of four kernel sockets.
    assert!(written < 64 << 20, "{written} bytes were taken for a reader that does not read");
    for end in 0..2 {
        assert!(pair.count(end, "memory_max") < 3 << 20);
    }
    pair.signal(1, SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    pair.signal(1, SIGCONT);
    near.set_nonblocking(false).unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    (&far).read_to_end(&mut all).unwrap();
    assert!(all.len() == written && all.iter().all(|byte| *byte == 7), "{} of {written}", all.len());
    drop(far);
    assert_eq!(outcome(&near), Ok(()));
}

#[test]
fn live_a_peer_that_is_gone_is_given_up_after_the_silence_and_comes_back_as_another() {
    let Some(_turn) = turn() else { return };
    let mut pair = Pair::up(&[("rate", "50Mbit"), ("delay", "5ms")], "silence = \"2s\"");
    let server = pair.serve();
    let near = pair.connect(Pair::port(), 1).remove(0);
    let far = server.accept();
    let killed = clock::now();
    pair.kill(1);
    assert_eq!(outcome(&far), Err(ErrorKind::ConnectionReset));
    assert_eq!(outcome(&near), Err(ErrorKind::ConnectionReset));
    assert!((1..15).contains(&elapsed(killed).as_secs()), "{:?}", elapsed(killed));
    // Nobody is there: further ones are reset at once.
    assert_eq!(outcome(&pair.connect(Pair::port(), 1)[0]), Err(ErrorKind::ConnectionReset));
    assert_eq!((pair.count(0, "gave_up"), pair.count(0, "refused_peer")), (1, 1));
    pair.start(1);
    pair.wait_until_up();
    let near = pair.connect(Pair::port(), 1).remove(0);
    let served = std::thread::spawn(move || serve_one(server.accept()));
    assert_eq!((client(near, 9, 1000, 1000), served.join().unwrap()), (Fate::Whole, Fate::Whole));
}

/// Does something when it goes.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Many connections at once, of which a forwarder is killed in the middle: how they ended, whole and broken.
fn drill(seed: u64, connections: usize, bytes: u64, latest: u64, link: &[(&str, &str)]) -> (usize, usize) {
    let mut rng = Rng::derive(seed, "drill");
    let mut pair = Pair::up(link, "memory = \"96MiB\"");
    let prefix = pair.prefix();
    let before = [0, 1].map(|end| pair.resources(end).1);
    let server = pair.serve();
    let clients = pair.connect(Pair::port(), connections);
    let (near, far) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let is_over = AtomicBool::new(false);
    let victim = rng.below(2) as usize;
    let at = Duration::from_millis(latest / 4 + rng.below(latest));
    let killed = std::thread::scope(|scope| {
        let builder = || std::thread::Builder::new().stack_size(STACK);
        let (near, far, server, is_over) = (&near, &far, &server, &is_over);
        let serving = scope.spawn(move || {
            let mut serving = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let Some(stream) = server.accept_within(Duration::from_millis(50)) else { continue };
                let serve = move || {
                    let fate = serve_one(stream);
                    far.lock().unwrap().push(fate);
                };
                serving.push(builder().spawn_scoped(scope, serve).unwrap());
            }
        });
        let clients: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(index, stream)| {
                let run = move || {
                    // Some are through long before others.
                    let bytes = bytes * (1 << (index % 8)) / 32;
                    let fate = client(stream, seed << 20 | index as u64, bytes, bytes);
                    near.lock().unwrap().push(fate);
                };
                builder().spawn_scoped(scope, run).unwrap()
            })
            .collect();
        // Also where a check fails: the scope waits for whoever serves.
        let serves = OnDrop(|| is_over.store(true, Ordering::Relaxed));
        std::thread::sleep(at);
        wait_until_some_are_through(near, connections / 10);
        let (memory, _) = pair.resources(victim);
        assert!(memory <= MEMORY_MAX, "seed {seed}: {memory} MiB");
        let killed = clock::now();
        pair.kill(victim);
        std::thread::sleep(Duration::from_millis(rng.below(2_000)));
        pair.start(victim);
        pair.wait_until_up();
        clients.into_iter().for_each(|client| client.join().unwrap());
        drop(serves);
        serving.join().unwrap();
        killed
    });
    // Both applications of each connection knew by then.
    assert!(elapsed(killed) < LATEST, "seed {seed}: {:?}", elapsed(killed));
    goes_on(seed, &pair, &server, before);
    drop(pair);
    assert!(!has_leftovers(&prefix), "seed {seed}: a namespace is left");
    let (near, far) = (near.into_inner().unwrap(), far.into_inner().unwrap());
    assert_eq!(near.len(), connections);
    judged(seed, &near, &far)
}

/// How many clients have all, and how many an error. Nobody has anything else.
fn judged(seed: u64, near: &[Fate], far: &[Fate]) -> (usize, usize) {
    let bad = near.iter().chain(far).find(|fate| matches!(fate, Fate::Wrong(_) | Fate::Silent));
    assert_eq!(bad, None, "seed {seed}");
    // What a client has whole, its server had whole before.
    let whole = |fates: &[Fate]| fates.iter().filter(|fate| **fate == Fate::Whole).count();
    assert!(whole(far) >= whole(near), "seed {seed}: {} and {}", whole(near), whole(far));
    (whole(near), near.len() - whole(near))
}

/// On a machine of any speed so many are through then, and others are not.
fn wait_until_some_are_through(near: &Mutex<Vec<Fate>>, some: usize) {
    let asked = clock::now();
    while near.lock().unwrap().len() < some && elapsed(asked) < LATEST {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Everything goes on as before, and nothing is left of what was.
fn goes_on(seed: u64, pair: &Pair, server: &Server, before: [usize; 2]) {
    let again = pair.connect(Pair::port(), 1).remove(0);
    let served = std::thread::scope(|scope| {
        let served = scope.spawn(|| serve_one(server.accept()));
        assert_eq!(client(again, 1, 50_000, 50_000), Fate::Whole, "seed {seed}: after the restart");
        served.join().unwrap()
    });
    assert_eq!(served, Fate::Whole);
    for end in 0..2 {
        let (memory, _) = pair.resources(end);
        assert!(memory <= MEMORY_MAX, "seed {seed}: {memory} MiB");
    }
    wait_for("descriptors to be given back", || [0, 1].map(|end| pair.resources(end).1) == before);
}

#[test]
fn live_a_forwarder_that_is_killed_leaves_whole_streams_and_errors_and_no_other_end() {
    let Some(_turn) = turn() else { return };
    let (mut whole, mut broken) = (0, 0);
    // The few of the short form are all through in a second on a quiet machine.
    let (seeds, connections, bytes, latest) =
        if is_long() { (20, 1000, 510_000, 60_000) } else { (1, 60, 100_000, 100) };
    let one = std::env::var("AIRTCP_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in one.map_or(0..seeds, |seed| seed..seed + 1) {
        // A thousand windows of one segment fit the queue: it would lose most of them otherwise, and timeouts be the test.
        let link = [("rate", "200Mbit"), ("delay", "5ms"), ("loss", "1%"), ("queue", "3MB")];
        let (some, others) = drill(seed, connections, bytes, latest, &link);
        println!("AIRTCP_SEED={seed}: {some} whole, {others} broken");
        (whole, broken) = (whole + some, broken + others);
    }
    assert!(whole > 0 && broken > 0, "{whole} whole, {broken} broken: nothing was tested");
}

#[test]
fn live_idle_connections_cost_little_and_still_work() {
    let Some(_turn) = turn() else { return };
    let count = if is_long() { 10_000 } else { 300 };
    airtcp_linux::sys::process::allow_open_files_up_to(2 * count as u64).unwrap();
    let pair = Pair::up(&[("rate", "100Mbit"), ("delay", "2ms")], "");
    let server = pair.serve();
    // The server has taken none: its host keeps them for it, which takes no descriptors.
    let near = pair.connect(Pair::port(), count);
    wait_for("all to be there", || [0, 1].iter().all(|&end| pair.count(end, "connections") == count as u64));
    // What opened them may still be acknowledged on a slow machine: two seconds of silence come, however late.
    let sent_in_two_seconds = || {
        let before = pair.count(0, "datagrams_sent");
        std::thread::sleep(Duration::from_secs(2));
        pair.count(0, "datagrams_sent") - before
    };
    wait_for("fewer than 100 datagrams in two seconds without traffic", || sent_in_two_seconds() < 100);
    assert!(pair.resources(0).0 <= MEMORY_MAX && pair.resources(1).0 <= MEMORY_MAX);
    // Each of them ends in good order, and one has something to say before.
    (&near[count / 2]).write_all(b"still here").unwrap();
    near.iter().for_each(|stream| stream.shutdown(Shutdown::Write).unwrap());
    let mut said = Vec::new();
    for _ in 0..count {
        let mut stream = server.accept_within(LATEST).expect("a connection");
        stream.set_nonblocking(false).unwrap();
        stream.read_to_end(&mut said).unwrap();
    }
    assert_eq!(said, b"still here");
    wait_for("all to be over", || pair.count(0, "finished") == count as u64);
}

/// Where the near forwarder takes datagrams by UDP, and where the far one gives them out.
const STREAM_TAKES: u16 = 5004;
const STREAM_LEADS: u16 = 5005;
/// Where it takes those that the far file does not allow.
const STREAM_FORBIDDEN: u16 = 5006;
/// Longest datagram at an MTU of 1500: IP 20, UDP 8, and 24 bytes of the forwarder's.
const LONGEST: usize = 1448;
const VIDEO: u64 = 100;

fn tails([_, far]: &[IpAddr; 2], directory: &Path) -> [String; 2] {
    let stream = |listen: String, port: u16| format!("[[stream]]\nlisten = \"{listen}\"\nto = \"{far}:{port}\"\n");
    let near = [
        stream(format!("127.0.0.1:{STREAM_TAKES}"), STREAM_LEADS),
        stream(directory.join("inlet").display().to_string(), STREAM_LEADS),
        stream(format!("127.0.0.1:{STREAM_FORBIDDEN}"), STREAM_FORBIDDEN),
    ];
    [near.concat(), format!("allow_streams = [\"{far}:{STREAM_LEADS}\"]\n")]
}

/// Reads in a thread, so that the socket's buffer stays empty, until there are `most` or nothing has come for two seconds: lengths and
/// first bytes.
fn drain(socket: &UdpSocket, most: u64) -> JoinHandle<Vec<(usize, u64)>> {
    let socket = socket.try_clone().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    std::thread::spawn(move || read_all(&socket, most))
}

fn read_all(socket: &UdpSocket, most: u64) -> Vec<(usize, u64)> {
    let mut buffer = [0; 2000];
    let mut all = Vec::new();
    while (all.len() as u64) < most {
        let Ok(length) = socket.recv(&mut buffer) else { break };
        all.push((length, u64::from_be_bytes(*buffer.first_chunk().unwrap())));
    }
    all
}

#[test]
fn live_a_stream_of_50_packets_a_second_arrives_and_a_greedy_sender_waits() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::with(&[("rate", "4Mbit"), ("delay", "10ms"), ("queue", "30packets")], "", tails);
    let target = pair.on(1, || UdpSocket::bind(("0.0.0.0", STREAM_LEADS))).unwrap();
    let source = pair.on(0, || UdpSocket::bind("127.0.0.1:0")).unwrap();
    wait_for("both streams to be open", || pair.count(0, "streams_out") == 2);

    // A video, with what is too long among it.
    let to: SocketAddr = ([127, 0, 0, 1], STREAM_TAKES).into();
    let video = drain(&target, VIDEO);
    for number in 0..VIDEO {
        let mut datagram = vec![0; LONGEST - number as usize];
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        source.send_to(&datagram, to).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    source.send_to(&[0; LONGEST + 1], to).unwrap();
    let expected: Vec<(usize, u64)> = (0..VIDEO).map(|number| (LONGEST - number as usize, number)).collect();
    assert_eq!(video.join().unwrap(), expected);
    assert_eq!((pair.count(0, "stream_sent"), pair.count(0, "stream_too_long")), (VIDEO, 1));
    assert_eq!(["stream_received", "stream_lost", "stream_misordered"].map(|name| pair.count(1, name)), [VIDEO, 0, 0]);
    assert!(pair.count(0, "stream_refused") > 0 && pair.count(1, "refused_not_allowed") > 0);

    // Who sends as fast as he can waits for the circuit, and nothing is lost before it.
    let greedy = UnixDatagram::unbound().unwrap();
    greedy.connect(pair.directory().join("inlet")).unwrap();
    let arriving = drain(&target, u64::MAX);
    let (begun, mut sent) = (clock::now(), 0u64);
    while elapsed(begun) < Duration::from_secs(3) {
        let mut datagram = vec![0; LONGEST];
        datagram[..8].copy_from_slice(&sent.to_be_bytes());
        greedy.send(&datagram).unwrap();
        sent += 1;
    }
    let (lasted, arrived) = (elapsed(begun), arriving.join().unwrap());
    // What the link carries, and what waits in the sender's socket, the tunnel queue and the link's queue.
    let most = 4_000_000 / 8 / 1500 * (lasted.as_millis() as u64) / 1000 + 200;
    assert!((50..most).contains(&sent), "{sent} of {most} in {lasted:?}");
    assert_eq!(pair.count(0, "stream_sent"), VIDEO + sent);
    let [received, lost] = ["stream_received", "stream_lost"].map(|name| pair.count(1, name));
    assert_eq!(received, VIDEO + arrived.len() as u64);
    assert!((received + lost).abs_diff(VIDEO + sent) <= 30, "{received} and {lost} of {}", VIDEO + sent);
    assert!(arrived.windows(2).all(|pair| pair[0].1 < pair[1].1), "out of order");

    // By UDP the same sender loses what the circuit has no room for, at his own host, and that is counted.
    let datagram = [0; LONGEST];
    (0..5000).for_each(|_| assert_eq!(source.send_to(&datagram, to).unwrap(), LONGEST));
    wait_for("the drops to be counted", || pair.count(0, "stream_dropped") > 3000);
}
