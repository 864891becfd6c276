//! What was seen of a link: counters and times, from which [`judge`](super::judge) reckons. All of it is of fixed size.

use serde::Serialize;

/// What is seen of a link, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Seconds that were watched.
    pub seconds: f64,
    /// Packets that came too fast to be looked at.
    pub unseen_packets: u64,
    /// IP bytes between gateways of ours, in which nothing else can be told.
    pub own_bytes: u64,
    /// What is known of the other end of the hop.
    pub peer: Peer,
    /// What the scheme of the file repairs.
    pub repairs: Repairs,
    /// The rate that the file tells, in bit/s.
    pub told_bps: Option<f64>,
    /// What leaves through the link.
    pub out: Way,
    /// What arrives on it.
    #[serde(rename = "in")]
    pub into: Way,
    /// What probes to the other end met, if it answers.
    pub hop: Option<Hop>,
}

/// The other end of the hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// The file names none: nothing of ours can be there.
    #[default]
    None,
    /// It is named and answers no probes: nothing runs there yet.
    Silent,
    /// It answers.
    Answers,
}

/// What a scheme repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repairs {
    /// Segments of TCP.
    Tcp,
    /// Packets of any kind.
    #[default]
    All,
}

/// Kinds of traffic, by IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// TCP.
    pub tcp: u64,
    /// QUIC.
    pub quic: u64,
    /// WireGuard, IPsec, OpenVPN.
    pub vpn: u64,
    /// Anything else, but what gateways of ours send each other.
    pub other: u64,
}

impl Bytes {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.tcp + self.quic + self.vpn + self.other
    }
}

/// One direction of the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Way {
    /// What passed.
    pub bytes: Bytes,
    /// Segments of TCP with data.
    pub segments: u64,
    /// Of these, lost on the far side: over this hop or beyond it. Behind us, what passed and was sent again; before us, holes
    /// that were filled later.
    pub lost: u64,
    /// Of the lost, those that were lost while packets waited: in a queue that was full.
    pub lost_in_queue: u64,
    /// Loss events: what else was lost, what is lost within a round trip or in a row counted once.
    pub events: u64,
    /// The same of what was lost in a queue.
    pub events_in_queue: u64,
    /// Runs of lost segments: of 1, 2, 3 to 4, 5 to 8, and so on; the last has all that are longer than 64.
    pub bursts: [u64; 8],
    /// Segments lost on the near side of this box, before they came to the link or behind it.
    pub lost_elsewhere: u64,
    /// Packets of tunnels that carry numbers, and those whose numbers are missing; only of what arrives.
    pub numbered: u64,
    /// See `numbered`.
    pub numbers_missing: u64,
    /// Shortest round trip on the far side, in ms: the mean over flows, by their segments.
    pub round_trip_ms: Option<f64>,
    /// The same of the whole path, as far as timestamps tell.
    pub path_ms: Option<f64>,
    /// How much longer round trips were than a flow's shortest: the mean, and the most of any, in ms.
    pub wait_ms: f64,
    /// See `wait_ms`.
    pub longest_wait_ms: f64,
    /// Bytes of payload in a full segment.
    pub segment_bytes: u32,
    /// Seconds in which a long flow was under way.
    pub busy_seconds: f64,
    /// The same, times the number of these flows.
    pub flow_seconds: f64,
    /// What was carried meanwhile, by all kinds, in bit/s.
    pub busy_bps: f64,
    /// The most that was carried in a second, in bit/s.
    pub peak_bps: f64,
}

impl Way {
    /// Segments that were lost though nothing waited, as a share.
    pub fn loss(&self) -> f64 {
        share(self.repairable(), self.segments)
    }

    /// The part of the loss events that were no congestion.
    pub fn repairable_events(&self) -> f64 {
        share(self.events, self.events + self.events_in_queue)
    }

    /// Loss events for each segment.
    pub fn event_rate(&self) -> f64 {
        share(self.events, self.segments)
    }

    /// Segments that were lost though nothing waited.
    pub fn repairable(&self) -> u64 {
        self.lost.saturating_sub(self.lost_in_queue)
    }

    /// Counts a run of so many losses.
    pub fn count_burst(&mut self, length: u32) {
        count_burst(&mut self.bursts, length);
    }
}

/// What probes between the two ends met.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hop {
    /// Probes whose fate is known.
    pub sent: u64,
    /// Of these, lost on the way out.
    pub lost: u64,
    /// Of the lost, those that were lost while packets waited.
    pub lost_in_queue: u64,
    /// Answers lost on the way back.
    pub answers_lost: u64,
    /// Runs of losses on the way out, as [`Way::bursts`].
    pub bursts: [u64; 8],
    /// Shortest round trip, in ms.
    pub round_trip_ms: f64,
    /// How much longer round trips were: the mean, and the most, in ms.
    pub wait_ms: f64,
    /// See `wait_ms`.
    pub longest_wait_ms: f64,
    /// The rate at which trains of probes came in, in bit/s.
    pub rate_bps: Option<f64>,
    /// Bytes of probes sent, with their headers.
    pub bytes: u64,
}

impl Hop {
    /// Runs of losses on the way out.
    pub fn runs(&self) -> u64 {
        self.bursts.iter().sum()
    }
}

/// Adds a run of so many losses to its class.
pub fn count_burst(bursts: &mut [u64; 8], length: u32) {
    if length > 0 {
        let class = u32::BITS - (length - 1).leading_zeros();
        bursts[(class as usize).min(bursts.len() - 1)] += 1;
    }
}

/// A part of a whole, 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_by_powers_of_two() {
        let mut bursts = [0; 8];
        [1, 2, 3, 4, 5, 64, 65, u32::MAX, 0].into_iter().for_each(|length| count_burst(&mut bursts, length));
        assert_eq!(bursts, [1, 1, 2, 1, 0, 0, 1, 2]);
    }
}
