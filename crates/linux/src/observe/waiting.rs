//! How long packets wait: round trips beyond the shortest one, and whether that is a queue.
//!
//! As NewReno's and Zigzag's losses are told apart (Cen, Cosman and Voelker, 2003): what is lost while round trips are long is
//! congestion, and what is lost while they are short is not.

use airtcp_core::Duration;

/// Round trips of which the shortest is taken for the present one: a delayed acknowledgment or a busy host lengthens one, a queue
/// all of them.
const LATEST: usize = 3;
/// A shorter wait is no queue: clocks, schedulers and Wi-Fi's access to the medium take as long.
const LEAST_QUEUE: Duration = Duration::from_millis(5);

/// The round trips of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Of each two in a row the longer one: a single one may be wrong.
    shortest: Option<Duration>,
    last: Option<Duration>,
    latest: [Duration; LATEST],
    count: usize,
    longest_wait: Duration,
}

impl Waiting {
    /// Takes a round trip. How long packets wait now, once that is known.
    pub fn take(&mut self, round_trip: Duration) -> Option<Duration> {
        let round_trip = round_trip.max(Duration::from_nanos(1));
        if let Some(last) = self.last.replace(round_trip) {
            let longer = last.max(round_trip);
            self.shortest = Some(self.shortest.map_or(longer, |shortest| shortest.min(longer)));
        }
        self.latest[self.count % LATEST] = round_trip;
        self.count = if self.count + 1 == 2 * LATEST { LATEST } else { self.count + 1 };
        let wait = self.now()?;
        self.longest_wait = self.longest_wait.max(wait);
        Some(wait)
    }

    /// The shortest round trip.
    pub fn shortest(&self) -> Option<Duration> {
        self.shortest
    }

    /// How long packets wait now.
    pub fn now(&self) -> Option<Duration> {
        let present = self.latest.iter().min().filter(|_| self.count >= LATEST)?;
        Some(present.saturating_sub(self.shortest?))
    }

    /// Packets wait now in a queue that is at least half as long as it ever was.
    pub fn is_queue(&self) -> bool {
        self.now().is_some_and(|wait| self.is_long(wait))
    }

    /// The same of what had this round trip.
    pub fn is_queue_at(&self, round_trip: Duration) -> bool {
        self.shortest.is_some_and(|shortest| self.is_long(round_trip.saturating_sub(shortest)))
    }

    fn is_long(&self, wait: Duration) -> bool {
        wait >= LEAST_QUEUE && wait.saturating_mul(2) >= self.longest_wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(round_trips: &[u64]) -> Waiting {
        let mut waiting = Waiting::default();
        for ms in round_trips {
            let _ = waiting.take(Duration::from_millis(*ms));
        }
        waiting
    }

    #[test]
    fn round_trips_that_stay_long_are_a_queue_and_a_single_one_is_none() {
        assert!(after(&[50, 50, 50, 80, 90, 90]).is_queue());
        assert!(!after(&[50, 50, 50, 50, 50, 90]).is_queue(), "an acknowledgment was late");
        assert!(!after(&[50, 53, 54, 54]).is_queue(), "no queue waits for so little");
        assert!(!after(&[50, 90, 90, 90, 60, 60, 60]).is_queue(), "nearly empty again");
        assert!(!after(&[]).is_queue());
        assert_eq!(after(&[50, 1, 50, 60]).shortest(), Some(Duration::from_millis(50)), "one is none");
    }

    #[test]
    fn any_number_of_round_trips_is_taken() {
        let mut waiting = after(&[5; 1000]);
        assert_eq!(waiting.take(Duration::ZERO), Some(Duration::ZERO));
        waiting.take(Duration::ZERO);
        assert_eq!(waiting.shortest(), Some(Duration::from_nanos(1)));
    }
}
