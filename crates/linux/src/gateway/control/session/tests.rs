//! Two sessions and whoever is between them, in virtual time.

mod roaming;

use super::*;
use airtcp_core::{Rng, Traffic};
use std::collections::BTreeSet;

const SECRET: &[u8] = b"sixteen bytes ok";
const OTHER: &[u8] = b"another secret, longer";
/// One way.
const DELAY: Duration = Duration::from_millis(5);
const STEP: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn address(end: usize) -> SocketAddr {
    ["10.0.0.1:4791", "10.0.0.2:4791"][end].parse().unwrap()
}

/// Two ends, and what is on its way to each.
struct Pair {
    now: Instant,
    ends: [Session; 2],
    /// Time of arrival, receiver, datagram.
    flying: Vec<(Instant, usize, Vec<u8>)>,
    /// All that was ever sent, with its sender.
    heard: Vec<(usize, Vec<u8>)>,
    taken: [Vec<Vec<u8>>; 2],
    lives: u8,
    /// Whether what an end sends arrives.
    is_open: [bool; 2],
    /// Datagrams longer than this do not arrive.
    longest: usize,
    delay: Duration,
}

fn setup(end: usize, secrets: &[&[u8]]) -> Setup {
    Setup {
        peer: Some(address(1 - end)),
        secrets: secrets.iter().map(|secret| Secret::from_bytes(secret).unwrap()).collect(),
        introduction: Introduction::new("gsnoop", "modern", Traffic::Tcp),
        hops: 1,
        rate: None,
        mtu: None,
    }
}

impl Pair {
    fn new(secrets: [&[&[u8]]; 2]) -> Pair {
        let ends = [0, 1].map(|end| Session::new(setup(end, secrets[end]), [end as u8; 32]));
        let mut pair = Pair {
            now: Instant::from_nanos(5_000_000_000),
            ends,
            flying: Vec::new(),
            heard: Vec::new(),
            taken: [Vec::new(), Vec::new()],
            lives: 2,
            is_open: [true; 2],
            longest: usize::MAX,
            delay: DELAY,
        };
        [0, 1].into_iter().for_each(|end| pair.ends[end].set_local(address(end)));
        pair
    }

    fn keyed() -> Pair {
        Pair::new([&[SECRET]; 2])
    }

    /// A new life of one end.
    fn restart(&mut self, end: usize, setup: Setup) {
        self.lives += 1;
        self.ends[end] = Session::new(setup, [self.lives; 32]);
        self.ends[end].set_local(address(end));
    }

    fn fly(&mut self, from: usize, datagram: Vec<u8>) {
        self.heard.push((from, datagram.clone()));
        if self.is_open[from] && datagram.len() <= self.longest {
            self.flying.push((self.now + self.delay, 1 - from, datagram));
        }
    }

    fn send(&mut self, from: usize, message: &[u8]) {
        if let Some(datagram) = self.ends[from].sealed(message) {
            self.fly(from, datagram);
        }
    }

    /// A datagram with the peer's address arrives.
    fn arrive(&mut self, at: usize, datagram: &[u8]) -> Result<(), Ignored> {
        let origin = Origin { from: address(1 - at), hop_limit: HOP_LIMIT };
        if let Opened::Message(message) = self.ends[at].open(self.now, origin, datagram)? {
            self.taken[at].push(message.to_vec());
        }
        Ok(())
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            let (arrived, flying) = std::mem::take(&mut self.flying).into_iter().partition(|(at, ..)| *at <= self.now);
            self.flying = flying;
            let arrived: Vec<(Instant, usize, Vec<u8>)> = arrived;
            for (_, at, datagram) in arrived {
                let _ = self.arrive(at, &datagram);
            }
            for end in [0, 1] {
                let mut out = Vec::new();
                while self.ends[end].poll_transmit(self.now, &mut out).is_some() {
                    self.fly(end, out.clone());
                }
            }
        }
    }

    fn up(&self) -> [bool; 2] {
        [0, 1].map(|end| self.ends[end].is_in_reach(self.now))
    }

    fn why(&self, end: usize) -> String {
        self.ends[end].peer_state(self.now).why
    }

    /// Messages of both ends arrive, each once.
    fn assert_works(&mut self, mark: &str) {
        assert_eq!(self.up(), [true; 2], "{mark}: {} {}", self.why(0), self.why(1));
        let before = [0, 1].map(|end| self.taken[end].len());
        [0, 1].into_iter().for_each(|end| self.send(end, mark.as_bytes()));
        self.run(DELAY * 2);
        for end in [0, 1] {
            let new = &self.taken[end][before[end]..];
            assert_eq!(new.iter().filter(|message| *message == mark.as_bytes()).count(), 1, "{mark} at {end}");
        }
    }
}

