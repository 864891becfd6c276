//! A varying quantity at work.

use airtcp_core::{Duration, Instant};
use alloc::boxed::Box;
use core::fmt::Debug;

/// A value, and until when it lasts, from the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece<T> {
    pub(crate) value: T,
    pub(crate) until: Duration,
}

/// Where pieces come from: one after the other, each until later than the one before it.
pub(crate) trait Pieces<T>: Debug + Send {
    /// The next piece. The last one lasts for ever, [`Duration::MAX`].
    fn next(&mut self) -> Piece<T>;
}

/// A varying quantity at work.
#[derive(Debug)]
pub(crate) struct Course<T> {
    pieces: Box<dyn Pieces<T>>,
    now: Piece<T>,
    /// The start of the run.
    pub(crate) origin: Instant,
}

impl<T> Course<T> {
    pub(crate) fn new(mut pieces: Box<dyn Pieces<T>>) -> Self {
        Course { now: pieces.next(), pieces, origin: Instant::ZERO }
    }

    /// The value at a time, and until when it lasts. No later call may ask for an earlier time.
    pub(crate) fn at(&mut self, time: Instant) -> (&T, Instant) {
        let elapsed = time.saturating_since(self.origin);
        while self.now.until <= elapsed && self.now.until != Duration::MAX {
            self.now = self.pieces.next();
        }
        (&self.now.value, self.origin.saturating_add(self.now.until))
    }
}
