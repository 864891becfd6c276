//! A hub that knows its peer by the key only, and a peer that moves; in virtual time, with somebody who records all and sends
//! it again from anywhere.

use super::*;

const HUB: &str = "192.0.2.1:4791";
const HOMES: [&str; 3] = ["198.51.100.7:4791", "203.0.113.9:4791", "[2001:db8::9]:4791"];

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A datagram on its way.
#[derive(Clone)]
struct Letter {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// The hub, gateways that may have its peer's key, and the network between them.
struct Network {
    now: Instant,
    hub: Session,
    /// A gateway and where it is.
    spokes: Vec<(SocketAddr, Session)>,
    flying: Vec<(Instant, Letter)>,
    /// All that was ever sent.
    heard: Vec<Letter>,
    taken: Vec<Vec<u8>>,
    ignored: Vec<Ignored>,
    lives: u8,
    /// One of so many datagrams is lost.
    loss: Option<(u64, Rng)>,
    /// Nothing reaches the hub.
    is_deaf: bool,
}

impl Network {
    fn new() -> Network {
        let hub = Session::new(Setup { peer: None, ..setup(0, &[SECRET]) }, [9; 32]);
        let mut network = Network {
            now: Instant::from_nanos(5_000_000_000),
            hub,
            spokes: Vec::new(),
            flying: Vec::new(),
            heard: Vec::new(),
            taken: Vec::new(),
            ignored: Vec::new(),
            lives: 0,
            loss: None,
            is_deaf: false,
        };
        network.start(HOMES[0], SECRET);
        network
    }

    /// A gateway of a new life at an address; its number.
    fn start(&mut self, home: &str, secret: &[u8]) -> usize {
        self.lives += 1;
        let mut session = Session::new(Setup { peer: Some(at(HUB)), ..setup(1, &[secret]) }, [self.lives; 32]);
        session.set_local(at(home));
        self.spokes.push((at(home), session));
        self.spokes.len() - 1
    }

    fn move_spoke(&mut self, spoke: usize, home: &str) {
        let (address, session) = &mut self.spokes[spoke];
        *address = at(home);
        session.set_local(at(home));
    }

    fn send(&mut self, letter: Letter) {
        self.heard.push(letter.clone());
        let is_lost = self.loss.as_mut().is_some_and(|(one_of, rng)| rng.below(*one_of) == 0);
        let is_unheard = self.is_deaf && letter.to == at(HUB);
        if !(is_lost || is_unheard) {
            self.flying.push((self.now + DELAY, letter));
        }
    }

    fn say(&mut self, spoke: usize, message: &[u8]) {
        let (from, session) = &mut self.spokes[spoke];
        if let Some(bytes) = session.sealed(message) {
            let letter = Letter { from: *from, to: at(HUB), bytes };
            self.send(letter);
        }
    }

    /// A datagram arrives at the hub, as its socket hands it on.
    fn arrive(&mut self, from: SocketAddr, bytes: &[u8]) -> Result<(), Ignored> {
        let origin = Origin { from, hop_limit: HOP_LIMIT };
        let result = if self.hub.is_from_peer(from) {
            self.hub.open(self.now, origin, bytes).map(|opened| {
                if let Opened::Message(message) = opened {
                    self.taken.push(message.to_vec());
                }
            })
        } else {
            self.hub.follow(self.now, origin, at(HUB), bytes).map(drop)
        };
        self.ignored.extend(result.err());
        self.hub_speaks();
        result
    }

    fn hub_speaks(&mut self) {
        let mut bytes = Vec::new();
        while let Some(to) = self.hub.poll_transmit(self.now, &mut bytes) {
            self.send(Letter { from: at(HUB), to, bytes: bytes.clone() });
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            let (arrived, flying) = std::mem::take(&mut self.flying).into_iter().partition(|(at, _)| *at <= self.now);
            self.flying = flying;
            let arrived: Vec<(Instant, Letter)> = arrived;
            for (_, Letter { from, to, bytes }) in arrived {
                if to == at(HUB) {
                    let _ = self.arrive(from, &bytes);
                    continue;
                }
                let origin = Origin { from, hop_limit: HOP_LIMIT };
                if let Some((_, spoke)) = self.spokes.iter_mut().find(|(home, _)| *home == to) {
                    let _ = spoke.open(self.now, origin, &bytes);
                }
            }
            self.hub_speaks();
            for spoke in 0..self.spokes.len() {
                let mut bytes = Vec::new();
                while let Some(to) = self.spokes[spoke].1.poll_transmit(self.now, &mut bytes) {
                    let from = self.spokes[spoke].0;
                    self.send(Letter { from, to, bytes: bytes.clone() });
                }
            }
        }
    }

    /// The hub has its peer at this home, and takes what it says, once.
    fn assert_at(&mut self, spoke: usize, home: &str, mark: &str) {
        assert_eq!(self.hub.peer(), Some(at(home)), "{mark}");
        assert!(self.hub.is_in_reach(self.now), "{mark}: {}", self.hub.peer_state(self.now).why);
        assert!(self.spokes[spoke].1.is_in_reach(self.now), "{mark}");
        self.say(spoke, mark.as_bytes());
        self.run(DELAY * 2);
        assert_eq!(self.taken.iter().filter(|message| *message == mark.as_bytes()).count(), 1, "{mark}");
    }

