//! What a worker leaves to the one that takes its place: its devices, sockets and programs as open descriptors, and in a few
//! words what it knows. So no packet is lost in between, and nothing is opened anew.
//!
//! All of it goes over the socket that the worker's orders come by, whose other end the supervisor gives to the heir. First the
//! descriptors are *lent*, while the one before works on; once the heir is prepared, the one before *yields* with its last words,
//! and with what the element of each peer leaves, in memory that both can read.
//! A thing that the heir does not know is closed, one that it does not find is opened anew, and last words of another version
//! are ignored.

use super::parcel;
use crate::sys::clock;
use crate::sys::descriptors;
use crate::sys::poll::PollSet;
use airtcp_core::{Duration, Legacy};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The version of [`LastWords`].
const VERSION: u32 = 1;
/// How long the one before may take to lend its things.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The other end was in reach.
    pub in_reach: bool,
    /// What the link carries, where the configuration does not tell.
    pub rate_bps: Option<u64>,
}

/// What the one before says when it has stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWords {
    version: u32,
    /// What is known of each peer, by name; the only one has none.
    pub peers: BTreeMap<String, Known>,
    /// So many things follow, each with what the element of a peer leaves.
    #[serde(default)]
    legacies: usize,
}

/// A line.
#[derive(Serialize, Deserialize)]
enum Line {
    /// A descriptor comes with it.
    Thing(String),
    /// There are no more.
    All,
    /// The one before has stopped.
    Yours(serde_json::Value),
}

impl Line {
    fn send(&self, socket: BorrowedFd<'_>, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        descriptors::send(socket, &bytes, descriptor)
    }
}

/// Lends things to the heir.
///
/// # Errors
/// There is no room on the socket, or no other end.
pub fn lend(socket: BorrowedFd<'_>, things: &[(String, BorrowedFd<'_>)]) -> io::Result<()> {
    for (name, descriptor) in things {
        Line::Thing(name.clone()).send(socket, Some(*descriptor))?;
    }
    Line::All.send(socket, None)
}

/// Says that all is the heir's, what is known of each peer, and what its element leaves.
///
/// # Errors
/// There is no room on the socket, or no other end.
pub fn leave<'a>(
    socket: BorrowedFd<'_>,
    peers: BTreeMap<String, Known>,
    legacies: impl Iterator<Item = (String, &'a Legacy)>,
) -> io::Result<()> {
    // Where there is no memory for it, all but that goes over.
    let things: Vec<_> = legacies.filter_map(|(name, legacy)| Some((name, parcel::pack(legacy).ok()?))).collect();
    let words = LastWords { version: VERSION, peers, legacies: things.len() };
    Line::Yours(serde_json::to_value(words)?).send(socket, None)?;
    for (name, parcel) in things {
        Line::Thing(name).send(socket, Some(parcel.as_fd()))?;
    }
    Ok(())
}

/// What an heir has of the one before; nothing in a worker that is none.
#[derive(Debug, Default)]
pub struct Estate {
    things: BTreeMap<String, OwnedFd>,
    socket: Option<OwnedFd>,
    unread: Vec<u8>,
}

impl Estate {
    /// Takes what is lent over `socket`.
    ///
    /// # Errors
    /// Nothing is, or not in time.
    pub fn receive(socket: OwnedFd) -> io::Result<Estate> {
        let mut estate = Estate { socket: Some(socket), ..Estate::default() };
        let end = clock::now() + PATIENCE;
        let mut coming = VecDeque::new();
        loop {
            match estate.next(end.saturating_since(clock::now()), &mut coming)? {
                Some(Line::Thing(name)) => drop(coming.pop_front().map(|thing| estate.things.insert(name, thing))),
                Some(Line::All) if !estate.things.is_empty() => return Ok(estate),
                _ => return Err(io::Error::other("the worker that runs has nothing to hand over")),
            }
        }
    }

    /// True in a worker that takes another one's place.
    pub fn is_inherited(&self) -> bool {
        self.socket.is_some()
    }

    /// One of the things.
    pub fn take(&mut self, name: &str) -> Option<OwnedFd> {
        self.things.remove(name)
    }

