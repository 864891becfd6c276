//! What a trace is about, drawn from its seed.

use airtcp_core::{Duration, Probability, Rng};
use std::fmt;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Much at once.
    Bulk,
    /// Little, several times, with pauses.
    Short,
    /// Much, while the peer writes, too.
    Both,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Everything below follows from it, and so do all draws of the path.
    pub seed: u64,
    /// Congestion control.
    pub controller: &'static str,
    /// Both sides have timestamps.
    pub timestamps: bool,
    /// Both sides have SACK.
    pub sack: bool,
    /// Both sides have ECN, and the path marks.
    pub ecn: bool,
    /// What is written.
    pub traffic: Traffic,
    /// Segments reach the peer several at a time, and it acknowledges them together.
    pub batches: bool,
    /// Data that are lost, or marked with ECN.
    pub loss: Probability,
    /// Acknowledgments that are lost.
    pub ack_loss: Probability,
    /// Data that are overtaken.
    pub reordering: Probability,
    /// Data that arrive twice.
    pub duplication: Probability,
    /// All data are held up once, so that a timeout is spurious and D-SACKs tell.
    pub stall: Option<Duration>,
    /// Round trip of an empty path.
    pub round_trip: Duration,
    /// Time of a full segment on the link.
    pub spacing: Duration,
    /// Segments that wait for the link at most.
    pub queue: u64,
    /// Segments written each time.
    pub segments: u64,
}

impl Setting {
    /// The setting of a trace.
    pub fn of(seed: u64) -> Setting {
        let mut rng = Rng::derive(seed, "setting");
        let mut one_of = |n: u64| rng.below(n);
        let controller = ["cubic", "cubic", "reno", "bbr"][one_of(4) as usize];
        let traffic = [Traffic::Bulk, Traffic::Bulk, Traffic::Short, Traffic::Both][one_of(4) as usize];
        let timestamps = one_of(3) > 0;
        let sack = one_of(5) > 0;
        let ecn = one_of(4) == 0;
        let batches = one_of(3) == 0;
        let mut percent = |choices: &[u64]| Probability::ratio(choices[one_of(choices.len() as u64) as usize], 100);
        let loss = percent(&[0, 1, 2, 5]);
        let ack_loss = percent(&[0, 0, 3]);
        let reordering = percent(&[0, 0, 2, 8]);
        let duplication = percent(&[0, 0, 0, 3]);
        let stall = (one_of(6) == 0).then(|| Duration::from_millis(250 + one_of(300)));
        let round_trip = Duration::from_millis([12, 25, 40, 80, 120][one_of(5) as usize]);
        let spacing = Duration::from_micros([300, 600, 1200, 3000][one_of(4) as usize]);
        let queue = [15, 40, 100][one_of(3) as usize];
        // BBR soon paces by rates that it has measured, and no two measurements are alike.
        let much = if controller == "bbr" { 4 + one_of(8) } else { 40 + one_of(160) };
        let segments = if traffic == Traffic::Short { 1 + one_of(15) } else { much };
        Setting {
            seed,
            controller,
            timestamps,
            sack,
            ecn,
            traffic,
            batches,
            loss,
            ack_loss,
            reordering,
            duplication,
            stall,
            round_trip,
            spacing,
            queue,
            segments,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} of {} segments", self.controller, self.traffic, self.segments)?;
        let has = [(self.timestamps, "timestamps"), (self.sack, "sack"), (self.ecn, "ecn"), (self.batches, "batches")];
        has.iter().filter(|(is_on, _)| *is_on).try_for_each(|(_, name)| write!(f, ", {name}"))?;
        write!(f, ", {} ms, {} us a segment", self.round_trip.as_millis(), self.spacing.as_micros())?;
        let faults = [
            (self.loss, "loss"),
            (self.ack_loss, "of ACKs"),
            (self.reordering, "reordering"),
            (self.duplication, "duplication"),
        ];
        let faults = faults.iter().filter(|(p, _)| *p != Probability::NEVER);
        faults.into_iter().try_for_each(|(p, name)| write!(f, ", {p} {name}"))?;
        self.stall.map_or(Ok(()), |stall| write!(f, ", stall of {} ms", stall.as_millis()))
    }
}