    /// What was sent to the hub from an address.
    fn recorded(&self, from: &str) -> Vec<Vec<u8>> {
        let sent = self.heard.iter().filter(|letter| letter.from == at(from) && letter.to == at(HUB));
        sent.map(|letter| letter.bytes.clone()).collect()
    }
}

#[test]
fn a_peer_without_address_is_found_when_it_speaks_and_followed_wherever_it_goes() {
    let mut network = Network::new();
    assert_eq!(network.hub.peer(), None);
    network.run(DELAY * 5);
    network.assert_at(0, HOMES[0], "at first");
    for (number, home) in HOMES.iter().cycle().skip(1).take(7).enumerate() {
        network.run(SECOND);
        network.move_spoke(0, home);
        // Both ends go on with what they know: neither is out of reach for a moment.
        for _ in 0..6 {
            network.run(Duration::from_millis(100));
            assert!(network.hub.is_in_reach(network.now) && network.spokes[0].1.is_in_reach(network.now));
        }
        network.assert_at(0, home, &format!("move {number}"));
    }
}

#[test]
fn a_hub_says_nothing_to_anybody_before_somebody_with_the_key_spoke() {
    let mut network = Network::new();
    network.spokes.clear();
    network.start(HOMES[0], OTHER);
    network.run(SECOND);
    assert!(network.heard.iter().all(|letter| letter.from != at(HUB)));
    assert!(network.ignored.iter().all(|reason| *reason == Ignored::BadMac) && network.ignored.len() > 3);
}

#[test]
fn a_recording_moves_nothing_from_where_it_was_made_nor_from_elsewhere() {
    let mut network = Network::new();
    network.run(SECOND);
    network.move_spoke(0, HOMES[1]);
    network.run(SECOND);
    network.assert_at(0, HOMES[1], "moved");
    let sent = network.heard.len();
    for recording in network.recorded(HOMES[0]) {
        assert!(network.arrive(at(HOMES[0]), &recording).is_err(), "from its old home");
    }
    for recording in [network.recorded(HOMES[0]), network.recorded(HOMES[1])].concat() {
        let refused = network.arrive(at("192.0.2.66:4791"), &recording);
        assert!([Err(Ignored::BadMac), Err(Ignored::Stranger)].contains(&refused), "{refused:?}");
    }
    assert!(network.heard.len() <= sent + 1, "nobody is answered");
    network.assert_at(0, HOMES[1], "still there");
}

#[test]
fn a_recording_of_a_former_life_is_asked_and_cannot_answer() {
    let mut network = Network::new();
    network.run(SECOND * 5);
    let former = network.recorded(HOMES[0]);
    // The peer is gone, and comes back elsewhere as another process.
    network.spokes.clear();
    network.run(SECOND * 2);
    let spoke = network.start(HOMES[1], SECRET);
    network.run(SECOND);
    network.assert_at(spoke, HOMES[1], "restarted elsewhere");
    // While it answers, nobody is even asked.
    for recording in &former {
        let refused = network.arrive(at(HOMES[0]), recording);
        assert!([Err(Ignored::Elsewhere), Err(Ignored::Stranger)].contains(&refused), "{refused:?}");
    }
    // While it does not, somebody who repeats all that was ever said is asked, and has no answer.
    network.spokes.clear();
    network.run(SECOND * 2);
    for _ in 0..20 {
        for recording in &former {
            let _ = network.arrive(at(HOMES[0]), recording);
        }
        network.run(Duration::from_millis(100));
    }
    assert_eq!(network.hub.peer(), Some(at(HOMES[1])));
    assert!(!network.hub.is_in_reach(network.now));
}

#[test]
fn an_answer_counts_from_the_address_that_was_asked_and_once() {
    let mut network = Network::new();
    network.run(SECOND);
    network.move_spoke(0, HOMES[1]);
    network.run(SECOND);
    let answers = network.recorded(HOMES[1]);
    network.move_spoke(0, HOMES[0]);
    network.run(Duration::from_millis(300));
    network.assert_at(0, HOMES[0], "back");
    for answer in &answers {
        assert!(network.arrive(at(HOMES[1]), answer).is_err());
    }
    assert_eq!(network.hub.peer(), Some(at(HOMES[0])));
}

/// The peer moves, is asked at its new home, and its answers are kept on the way; then it is gone. The answers.
fn keep_answers(network: &mut Network, home: &str) -> Vec<Vec<u8>> {
    network.move_spoke(0, home);
    let is_asked = |network: &Network| network.heard.iter().any(|letter| letter.to == at(home));
    while !is_asked(network) {
        network.run(STEP);
    }
    network.is_deaf = true;
    network.run(Duration::from_millis(200));
    network.is_deaf = false;
    network.spokes.clear();
    network.recorded(home)
}

#[test]
fn an_answer_that_somebody_kept_moves_the_peer_but_not_once_another_life_was_followed() {
    for is_followed in [false, true] {
        let mut network = Network::new();
        network.run(SECOND);
        let kept = keep_answers(&mut network, HOMES[1]);
        network.run(SECOND);
        if is_followed {
            network.start(HOMES[2], SECRET);
            network.run(Duration::from_millis(300));
            network.assert_at(0, HOMES[2], "a new life");
            network.spokes.clear();
            network.run(SECOND + DELAY * 2);
        }
        for answer in &kept {
            let _ = network.arrive(at(HOMES[1]), answer);
        }
        // The peer was there, and nothing newer is known.
        let home = if is_followed { HOMES[2] } else { HOMES[1] };
        assert_eq!(network.hub.peer(), Some(at(home)));
    }
}

#[test]
fn a_gateway_that_was_asked_elsewhere_is_asked_again_where_it_answers() {
    let mut network = Network::new();
    network.run(SECOND);
    // It is asked at one home, and answers in the name of another, where it may hear nothing.
    network.move_spoke(0, HOMES[1]);
    let question = loop {
        network.run(STEP);
        if let Some(letter) = network.heard.iter().find(|letter| letter.to == at(HOMES[1])) {
            break letter.bytes.clone();
        }
    };
    let (_, mut spoke) = network.spokes.remove(0);
    let origin = Origin { from: at(HUB), hop_limit: HOP_LIMIT };
    assert_eq!(spoke.open(network.now, origin, &question), Ok(Opened::Handshake));
    spoke.set_local(at(HOMES[2]));
    let mut answer = Vec::new();
    assert!(spoke.poll_transmit(network.now, &mut answer).is_some());
    assert_eq!(network.arrive(at(HOMES[2]), &answer), Ok(()));
    assert_eq!(network.hub.peer(), Some(at(HOMES[0])));
    assert_eq!(network.heard.last().map(|letter| letter.to), Some(at(HOMES[2])), "it is asked there");
}

#[test]
fn forged_and_changed_handshakes_move_nothing() {
    let mut network = Network::new();
    network.run(SECOND);
    network.move_spoke(0, HOMES[1]);
    let mut bytes = Vec::new();
    network.run(Duration::from_millis(250));
    let genuine = network.recorded(HOMES[1]).pop().expect("it speaks");
    network.assert_at(0, HOMES[1], "moved");
    for bit in 0..genuine.len() * 8 {
        bytes.clone_from(&genuine);
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(network.arrive(at(HOMES[0]), &bytes).is_err(), "bit {bit}");
    }
    let like = Header::decode(&genuine).unwrap();
    for header in [Header { has_mac: false, ..like }, Header { has_mac: false, epoch: like.epoch + 1, ..like }] {
        let forged = [&header.encode()[..], &genuine[28..genuine.len() - 16]].concat();
        assert_eq!(network.arrive(at(HOMES[0]), &forged), Err(Ignored::Unauthenticated));
    }
    network.assert_at(0, HOMES[1], "still there");
}

#[test]
fn a_second_gateway_with_the_key_takes_nothing_from_the_one_that_answers() {
    let mut network = Network::new();
    network.run(SECOND);
    network.start(HOMES[1], SECRET);
    for round in 0..50 {
        network.run(Duration::from_millis(100));
        network.assert_at(0, HOMES[0], &format!("round {round}"));
    }
    assert!(network.ignored.contains(&Ignored::Elsewhere));
    // When the first one is gone, the second is followed.
    network.spokes.remove(0);
    network.run(SECOND * 2);
    network.assert_at(0, HOMES[1], "the other");
}

#[test]
fn a_peer_moves_over_a_link_that_loses_a_fifth() {
    for seed in 0..20 {
        let mut network = Network::new();
        network.loss = Some((5, Rng::derive(seed, "roaming")));
        for home in HOMES.iter().cycle().take(6) {
            network.move_spoke(0, home);
            network.run(SECOND * 2);
            assert_eq!(network.hub.peer(), Some(at(home)), "seed {seed}");
        }
        network.loss = None;
        network.run(SECOND);
        network.assert_at(0, HOMES[2], "at the end");
    }
}

#[test]
fn those_who_ask_from_many_addresses_are_answered_a_bounded_number_of_times() {
    let mut network = Network::new();
    network.run(SECOND);
    network.spokes.clear();
    network.run(SECOND * 3);
    let sent = network.heard.len();
    // A former owner of the key, at a thousand addresses within a moment.
    for number in 0..1_000u32 {
        let home = SocketAddr::from(((0xc633_6400 + number).to_be_bytes(), 4791));
        let mut session = Session::new(Setup { peer: Some(at(HUB)), ..setup(1, &[SECRET]) }, [7; 32]);
        session.set_local(home);
        let mut bytes = Vec::new();
        assert!(session.poll_transmit(network.now, &mut bytes).is_some());
        let _ = network.arrive(home, &bytes);
    }
    assert!(network.heard.len() - sent <= 12, "{} answers", network.heard.len() - sent);
}