/// A copy of a header with other numbers, without MAC.
fn forged(like: &[u8], sequence: u64) -> Vec<u8> {
    let header = Header::decode(like).unwrap();
    let forged = Header { has_mac: false, is_handshake: false, sequence, ..header };
    [&forged.encode()[..], b"forged"].concat()
}

#[test]
fn two_ends_find_each_other_in_a_round_trip_and_stay_in_reach() {
    for secrets in [&[][..], &[SECRET]] {
        let mut pair = Pair::new([secrets; 2]);
        pair.run(DELAY * 4);
        pair.assert_works("at once");
        pair.run(SECOND * 20);
        pair.assert_works("later");
        let handshakes = pair.heard.len();
        assert!((200..400).contains(&handshakes), "{handshakes} datagrams in 20 s");
    }
}

#[test]
fn nothing_is_sent_before_somebody_answers() {
    let mut pair = Pair::keyed();
    assert_eq!(pair.ends[0].sealed(b"x"), None);
}

#[test]
fn a_replay_is_taken_by_nobody_at_any_time() {
    let mut pair = Pair::keyed();
    pair.run(SECOND);
    pair.assert_works("once");
    let recorded = pair.heard.clone();
    for round in 0..3 {
        for (from, datagram) in &recorded {
            let replayed = pair.arrive(1 - from, datagram);
            // Of a former life, a handshake is answered with a challenge, which the recording cannot answer.
            let refused = [Err(Ignored::Replayed), Err(Ignored::NoSession)].contains(&replayed);
            assert!(refused || (round > 0 && replayed == Ok(())), "{replayed:?}");
        }
        pair.run(SECOND);
        pair.assert_works("again");
        assert_eq!(pair.taken[0].iter().filter(|message| *message == b"once").count(), 1);
        pair.restart(round % 2, setup(round % 2, &[SECRET]));
        pair.run(SECOND);
        pair.assert_works("after a restart");
    }
}

#[test]
fn own_messages_that_come_back_are_not_the_peers_also_after_a_restart() {
    let mut pair = Pair::keyed();
    pair.run(SECOND);
    pair.assert_works("before");
    let of = |pair: &Pair, end| -> Vec<Vec<u8>> {
        pair.heard.iter().filter(|(from, _)| *from == end).map(|(_, datagram)| datagram.clone()).collect()
    };
    for datagram in of(&pair, 1) {
        assert_eq!(pair.arrive(1, &datagram), Err(Ignored::Reflected));
    }
    let former = of(&pair, 1);
    pair.restart(1, setup(1, &[SECRET]));
    for datagram in &former {
        assert_eq!(pair.arrive(1, datagram), Err(Ignored::BadMac));
    }
    pair.run(SECOND);
    pair.assert_works("after the restart");
}

#[test]
fn no_changed_bit_gets_past_the_mac() {
    let mut pair = Pair::keyed();
    pair.run(SECOND);
    let datagram = pair.ends[0].sealed(b"release 77").unwrap();
    for bit in 0..datagram.len() * 8 {
        let mut changed = datagram.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(pair.arrive(1, &changed).is_err(), "bit {bit}");
    }
    assert_eq!(pair.arrive(1, &datagram), Ok(()));
}

#[test]
fn the_largest_sequence_number_locks_nobody_out_with_a_key_or_without() {
    for (secrets, reason) in [(&[SECRET][..], Ignored::Unauthenticated), (&[], Ignored::Replayed)] {
        let mut pair = Pair::new([secrets; 2]);
        pair.run(SECOND);
        let like = pair.heard[0].1.clone();
        for sequence in [u64::MAX, u64::MAX - 1, 1 << 63] {
            assert_eq!(pair.arrive(1, &forged(&like, sequence)), Err(reason));
        }
        pair.assert_works("at once");
    }
}

#[test]
fn without_a_key_an_eavesdropper_can_stop_messages_and_they_flow_again_when_it_stops() {
    let mut pair = Pair::new([&[]; 2]);
    pair.run(SECOND);
    let like = pair.heard.iter().find(|(from, _)| *from == 0).unwrap().1.clone();
    for step in 1..5_000u64 {
        // As far as a number may jump, again and again.
        let _ = pair.arrive(1, &forged(&like, step << 20));
    }
    pair.send(0, b"lost");
    pair.run(DELAY * 2);
    assert!(!pair.taken[1].contains(&b"lost".to_vec()));
    pair.run(SECOND);
    pair.assert_works("within a second");
}

