//! Messages between the two gateways (GSN-9, GSN-U7): version 1, big endian, one per datagram.
//!
//! ```text
//! byte 0   version (1)
//! byte 1   type: 1 HELLO, 2 NACK, 3 NOT-HERE, 4 POLL, 5 HAVE, 6 RESENT, 7 REPORT
//! HELLO    epoch u64, stamp u64 (sender's clock, ns), echo u64 (other side's stamp, 0 for
//!          none), held u64 (ns the echoed stamp waited here)
//! REPORT   name u32, received u64, stamp u64 (see link_rate/report.rs)
//! others   family u8 (4, 6), source, destination, source port, destination port of the data
//!          direction, count u8 (1..=32), then count x (first, one past last) sequence numbers
//! ```

use crate::hop::take;
use crate::link_rate::Report;
use crate::peer::Hello;
use airtcp_core::{FlowKey, SeqNum};
use alloc::vec::Vec;
use core::net::IpAddr;

const VERSION: u8 = 1;
/// Most ranges in one message.
pub const MAX_RANGES: usize = 32;

/// `[first, one past last)` in sequence numbers.
pub type SeqRange = (SeqNum, SeqNum);

/// A message between the two gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// I am here, this is my epoch; measures the round trip.
    Hello(Hello),
    /// These ranges of the flow did not arrive.
    Nack(FlowKey, Vec<SeqRange>),
    /// These ranges will not be repaired: lost before the link, or flushed.
    NotHere(FlowKey, Vec<SeqRange>),
    /// This is what was sent of the flow; is anything missing?
    Poll(FlowKey, SeqRange),
    /// This range, sent before, was sent again just now; did it arrive?
    Resent(FlowKey, SeqRange),
    /// Answer to POLL: everything up to the end of the range is here.
    Have(FlowKey, SeqRange),
    /// So much came off the link.
    Report(Report),
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.push(VERSION);
        match self {
            Message::Hello(hello) => {
                out.push(1);
                hello.write(&mut out);
            }
            Message::Nack(flow, ranges) => encode_ranges(&mut out, 2, flow, ranges),
            Message::NotHere(flow, ranges) => encode_ranges(&mut out, 3, flow, ranges),
            Message::Poll(flow, range) => encode_ranges(&mut out, 4, flow, &[*range]),
            Message::Have(flow, range) => encode_ranges(&mut out, 5, flow, &[*range]),
            Message::Resent(flow, range) => encode_ranges(&mut out, 6, flow, &[*range]),
            Message::Report(report) => {
                out.push(7);
                report.write(&mut out);
            }
        }
        out
    }

    /// Reads a message; `None` for anything that is not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (head, mut rest) = bytes.split_first_chunk::<2>()?;
        if head[0] != VERSION {
            return None;
        }
        let message = match head[1] {
            1 => Message::Hello(Hello::read(&mut rest)?),
            7 => Message::Report(Report::read(&mut rest)?),
            kind @ 2..=6 => {
                let (flow, ranges) = decode_ranges(&mut rest)?;
                match (kind, ranges.as_slice()) {
                    (2, _) => Message::Nack(flow, ranges),
                    (3, _) => Message::NotHere(flow, ranges),
                    (4, [range]) => Message::Poll(flow, *range),
                    (5, [range]) => Message::Have(flow, *range),
                    (_, [range]) => Message::Resent(flow, *range),
                    _ => return None,
                }
            }
            _ => return None,
        };
        // The planted bug proves that the fuzzer would find one (make fuzz-canary).
        (rest.is_empty() || cfg!(airtcp_planted_bug)).then_some(message)
    }
}

fn encode_ranges(out: &mut Vec<u8>, kind: u8, flow: &FlowKey, ranges: &[SeqRange]) {
    let ranges = &ranges[..ranges.len().min(MAX_RANGES)];
    out.push(kind);
    out.push(if flow.source.is_ipv4() { 4 } else { 6 });
    for address in [flow.source, flow.destination] {
        match address {
            IpAddr::V4(v4) => out.extend(v4.octets()),
            IpAddr::V6(v6) => out.extend(v6.octets()),
        }
    }
    out.extend(flow.source_port.to_be_bytes());
    out.extend(flow.destination_port.to_be_bytes());
    out.push(ranges.len() as u8);
    for (first, end) in ranges {
        out.extend(first.0.to_be_bytes());
        out.extend(end.0.to_be_bytes());
    }
}

fn decode_ranges(rest: &mut &[u8]) -> Option<(FlowKey, Vec<SeqRange>)> {
    let [family] = take(rest)?;
    let mut address = || -> Option<IpAddr> {
        match family {
            4 => take::<4>(rest).map(IpAddr::from),
            6 => take::<16>(rest).map(IpAddr::from),
            _ => None,
        }
    };
    let (source, destination) = (address()?, address()?);
    let flow = FlowKey {
        source,
        destination,
        source_port: u16::from_be_bytes(take(rest)?),
        destination_port: u16::from_be_bytes(take(rest)?),
    };
    let [count] = take(rest)?;
    if count == 0 || usize::from(count) > MAX_RANGES {
        return None;
    }
    let mut ranges = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let first = SeqNum(u32::from_be_bytes(take(rest)?));
        let end = SeqNum(u32::from_be_bytes(take(rest)?));
        if !first.before(end) {
            return None;
        }
        ranges.push((first, end));
    }
    Some((flow, ranges))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use std::vec;

    fn flow(v6: bool) -> FlowKey {
        let (source, destination) = if v6 {
            (IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED))
        } else {
            (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)))
        };
        FlowKey { source, destination, source_port: 1, destination_port: 2 }
    }

    fn every_message() -> Vec<Message> {
        let range = (SeqNum(u32::MAX), SeqNum(10));
        vec![
            Message::Hello(Hello { epoch: 1, stamp: 2, echo: 3, held: 4 }),
            Message::Nack(flow(false), vec![range, (SeqNum(5), SeqNum(6))]),
            Message::NotHere(flow(true), vec![range]),
            Message::Poll(flow(false), range),
            Message::Have(flow(true), range),
            Message::Resent(flow(false), range),
        ]
    }

    #[test]
    fn every_message_reads_back() {
        for message in every_message() {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn a_cut_or_longer_message_is_refused() {
        for message in every_message() {
            let mut bytes = message.encode();
            for len in 0..bytes.len() {
                assert_eq!(Message::decode(&bytes[..len]), None, "{message:?} cut to {len}");
            }
            bytes.push(0);
            assert_eq!(Message::decode(&bytes), None);
        }
    }

    #[test]
    fn empty_and_backward_ranges_are_refused() {
        let backward = Message::Poll(flow(false), (SeqNum(6), SeqNum(5))).encode();
        assert_eq!(Message::decode(&backward), None);
        let none = Message::Nack(flow(false), vec![]).encode();
        assert_eq!(Message::decode(&none), None);
    }
}
