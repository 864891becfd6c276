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

type Question = (LineKey, String, u16);
/// Which connection asked, and what the name has.
pub type Answer = (LineKey, io::Result<VecDeque<SocketAddr>>);

/// See the module.
pub struct Resolver {
    questions: SyncSender<Question>,
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
        Ok(Resolver { questions, answers, ready })
    }

    /// Asks; false if too many wait already.
    pub fn ask(&self, key: LineKey, name: String, port: u16) -> bool {
        !matches!(
            self.questions.try_send((key, name, port)),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_))
        )
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