#[test]
fn a_peer_that_restarts_is_known_again_within_a_second() {
    for end in [0, 1] {
        let mut pair = Pair::keyed();
        pair.run(SECOND * 3);
        pair.restart(end, setup(end, &[SECRET]));
        pair.run(DELAY * 8);
        pair.assert_works("at once");
    }
    let mut pair = Pair::keyed();
    pair.is_open = [false; 2];
    pair.run(SECOND * 60);
    pair.restart(0, setup(0, &[SECRET]));
    pair.is_open = [true; 2];
    pair.run(Duration::from_millis(300));
    pair.assert_works("after a long absence");
}

#[test]
fn a_peer_that_is_heard_but_does_not_hear_is_gone_within_a_second_at_both_ends() {
    let mut pair = Pair::keyed();
    pair.run(SECOND * 2);
    pair.is_open[0] = false;
    pair.run(Duration::from_millis(1_100));
    assert_eq!(pair.up(), [false; 2]);
    assert_eq!(pair.why(0), Ignored::Unanswered.sentence());
    pair.send(1, b"unheard");
    pair.run(DELAY * 2);
    assert!(!pair.taken[0].contains(&b"unheard".to_vec()), "answers to nothing are not believed");
    pair.run(SECOND * 10);
    assert_eq!(pair.why(1), "nothing is heard from it");
    pair.is_open[0] = true;
    pair.run(Duration::from_millis(300));
    pair.assert_works("both ways again");
}

#[test]
fn a_link_that_loses_a_fifth_both_ways_stays_in_reach() {
    let mut pair = Pair::keyed();
    let mut rng = Rng::derive(1, "losses");
    let mut down = 0;
    for _ in 0..60_000 {
        pair.is_open = [0, 1].map(|_| rng.below(5) > 0);
        pair.run(Duration::from_millis(10));
        down += pair.up().iter().filter(|up| !*up).count();
    }
    assert!(down < 60, "{down} of 120000 looks in ten minutes");
}

#[test]
fn a_round_trip_of_two_seconds_is_no_absence() {
    let mut pair = Pair::keyed();
    pair.delay = SECOND;
    pair.run(SECOND * 6);
    for _ in 0..100 {
        pair.run(Duration::from_millis(100));
        assert_eq!(pair.up(), [true; 2], "{}", pair.why(0));
    }
}

#[test]
fn a_message_from_further_away_than_allowed_is_ignored() {
    for (hops, least) in [(1, 255), (2, 254), (255, 1)] {
        let mut session = Session::new(Setup { hops, ..setup(1, &[]) }, [9; 32]);
        session.set_local(address(1));
        let mut pair = Pair::new([&[]; 2]);
        pair.run(DELAY);
        let datagram = pair.heard[0].1.clone();
        let mut at = |hop_limit| session.open(pair.now, Origin { from: address(0), hop_limit }, &datagram);
        assert_eq!(at(least - 1), Err(Ignored::HopLimit));
        assert_eq!(at(least), Ok(Opened::Handshake));
    }
}

#[test]
fn a_stranger_is_ignored_also_with_a_valid_envelope() {
    let mut pair = Pair::keyed();
    pair.run(SECOND);
    let datagram = pair.ends[0].sealed(b"x").unwrap();
    for stranger in ["10.0.0.9:4791", "10.0.0.1:4792"] {
        let origin = Origin { from: stranger.parse().unwrap(), hop_limit: HOP_LIMIT };
        assert_eq!(pair.ends[1].open(pair.now, origin, &datagram), Err(Ignored::Stranger));
    }
}

#[test]
fn a_key_on_one_side_only_and_two_keys_are_told_apart() {
    let cases: [([&[_]; 2], Ignored, Ignored); 2] = [
        ([&[SECRET], &[]], Ignored::Unauthenticated, Ignored::Keyed),
        ([&[SECRET], &[OTHER]], Ignored::BadMac, Ignored::BadMac),
    ];
    for (secrets, at_first, at_second) in cases {
        let mut pair = Pair::new(secrets);
        pair.run(SECOND);
        assert_eq!(pair.up(), [false; 2]);
        assert_eq!([pair.why(0), pair.why(1)], [at_first.sentence(), at_second.sentence()]);
    }
}

