//! Between a script's numbers, which count from each side's SYN, and those of segments.

use crate::script::{OptionSpec, SegmentSpec, SegmentSpecOptions};
use crate::stack::Addresses;
use airtcp_core::{Packet, SackBlocks, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use bytes::Bytes;

/// The script's own first sequence number; it wraps within the first segments.
const REMOTE_FIRST: SeqNum = SeqNum(u32::MAX - 3000);

/// The connection as its segments show it.
pub struct Wire {
    addresses: Addresses,
    /// Ports of the stack and of the script.
    ports: (u16, u16),
    /// The stack's first sequence number, once seen.
    local_first: Option<SeqNum>,
    /// The stack's timestamp clock beyond the script's, once seen.
    clock_offset: Option<u32>,
}

impl Wire {
    pub fn new(addresses: Addresses, ports: (u16, u16)) -> Self {
        Wire { addresses, ports, local_first: None, clock_offset: None }
    }

    /// One whose stack's numbers are known, and whose timestamps are the script's.
    pub fn of_sender(addresses: Addresses, ports: (u16, u16), first: SeqNum) -> Self {
        Wire { addresses, ports, local_first: Some(first), clock_offset: Some(0) }
    }

    /// What the script injects, in the stack's numbers.
    pub fn build(&self, spec: &SegmentSpec) -> Result<Packet, String> {
        let tcp = TcpHeader {
            source_port: self.ports.1,
            destination_port: self.ports.0,
            sequence: REMOTE_FIRST + spec.start,
            acknowledgment: spec.ack.map_or(Ok(SeqNum(0)), |ack| self.of_stack(ack))?,
            flags: spec.flags,
            window: spec.window.unwrap_or(0),
            urgent: 0,
            options: self.options(&spec.options)?,
        };
        let segment = Segment {
            source: self.addresses.remote,
            destination: self.addresses.local,
            traffic_class: spec.ecn.map_or(0, airtcp_core::Ecn::bits),
            tcp,
        };
        Ok(Packet::tcp_bytes(&segment, Bytes::from(vec![0; spec.len as usize])))
    }

    /// A number of the stack's sequence.
    fn of_stack(&self, relative: u32) -> Result<SeqNum, String> {
        let first = self.local_first.ok_or("the stack has sent nothing yet that this could acknowledge")?;
        Ok(first + relative)
    }

    fn options(&self, specs: &SegmentSpecOptions) -> Result<TcpOptions, String> {
        let mut options = TcpOptions::default();
        let SegmentSpecOptions::These(specs) = specs else { return Ok(options) };
        for spec in specs {
            match spec {
                OptionSpec::Mss(mss) => options.mss = Some(*mss),
                OptionSpec::WindowScale(shift) => options.window_scale = Some(*shift),
                OptionSpec::SackPermitted => options.sack_permitted = true,
                OptionSpec::Timestamps(value, echo) => {
                    let echo = echo.wrapping_add(self.clock_offset.unwrap_or(0));
                    options.timestamps = Some(Timestamps { value: *value, echo });
                }
                OptionSpec::Sack(blocks) => {
                    for (left, right) in blocks {
                        options.sack.push(self.of_stack(*left)?, self.of_stack(*right)?);
                    }
                }
            }
        }
        Ok(options)
    }

    /// A segment that left, in words, whatever was expected.
    pub fn name(&mut self, packet: &Packet) -> String {
        let nothing = SegmentSpec {
            ecn: None,
            flags: TcpFlags::default(),
            start: 0,
            len: 0,
            ack: None,
            window: None,
            options: SegmentSpecOptions::Any,
        };
        self.describe(packet, &nothing).map_or("a segment".to_owned(), |spec| spec.to_string())
    }

    /// A segment that left, in the script's numbers; learns the stack's.
    pub fn describe(&mut self, packet: &Packet, expected: &SegmentSpec) -> Option<SegmentSpec> {
        let tcp = packet.tcp().filter(|tcp| (tcp.source_port, tcp.destination_port) == self.ports)?;
        let first = *self.local_first.get_or_insert(tcp.sequence);
        let relative = |number: SeqNum| number.0.wrapping_sub(first.0);
        let theirs = |number: SeqNum| number.0.wrapping_sub(REMOTE_FIRST.0);
        let mut options = Vec::new();
        options.extend(tcp.options.mss.map(OptionSpec::Mss));
        options.extend(tcp.options.sack_permitted.then_some(OptionSpec::SackPermitted));
        if let Some(Timestamps { value, echo }) = tcp.options.timestamps {
            let offset = *self.clock_offset.get_or_insert_with(|| value.wrapping_sub(timestamp_of(expected)));
            options.push(OptionSpec::Timestamps(value.wrapping_sub(offset), echo));
        }
        options.extend(tcp.options.window_scale.map(OptionSpec::WindowScale));
        if tcp.options.sack != SackBlocks::default() {
            let blocks = tcp.options.sack.as_slice().iter();
            options.push(OptionSpec::Sack(blocks.map(|(left, right)| (theirs(*left), theirs(*right))).collect()));
        }
        Some(SegmentSpec {
            ecn: Some(packet.ip().ecn()),
            flags: tcp.flags,
            start: relative(tcp.sequence),
            len: packet.payload_len(),
            ack: tcp.flags.ack().then(|| theirs(tcp.acknowledgment)),
            window: Some(tcp.window),
            options: SegmentSpecOptions::These(options),
        })
    }
}

fn timestamp_of(spec: &SegmentSpec) -> u32 {
    let SegmentSpecOptions::These(options) = &spec.options else { return 0 };
    let value = options.iter().find_map(|option| match option {
        OptionSpec::Timestamps(value, _) => Some(*value),
        _ => None,
    });
    value.unwrap_or(0)
}
