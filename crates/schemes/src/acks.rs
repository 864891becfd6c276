//! What an acknowledgment off the link means for the data that went out over it: progress, a
//! duplicate that tells of a loss (RFC 5681 section 2), or neither.

use crate::position::{self, Position};
use airtcp_core::{Packet, TcpHeader};

/// What an acknowledgment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It acknowledges more than any before it.
    New,
    /// It says again that everything up to its number arrived, because something above did.
    Duplicate,
    /// Overtaken, a window update, a report of a duplicate, or nothing to do with what passed here.
    Other,
}

/// The highest acknowledgment of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckTrack {
    highest: Option<Position>,
    window: u16,
}

impl AckTrack {
    /// Everything before this is acknowledged, if any acknowledgment was seen.
    pub fn highest(&self) -> Option<Position> {
        self.highest
    }

    /// Takes an acknowledgment for data of which everything before `seen` passed here. Also says
    /// which position it names.
    pub fn classify(&mut self, packet: &Packet, tcp: &TcpHeader, seen: Position) -> (Kind, Position) {
        let number = position::near(seen, tcp.acknowledgment);
        // What never passed here cannot be acknowledged: another path, or forged.
        if !tcp.flags.ack() || number > seen {
            return (Kind::Other, number);
        }
        let kind = match self.highest {
            Some(highest) if number < highest => return (Kind::Other, number),
            Some(highest) if number == highest => self.judge_repeated(packet, tcp, number < seen),
            _ => Kind::New,
        };
        self.highest = Some(number);
        self.window = tcp.window;
        (kind, number)
    }

    /// RFC 5681 section 2: no payload, no SYN or FIN, the same window, something outstanding. A
    /// receiver that reports blocks may move its window meanwhile.
    fn judge_repeated(&self, packet: &Packet, tcp: &TcpHeader, is_outstanding: bool) -> Kind {
        let same_window = tcp.window == self.window || !tcp.options.sack.is_empty();
        if is_pure(packet, tcp) && same_window && is_outstanding && !reports_duplicate(tcp) {
            Kind::Duplicate
        } else {
            Kind::Other
        }
    }
}

/// True if it carries nothing but an acknowledgment.
pub(crate) fn is_pure(packet: &Packet, tcp: &TcpHeader) -> bool {
    tcp.flags.ack() && !tcp.flags.rst() && packet.sequence_len() == 0
}

/// RFC 2018: something above what is acknowledged arrived.
pub(crate) fn reports_hole(tcp: &TcpHeader) -> bool {
    tcp.options.sack.as_slice().iter().any(|(left, _)| left.after(tcp.acknowledgment))
}

/// RFC 2883: the first block lies below the acknowledgment, so something arrived twice.
pub(crate) fn reports_duplicate(tcp: &TcpHeader) -> bool {
    tcp.options.sack.as_slice().first().is_some_and(|(_, right)| right.at_or_before(tcp.acknowledgment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, data, edited};
    use airtcp_core::SeqNum;

    fn classify(track: &mut AckTrack, packet: &Packet) -> Kind {
        let seen = position::first(SeqNum(10_000));
        track.classify(packet, packet.tcp().unwrap(), seen).0
    }

    #[test]
    fn progress_is_new_and_the_same_number_a_duplicate() {
        let mut track = AckTrack::default();
        let kinds = [1000, 2000, 2000, 1000, 2000].map(|number| classify(&mut track, &ack(number)));
        assert_eq!(kinds, [Kind::New, Kind::New, Kind::Duplicate, Kind::Other, Kind::Duplicate]);
    }

    #[test]
    fn numbers_go_on_across_the_wrap() {
        let mut track = AckTrack::default();
        let seen = position::near(position::first(SeqNum(u32::MAX - 1000)), SeqNum(5000));
        let mut kind = |number| track.classify(&ack(number), ack(number).tcp().unwrap(), seen).0;
        assert_eq!([kind(u32::MAX - 500), kind(10), kind(10)], [Kind::New, Kind::New, Kind::Duplicate]);
    }

    #[test]
    fn what_only_moves_the_window_is_no_duplicate_unless_it_reports_blocks() {
        let mut track = AckTrack::default();
        let wider = edited(&ack(1000), |tcp| tcp.window += 1);
        assert_eq!([ack(1000), wider].map(|packet| classify(&mut track, &packet)), [Kind::New, Kind::Other]);
        let reporting = edited(&ack(1000), |tcp| {
            tcp.options.sack.push(SeqNum(3000), SeqNum(4000));
        });
        assert_eq!(classify(&mut track, &reporting), Kind::Duplicate);
    }

    #[test]
    fn a_report_of_a_duplicate_tells_of_no_loss() {
        let mut track = AckTrack::default();
        let dsack = edited(&ack(1000), |tcp| {
            tcp.options.sack.push(SeqNum(0), SeqNum(1000));
        });
        assert_eq!([ack(1000), dsack].map(|packet| classify(&mut track, &packet)), [Kind::New, Kind::Other]);
    }

    #[test]
    fn data_and_acknowledgments_of_everything_are_no_duplicates() {
        let mut track = AckTrack::default();
        let with_data = edited(&data(77), |tcp| tcp.acknowledgment = SeqNum(1000));
        assert_eq!([ack(1000), with_data].map(|packet| classify(&mut track, &packet)), [Kind::New, Kind::Other]);
        let all = [ack(10_000), ack(10_000), ack(10_001)];
        assert_eq!(all.map(|packet| classify(&mut track, &packet)), [Kind::New, Kind::Other, Kind::Other]);
    }
}