#[test]
fn another_scheme_and_another_mode_are_found_out_and_named() {
    let other = |scheme, mode| Introduction::new(scheme, mode, Traffic::Tcp);
    for (introduction, reason) in
        [(other("arq", "modern"), Ignored::OtherScheme), (other("gsnoop", "paper"), Ignored::OtherMode)]
    {
        let mut pair = Pair::keyed();
        pair.restart(1, Setup { introduction: introduction.clone(), ..setup(1, &[SECRET]) });
        pair.run(SECOND);
        assert_eq!(pair.up(), [false; 2]);
        assert_eq!([pair.why(0), pair.why(1)], [reason.sentence(); 2]);
        assert_eq!(pair.ends[0].peer_state(pair.now).introduction, Some(introduction));
        let datagram = pair.ends[1].sealed(b"x").unwrap();
        assert_eq!(pair.arrive(0, &datagram), Err(reason));
    }
}

#[test]
fn keys_are_changed_one_end_after_the_other_without_a_moment_out_of_reach() {
    let mut pair = Pair::new([&[OTHER]; 2]);
    pair.run(SECOND * 2);
    for (end, secrets) in [(0, &[SECRET, OTHER][..]), (1, &[SECRET, OTHER]), (0, &[SECRET]), (1, &[SECRET])] {
        pair.restart(end, setup(end, secrets));
        pair.run(Duration::from_millis(300));
        for _ in 0..100 {
            pair.run(Duration::from_millis(50));
            assert_eq!(pair.up(), [true; 2], "{} {}", pair.why(0), pair.why(1));
        }
        pair.assert_works("in between");
    }
}

/// The same life with other secrets.
fn renew(pair: &mut Pair, end: usize, secrets: &[&[u8]]) {
    pair.ends[end].renew(setup(end, secrets));
}

#[test]
fn keys_are_changed_in_the_middle_of_a_life_without_a_moment_out_of_reach() {
    let mut pair = Pair::new([&[OTHER]; 2]);
    pair.run(SECOND * 2);
    let lives = pair.ends[0].lives();
    for (end, secrets) in [(0, &[SECRET, OTHER][..]), (1, &[SECRET, OTHER]), (0, &[SECRET]), (1, &[SECRET])] {
        renew(&mut pair, end, secrets);
        for _ in 0..1_000 {
            pair.run(STEP);
            assert_eq!(pair.up(), [true; 2], "{} {}", pair.why(0), pair.why(1));
        }
        pair.assert_works("in between");
    }
    assert_eq!(pair.ends[0].lives(), lives, "nobody began a new life");
}

#[test]
fn a_renewed_key_that_the_peer_does_not_have_takes_it_out_of_reach_until_it_is_put_right() {
    let mut pair = Pair::new([&[SECRET]; 2]);
    pair.run(SECOND);
    renew(&mut pair, 0, &[OTHER]);
    assert!(!pair.up()[0], "what it said was said with another key");
    pair.run(SECOND * 2);
    assert_eq!(pair.up(), [false; 2]);
    renew(&mut pair, 0, &[SECRET]);
    pair.run(SECOND);
    pair.assert_works("put right");
    // Without a key at one end only, and then at both.
    renew(&mut pair, 0, &[]);
    pair.run(SECOND * 2);
    assert_eq!(pair.up(), [false; 2]);
    renew(&mut pair, 1, &[]);
    pair.run(SECOND);
    pair.assert_works("open at both ends");
}

#[test]
fn another_mode_is_said_and_heard_in_the_middle_of_a_life() {
    let mut pair = Pair::keyed();
    pair.run(SECOND);
    let set_mode = |pair: &mut Pair, end: usize, mode: &str| {
        let introduction = Introduction::new("gsnoop", mode, Traffic::Tcp);
        pair.ends[end].renew(Setup { introduction, ..setup(end, &[SECRET]) });
    };
    set_mode(&mut pair, 0, "paper");
    pair.run(SECOND * 2);
    assert_eq!(pair.up(), [false; 2]);
    set_mode(&mut pair, 1, "paper");
    pair.run(SECOND);
    pair.assert_works("in the other mode");
}

#[test]
fn an_answer_that_somebody_kept_does_not_bring_a_former_life_back() {
    let mut pair = Pair::keyed();
    pair.run(SECOND);
    pair.is_open[0] = false;
    pair.run(Duration::from_millis(500));
    let answers = pair.heard.iter().filter(|(from, _)| *from == 0).rev().take(20);
    let kept: Vec<Vec<u8>> = answers.map(|(_, datagram)| datagram.clone()).collect();
    pair.is_open[0] = true;
    pair.restart(0, setup(0, &[SECRET]));
    pair.run(DELAY * 8);
    for datagram in kept {
        let _ = pair.arrive(1, &datagram);
    }
    pair.assert_works("the new life");
}

