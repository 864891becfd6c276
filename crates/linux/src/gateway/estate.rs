//! What a worker leaves to the one that takes its place: its devices, sockets and programs as open descriptors, and in a few
//! words what it knows. So no packet is lost in between, and nothing is opened anew.
//!
//! All of it goes over the socket that the worker's orders come by, whose other end the supervisor gives to the heir. First the
//! descriptors are *lent*, while the one before works on; once the heir is prepared, the one before *yields* with its last words,
//! and with what waited for each link, in memory that both can read.
//! A thing that the heir does not know is closed, one that it does not find is opened anew, and last words of another version
//! are ignored.

use super::parcel;
use crate::sys::clock;
use crate::sys::descriptors;
use crate::sys::poll::PollSet;
use airtcp_core::{Duration, Packet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// So many things follow, each with what waits for a peer's link.
    #[serde(default)]
    waiting: usize,
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

/// Says that all is the heir's, what is known of each peer, and what waits for its link.
///
/// # Errors
/// There is no room on the socket, or no other end.
pub fn leave<'a>(
    socket: BorrowedFd<'_>,
    peers: BTreeMap<String, Known>,
    waiting: impl Iterator<Item = (String, &'a Vec<Packet>)>,
) -> io::Result<()> {
    let mut things = Vec::new();
    for (name, packets) in waiting.filter(|(_, packets)| !packets.is_empty()) {
        things.push((name, parcel::pack(packets)?));
    }
    let words = LastWords { version: VERSION, peers, waiting: things.len() };
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
        let mut coming = None;
        loop {
            match estate.next(end.saturating_since(clock::now()), &mut coming)? {
                Some(Line::Thing(name)) => drop(coming.take().map(|thing| estate.things.insert(name, thing))),
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

    /// The last words of the one before, and what waits for the link to each peer; none if there are no words of a version that is
    /// known. What was not taken is closed.
    ///
    /// # Errors
    /// It said none in time. One that is gone has nothing to say.
    pub fn last_words(mut self) -> io::Result<(LastWords, BTreeMap<String, Vec<Packet>>)> {
        let mut coming = None;
        let words: LastWords = match self.next(PATIENCE, &mut coming)? {
            Some(Line::Yours(words)) => serde_json::from_value(words).unwrap_or_default(),
            _ => LastWords::default(),
        };
        let mut waiting = BTreeMap::new();
        if words.version != VERSION {
            return Ok((LastWords::default(), waiting));
        }
        for _ in 0..words.waiting {
            let Some(Line::Thing(name)) = self.next(PATIENCE, &mut coming)? else { break };
            if let Some(thing) = coming.take() {
                waiting.insert(name, parcel::unpack(thing)?);
            }
        }
        Ok((words, waiting))
    }

    /// The next line, and into `coming` the descriptor that came with it; `None` if the other end is closed.
    fn next(&mut self, patience: Duration, coming: &mut Option<OwnedFd>) -> io::Result<Option<Line>> {
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
                    *coming = descriptor.or(coming.take());
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
    use std::net::IpAddr;
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
        let packets = packets();
        let waiting = [("north".to_owned(), &packets), ("south".to_owned(), &Vec::new())];
        leave(near.as_fd(), [(String::new(), known.clone())].into(), waiting.into_iter()).unwrap();
        let (words, waiting) = estate.last_words().unwrap();
        assert_eq!(words.peers, [(String::new(), known)].into());
        assert_eq!(waiting.keys().collect::<Vec<_>>(), ["north"]);
        let bytes = |packets: &[Packet]| packets.iter().map(Packet::to_wire).collect::<Vec<_>>();
        assert_eq!(bytes(&waiting["north"]), bytes(&packets));
    }

    fn packets() -> Vec<Packet> {
        let host = |last| IpAddr::from([10, 0, 0, last]);
        (1..3).map(|n| Packet::opaque(host(n), host(9), 253, vec![n; 30 * usize::from(n)].into())).collect()
    }

    #[test]
    fn a_worker_of_before_says_nothing_of_what_waits() {
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
