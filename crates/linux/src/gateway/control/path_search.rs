//! What length of packets the path carries, found out by asking (RFC 8899): a router that drops what is too long may say
//! nothing, and then the kernel does not know.
//!
//! A question is a challenge as long as the packets in doubt. What the kernel believes is believed at first and asked again
//! from time to time. If a length gets no answer while the peer answers others, the search goes on below it.

use super::pace::Pace;
use airtcp_core::Instant;

/// Questions of one length before it counts as too long. RFC 8899 has 3 (`MAX_PROBES`), for paths that lose little; where a
/// third of all questions or answers is lost, 3 would be wrong each five minutes, 6 each two hours.
const QUESTIONS: usize = 6;
/// IPv6 carries this length over any path (RFC 8200 section 5), and nearly all paths of IPv4 do.
const USUAL_LEAST: u32 = 1280;
/// Below this there is no tunnel over IPv4, either (RFC 791 section 3.1: any host takes so much).
const LEAST: u32 = 576;
/// No IP packet is longer.
const LONGEST: u32 = 65_535;
/// The search ends when so few bytes are open.
const GRAIN: u32 = 8;

/// An answer of the peer.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// When it came.
    pub at: Instant,
    /// When what was answered was sent.
    pub sent: Instant,
}

/// A length that is asked.
#[derive(Debug)]
struct Question {
    length: u32,
    /// Challenges of this length that are open.
    numbers: Vec<u64>,
    last: Instant,
}

/// The search for the longest packet that the path carries.
#[derive(Debug, Default)]
pub struct PathSearch {
    /// What the kernel believes; nothing is asked as long as it says nothing.
    told: Option<u32>,
    /// The longest that was answered.
    carried: u32,
    /// The shortest that was not.
    too_long: Option<u32>,
    question: Option<Question>,
    next: Instant,
    /// When what was too long is tried again.
    again: Instant,
    found: u64,
}

impl PathSearch {
    /// What the kernel believes of the path now. A path of another length is another path.
    pub fn tell(&mut self, now: Instant, told: Option<u32>) {
        let told = told.map(|told| told.min(LONGEST));
        if told != self.told {
            *self = PathSearch { told, next: now, found: self.found, ..PathSearch::default() };
        }
    }

    /// Another path: what was found of the one before counts no more.
    pub fn restart(&mut self, now: Instant) {
        let told = self.told.take();
        self.tell(now, told);
    }

    /// The longest packet that the path carries, as far as is known.
    pub fn believed(&self) -> Option<u32> {
        let told = self.told?;
        Some(if self.too_long.is_none() { told } else { self.carried.max(self.least().min(told)) })
    }

    /// True if it is shorter than the kernel believes.
    pub fn is_black_hole(&self) -> bool {
        self.too_long.is_some()
    }

    /// How many times what was believed turned out to be too long.
    pub fn found(&self) -> u64 {
        self.found
    }

    fn least(&self) -> u32 {
        if self.too_long.is_some_and(|length| length <= USUAL_LEAST) { LEAST } else { USUAL_LEAST }
    }