/// One thing that somebody between the ends can do.
fn attack(pair: &mut Pair, rng: &mut Rng) {
    let Some((from, recorded)) = pair.heard.get(rng.below(pair.heard.len().max(1) as u64) as usize).cloned() else {
        return;
    };
    let target = rng.below(2) as usize;
    let at = rng.below(recorded.len() as u64) as usize;
    let datagram = match rng.below(6) {
        // Repeated, or sent back.
        0 | 1 => recorded,
        2 => {
            let mut changed = recorded;
            changed[at] ^= 1 << rng.below(8);
            changed
        }
        3 => recorded[..at].to_vec(),
        4 => forged(&recorded, [u64::MAX, 0, 1 << 20, rng.next_u64()][rng.below(4) as usize]),
        _ => {
            // Later than all others.
            let delay = Duration::from_millis(rng.below(2_000));
            pair.flying.push((pair.now + delay, 1 - from, recorded));
            return;
        }
    };
    let _ = pair.arrive(target, &datagram);
}

/// A while of attacks, losses and restarts, then peace. Returns the pair at its end.
fn ordeal(seed: u64, secrets: &[&[u8]]) -> Pair {
    let mut rng = Rng::derive(seed, "ordeal");
    let mut pair = Pair::new([secrets; 2]);
    for step in 0..400u64 {
        pair.is_open = [0, 1].map(|_| rng.below(4) > 0);
        pair.run(Duration::from_millis(rng.below(20)));
        [0, 1].into_iter().for_each(|end| pair.send(end, &[end as u64, step].map(u64::to_be_bytes).concat()));
        for _ in 0..rng.below(8) {
            attack(&mut pair, &mut rng);
        }
        if rng.below(60) == 0 {
            let end = rng.below(2) as usize;
            pair.restart(end, setup(end, secrets));
        }
    }
    pair.is_open = [true; 2];
    pair.run(SECOND);
    pair.assert_works(&format!("peace after seed {seed}"));
    pair
}

#[test]
fn with_a_key_no_sequence_of_attacks_gets_a_message_in_twice_or_from_elsewhere_or_wedges_the_session() {
    for seed in 0..200 {
        let pair = ordeal(seed, &[SECRET]);
        for end in [0u64, 1] {
            let taken = &pair.taken[end as usize];
            let unique: BTreeSet<&Vec<u8>> = taken.iter().collect();
            assert_eq!(unique.len(), taken.len(), "seed {seed}: a message was taken twice");
            let sent_by_peer = |message: &&Vec<u8>| message.len() == 16 && message[7] == 1 - end as u8;
            let real = taken.iter().filter(sent_by_peer).count();
            assert_eq!(real + 1, taken.len(), "seed {seed}: a message of somebody else");
        }
    }
}

#[test]
fn without_a_key_no_sequence_of_attacks_wedges_the_session_for_good() {
    for seed in 0..200 {
        ordeal(seed, &[]);
    }
}

/// IPv4 and UDP header.
const HEADERS: usize = 28;

#[test]
fn questions_are_as_long_as_packets_and_a_path_that_swallows_them_is_short() {
    for secrets in [&[][..], &[SECRET]] {
        let mut pair = Pair::new([secrets; 2]);
        pair.longest = 1400 - HEADERS;
        pair.restart(0, Setup { mtu: Some(1500), ..setup(0, secrets) });
        pair.run(SECOND);
        let now = pair.now;
        // The interface takes more than the file allows.
        pair.ends[0].tell_path_mtu(now, 9000);
        pair.run(SECOND * 40);
        let asked: BTreeSet<usize> = pair.heard.iter().map(|(_, datagram)| datagram.len() + HEADERS).collect();
        assert_eq!(asked.last(), Some(&1500));
        let believed = pair.ends[0].lengths().believed().unwrap();
        assert!((1392..=1400).contains(&believed), "{believed}");
        pair.assert_works("beside questions");
        assert!(pair.heard.iter().all(|(from, datagram)| *from == 0 || datagram.len() < 200), "answers are short");
        // The peer is silent: that says nothing of lengths.
        pair.is_open = [false; 2];
        pair.run(SECOND * 30);
        assert_eq!(pair.ends[0].lengths().believed(), Some(believed));
        pair.is_open = [true; 2];
        pair.run(SECOND * 20);
        assert_eq!((pair.ends[0].lengths().believed(), pair.ends[0].lengths().found()), (Some(believed), 1));
    }
}