    /// What tells that the one before has stopped.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(|socket| socket.as_fd())
    }

    /// The last words of the one before, and what the element of each peer left; none if there are no words of a version that is
    /// known. What was not taken is closed.
    ///
    /// # Errors
    /// It said none in time. One that is gone has nothing to say.
    pub fn last_words(mut self) -> io::Result<(LastWords, BTreeMap<String, Legacy>)> {
        let mut coming = VecDeque::new();
        let words: LastWords = match self.next(PATIENCE, &mut coming)? {
            Some(Line::Yours(words)) => serde_json::from_value(words).unwrap_or_default(),
            _ => LastWords::default(),
        };
        let mut legacies = BTreeMap::new();
        if words.version != VERSION {
            return Ok((LastWords::default(), legacies));
        }
        for _ in 0..words.legacies {
            let Some(Line::Thing(name)) = self.next(PATIENCE, &mut coming)? else { break };
            if let Some(Ok(legacy)) = coming.pop_front().map(parcel::unpack) {
                legacies.insert(name, legacy);
            }
        }
        Ok((words, legacies))
    }

    /// The next line; `None` if the other end is closed. Each descriptor that came goes into `coming`, also one of a later line.
    fn next(&mut self, patience: Duration, coming: &mut VecDeque<OwnedFd>) -> io::Result<Option<Line>> {
        let Some(socket) = &self.socket else { return Ok(None) };
        let end = clock::now() + patience;
        let mut buffer = [0; 4096];
        loop {
            if let Some(length) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=length).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            let mut set = PollSet::new();
            set.add_readable(socket.as_fd());
            let left = end.saturating_since(clock::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            set.wait(Some(left))?;
            match descriptors::receive(socket.as_fd(), &mut buffer) {
                Ok((0, _)) => return Ok(None),
                Ok((length, descriptor)) => {
                    self.unread.extend_from_slice(&buffer[..length]);
                    coming.extend(descriptor);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Acquaintance;
    use std::os::unix::net::UnixStream;

    fn pair() -> (UnixStream, OwnedFd) {
        let (near, far) = UnixStream::pair().unwrap();
        (near, far.into())
    }

    #[test]
    fn what_is_lent_is_found_by_name_and_the_last_words_follow() {
        let (near, far) = pair();
        let (one, other) = io::pipe().unwrap();
        lend(near.as_fd(), &[("one".into(), one.as_fd()), ("other".into(), other.as_fd())]).unwrap();
        let mut estate = Estate::receive(far).unwrap();
        assert!(estate.is_inherited() && estate.take("none").is_none());
        assert!(estate.take("one").is_some() && estate.take("one").is_none() && estate.take("other").is_some());
        let known = Known { in_reach: true, rate_bps: Some(7) };
        let acquaintance = Some(Acquaintance { epoch: 1, round_trip: Duration::from_millis(7), received: 9 });
        let legacy = Legacy { acquaintance, ..Legacy::default() };
        let legacies = [("north".to_owned(), &legacy), ("south".to_owned(), &Legacy::default())];
        leave(near.as_fd(), [(String::new(), known.clone())].into(), legacies.into_iter()).unwrap();
        let (words, legacies) = estate.last_words().unwrap();
        assert_eq!(words.peers, [(String::new(), known)].into());
        let found: Vec<_> = legacies.iter().map(|(name, legacy)| (&name[..], legacy.acquaintance)).collect();
        assert_eq!(found, [("north", acquaintance), ("south", None)]);
    }

    #[test]
    fn whatever_is_left_arrives_by_its_name_wherever_lines_are_cut() {
        for peers in 70..110 {
            let (near, far) = pair();
            lend(near.as_fd(), &[("own".into(), near.as_fd())]).unwrap();
            let estate = Estate::receive(far).unwrap();
            let name = |n: u64| format!("peer-{n:03}");
            let legacy = |epoch| Legacy {
                acquaintance: Some(Acquaintance { epoch, round_trip: Duration::ZERO, received: 0 }),
                ..Legacy::default()
            };
            let legacies: Vec<_> = (0..peers).map(|n| (name(n), legacy(n))).collect();
            let known = (0..peers).map(|n| (name(n), Known::default())).collect();
            leave(near.as_fd(), known, legacies.iter().map(|(name, legacy)| (name.clone(), legacy))).unwrap();
            let (words, found) = estate.last_words().unwrap();
            assert_eq!((words.peers.len() as u64, found.len() as u64), (peers, peers));
            assert!((0..peers).all(|n| found[&name(n)].acquaintance.is_some_and(|of| of.epoch == n)), "{peers}");
        }
    }

    #[test]
    fn a_worker_of_before_says_nothing_of_what_its_elements_leave() {
        let (near, far) = pair();
        lend(near.as_fd(), &[("own".into(), near.as_fd())]).unwrap();
        let estate = Estate::receive(far).unwrap();
        let words = serde_json::json!({ "version": VERSION, "peers": {} });
        Line::Yours(words).send(near.as_fd(), None).unwrap();
        assert!(estate.last_words().unwrap().1.is_empty());
    }

    #[test]
    fn words_of_another_version_are_ignored_and_one_that_is_gone_says_nothing() {
        for words in [r#"{"version":2,"peers":{"":{"in_reach":true}}}"#, r#"["other"]"#] {
            let (near, far) = pair();
            lend(near.as_fd(), &[("own".into(), near.as_fd())]).unwrap();
            let estate = Estate::receive(far).unwrap();
            Line::Yours(serde_json::from_str(words).unwrap()).send(near.as_fd(), None).unwrap();
            assert_eq!(estate.last_words().unwrap().0, LastWords::default());
        }
        let (near, far) = pair();
        let (thing, _) = io::pipe().unwrap();
        lend(near.as_fd(), &[("thing".into(), thing.as_fd())]).unwrap();
        let estate = Estate::receive(far).unwrap();
        drop(near);
        assert_eq!(estate.last_words().unwrap().0, LastWords::default());
    }

    #[test]
    fn one_that_has_nothing_to_lend_is_told_from_one_that_has() {
        let (near, far) = pair();
        lend(near.as_fd(), &[]).unwrap();
        assert!(Estate::receive(far).unwrap_err().to_string().contains("nothing to hand over"));
    }
}
