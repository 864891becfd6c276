//! Looks names up, in threads of its own: the system's resolver waits.

use super::LineKey;
use crate::sys::event::Event;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};

/// Names looked up at the same time.
const THREADS: usize = 4;
/// Names that wait for that.
const WAITING: usize = 1024;
/// Addresses of a name that are tried.
const ADDRESSES: usize = 8;

type Question = (Asked, String, u16);
/// What the name has that was asked for.
pub type Answer = (Asked, io::Result<VecDeque<SocketAddr>>);

/// Who asked, and with which question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The connection or stream.
    pub key: LineKey,
    /// No other question has it.
    pub number: u64,
}

/// See the module.
pub struct Resolver {
    questions: SyncSender<Question>,
    last: u64,
    answers: Receiver<Answer>,
    ready: Arc<Event>,
}

impl Resolver {
    /// Starts the threads.
    ///
    /// # Errors
    /// The process may have no more.
    pub fn start() -> io::Result<Resolver> {
        let (questions, asked) = sync_channel::<Question>(WAITING);
        let (answer, answers) = channel();
        let (asked, ready) = (Arc::new(Mutex::new(asked)), Arc::new(Event::new()?));
        for _ in 0..THREADS {
            let (asked, answer, ready) = (Arc::clone(&asked), answer.clone(), Arc::clone(&ready));
            let thread = std::thread::Builder::new().name("airtcp-names".into());
            thread.spawn(move || work(&asked, &answer, &ready))?;
        }
        Ok(Resolver { questions, last: 0, answers, ready })
    }

    /// Asks; nothing if too many wait already.
    pub fn ask(&mut self, key: LineKey, name: String, port: u16) -> Option<Asked> {
        self.last += 1;
        let asked = Asked { key, number: self.last };
        match self.questions.try_send((asked, name, port)) {
            Ok(()) => Some(asked),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => None,
        }
    }

    /// The next answer.
    pub fn answer(&self) -> Option<Answer> {
        self.ready.take();
        self.answers.try_recv().ok()
    }

    /// Readable while there are answers.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

fn work(asked: &Mutex<Receiver<Question>>, answer: &Sender<Answer>, ready: &Event) {
    loop {
        let question = asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        let Ok((key, name, port)) = question else { return };
        let found = (name.as_str(), port).to_socket_addrs().map(|found| found.take(ADDRESSES).collect());
        if answer.send((key, found)).is_err() {
            return;
        }
        ready.set();
    }
}