    /// When there is something to ask.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.told.map(|_| self.next)
    }

    /// The length to ask now, if one is due; the question leaves with [`PathSearch::ask`]. `heard` is what the peer answered
    /// last: its silence says nothing of lengths.
    pub fn poll(&mut self, now: Instant, pace: Pace, heard: Heard) -> Option<u32> {
        let told = self.told.filter(|_| now >= self.next)?;
        if now.saturating_since(heard.at) >= pace.reach() {
            self.question = None;
            self.next = now + pace.question();
            return None;
        }
        if let Some(question) = &self.question
            && question.numbers.len() >= QUESTIONS
        {
            // The last one has had its time, and what was sent after it was answered.
            if heard.sent <= question.last {
                self.question = None;
            } else if let Some(Question { length, .. }) = self.question.take() {
                self.refuse(now, pace, length);
            }
        }
        let open = || self.question.as_ref().map_or_else(|| self.choose(now, told), |question| question.length);
        (now >= self.next).then(open)
    }

    /// The next length to ask: what is believed, the middle of what is open, or, after a long time, what the kernel believes.
    fn choose(&self, now: Instant, told: u32) -> u32 {
        let least = self.least().min(told);
        match self.too_long {
            None => told,
            Some(_) if now >= self.again => told,
            Some(_) if self.carried < least => least,
            Some(too_long) if too_long - self.carried <= GRAIN => self.carried,
            Some(too_long) => self.carried.midpoint(too_long),
        }
    }

    /// A question of this length leaves, as the challenge `number`.
    pub fn ask(&mut self, now: Instant, pace: Pace, length: u32, number: u64) {
        let question = self.question.get_or_insert(Question { length, numbers: Vec::new(), last: now });
        question.numbers.push(number);
        question.last = now;
        let is_last = question.numbers.len() >= QUESTIONS;
        self.next = now + if is_last { pace.patience() } else { pace.question() };
    }

    /// A challenge was answered; it may have been a question.
    pub fn handle_answer(&mut self, now: Instant, pace: Pace, number: u64) {
        let Some(question) = self.question.take_if(|question| question.numbers.contains(&number)) else { return };
        self.carried = self.carried.max(question.length);
        if self.too_long.is_some_and(|too_long| self.carried >= too_long) {
            // It was not too long after all, and what the kernel believes may not be, either.
            self.too_long = self.told.filter(|told| self.carried < *told);
            self.again = now;
        }
        let is_open = |too_long: u32| too_long - self.carried > GRAIN || now >= self.again;
        let is_at_end = !self.too_long.is_some_and(is_open);
        self.next = if is_at_end { now + pace.check() } else { now };
    }

    /// A length is not carried.
    fn refuse(&mut self, now: Instant, pace: Pace, length: u32) {
        self.found += u64::from(self.believed().is_some_and(|believed| length <= believed));
        // A path that became shorter.
        self.carried = if length <= self.carried { 0 } else { self.carried };
        // After a long time that is what the kernel believes, and the search goes on below it: the path may be longer again.
        self.too_long = Some(length);
        self.again = now + pace.retry();
        if length <= LEAST {
            // There is nothing below to be asked.
            self.next = now + pace.check();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;

    const ROUND_TRIP: Duration = Duration::from_millis(40);
    const STEP: Duration = Duration::from_millis(10);
    const SECOND: Duration = Duration::from_secs(1);

    /// A path that carries so much, and a peer that answers what arrives and is heard anyway.
    struct Path {
        now: Instant,
        search: PathSearch,
        carries: u32,
        is_there: bool,
        /// Of so many questions one is answered.
        answered_one_of: u64,
        asked: u64,
        answers: Vec<(Instant, u64)>,
        round_trip: Duration,
    }

    fn before(now: Instant, time: Duration) -> Instant {
        Instant::from_nanos(now.as_nanos() - time.as_nanos())
    }

    impl Path {
        fn new(told: u32, carries: u32) -> Path {
            let now = Instant::from_nanos(5_000_000_000);
            let mut search = PathSearch::default();
            search.tell(now, Some(told));
            let answers = Vec::new();
            Path { now, search, carries, is_there: true, answered_one_of: 1, asked: 0, answers, round_trip: ROUND_TRIP }
        }

        fn run(&mut self, time: Duration) {
            let (until, pace) = (self.now + time, Pace::new(None));
            let mut heard = Heard { at: self.now, sent: self.now };
            while self.now < until {
                self.now += STEP;
                if self.is_there {
                    heard = Heard { at: self.now, sent: before(self.now, self.round_trip) };
                }
                let (now, search) = (self.now, &mut self.search);
                self.answers.retain(|(at, number)| {
                    let is_due = *at <= now;
                    if is_due {
                        search.handle_answer(now, pace, *number);
                    }
                    !is_due
                });
                if let Some(length) = search.poll(now, pace, heard) {
                    self.asked += 1;
                    search.ask(now, pace, length, self.asked);
                    assert!(search.poll_timeout() > Some(now), "it cannot ask for ever");
                    if self.is_there && length <= self.carries && self.asked.is_multiple_of(self.answered_one_of) {
                        self.answers.push((now + self.round_trip, self.asked));
                    }
                }
            }
        }
    }

    #[test]
    fn what_the_kernel_believes_is_asked_from_time_to_time_and_stays() {
        let mut path = Path::new(1500, 1500);
        path.run(SECOND * 60);
        assert_eq!((path.search.believed(), path.search.found()), (Some(1500), 0));
        assert!((6..=7).contains(&path.asked), "{}", path.asked);
    }

    #[test]
    fn a_path_that_swallows_long_packets_is_found_out_within_seconds_and_measured() {
        for carries in [576, 700, 1000, 1279, 1280, 1281, 1400, 1450, 1492, 1499] {
            let mut path = Path::new(1500, carries);
            path.run(SECOND * 5);
            let believed = path.search.believed().unwrap();
            assert!(believed <= carries.max(USUAL_LEAST), "{carries}: {believed}");
            path.run(SECOND * 50);
            let believed = path.search.believed().unwrap();
            assert!(believed <= carries && believed + GRAIN >= carries, "{carries}: {believed}");
            let found = path.search.found();
            assert!((1..=2).contains(&found), "{carries}: {found}");
            let asked = path.asked;
            path.run(SECOND * 60);
            assert!(path.asked - asked <= 7, "{carries}: asked {} times more", path.asked - asked);
        }
    }

    #[test]
    fn a_path_that_becomes_shorter_is_noticed_and_one_that_becomes_longer_after_ten_minutes() {
        let mut path = Path::new(9000, 9000);
        path.run(SECOND * 25);
        assert_eq!(path.search.believed(), Some(9000));
        for (carries, time) in [(1500, 80), (1400, 80), (1492, 700), (4000, 700)] {
            path.carries = carries;
            path.run(SECOND * time);
            let believed = path.search.believed().unwrap();
            assert!((carries - GRAIN..=carries).contains(&believed), "{carries}: {believed}");
        }
        path.carries = 9000;
        path.run(SECOND * 700);
        assert_eq!((path.search.believed(), path.search.found()), (Some(9000), 2));
    }

    #[test]
    fn a_try_of_what_was_too_long_leaves_what_is_believed_until_it_is_answered() {
        let mut path = Path::new(1500, 1400);
        path.run(SECOND * 50);
        for _ in 0..100 {
            path.run(SECOND * 10);
            assert!(path.search.believed().unwrap() <= 1400);
        }
        assert_eq!(path.search.found(), 1);
    }

    #[test]
    fn a_silent_peer_says_nothing_of_lengths() {
        let mut path = Path::new(1500, 1500);
        path.run(SECOND);
        path.is_there = false;
        path.run(SECOND * 100);
        assert_eq!((path.search.believed(), path.search.found()), (Some(1500), 0));
        path.is_there = true;
        path.run(SECOND * 20);
        assert_eq!((path.search.believed(), path.search.found()), (Some(1500), 0));
    }

    #[test]
    fn a_lossy_path_is_no_short_one() {
        let mut path = Path::new(1500, 1500);
        // The last of as many as are asked.
        path.answered_one_of = 6;
        path.run(SECOND * 600);
        assert_eq!((path.search.believed(), path.search.found()), (Some(1500), 0));
    }

    #[test]
    fn a_path_with_a_round_trip_of_almost_three_seconds_is_no_short_one() {
        let mut path = Path::new(1500, 1500);
        path.round_trip = Duration::from_millis(2_900);
        path.run(SECOND * 600);
        assert_eq!((path.search.believed(), path.search.found()), (Some(1500), 0));
    }

    #[test]
    fn a_length_that_is_carried_after_all_is_no_proof_of_longer_ones() {
        let mut path = Path::new(1500, 500);
        path.run(SECOND * 60);
        assert_eq!(path.search.believed(), Some(LEAST));
        path.carries = 1400;
        for _ in 0..70 {
            path.run(SECOND);
            assert!(path.search.believed().unwrap() <= 1400);
        }
        assert!(path.search.believed().unwrap() + GRAIN >= 1400);
    }

    #[test]
    fn another_path_is_believed_anew() {
        let mut path = Path::new(1500, 1400);
        path.run(SECOND * 50);
        path.search.tell(path.now, Some(1300));
        assert_eq!(path.search.believed(), Some(1300));
        path.search.tell(path.now, Some(1500));
        path.run(SECOND * 50);
        assert!(path.search.believed().unwrap() <= 1400);
        path.search.restart(path.now);
        assert_eq!(path.search.believed(), Some(1500));
        path.search.tell(path.now, None);
        assert_eq!((path.search.believed(), path.search.poll_timeout()), (None, None));
    }
}
