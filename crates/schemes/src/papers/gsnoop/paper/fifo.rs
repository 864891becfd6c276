//! A's FIFO buffer in front of the link (GSN-3, Fig. 2): drop-tail, its limit in packets, emptied at
//! the link's rate, so that "sent" is known. A repair enters at the head or, as an option, at the tail
//! (GSN-U16).

use crate::egress::{Departure, Egress, EgressSettings, Lane, QueueSize};
use crate::papers::gsnoop::settings::RepairPlace;
use airtcp_core::{Context, Packet, Rate, Rng};
use alloc::collections::VecDeque;

/// The egress queue, and which of the packets in it are repairs.
#[derive(Debug)]
pub(super) struct Fifo {
    pub egress: Egress,
    place: RepairPlace,
    /// Packets that entered at the tail and left from there.
    entered: u64,
    left: u64,
    /// Which of those that wait are repairs, counted as they entered.
    repairs: VecDeque<u64>,
}

/// A packet that has left for the link.
pub(super) struct Sent {
    pub copy: Packet,
    pub is_repair: bool,
}

impl Fifo {
    /// A buffer for `limit` packets and, at most, `max_bytes` bytes.
    pub fn new(rate: Option<Rate>, limit: u64, max_bytes: u64, place: RepairPlace, rng: &Rng) -> Self {
        let settings = EgressSettings::new(rate, QueueSize::packets(limit.max(1)));
        let egress = Egress::new(EgressSettings { max_bytes, ..settings }, rng);
        Fifo { egress, place, entered: 0, left: 0, repairs: VecDeque::new() }
    }

    /// Takes a packet to the tail; gives it back when the buffer is full.
    pub fn push(&mut self, cx: &mut Context<'_>, packet: Packet) -> Result<(), Packet> {
        self.egress.push(cx, packet);
        if let Some((packet, _)) = self.egress.take_dropped() {
            return Err(packet);
        }
        self.entered += 1;
        Ok(())
    }

    /// Takes a repair; gives it back when there is no room. At the head as many may wait as the buffer holds,
    /// beside those in it.
    pub fn push_repair(&mut self, cx: &mut Context<'_>, repair: Packet) -> Result<(), Packet> {
        match self.place {
            RepairPlace::Head => self.egress.push_repair(cx.now(), repair),
            RepairPlace::Tail => {
                self.push(cx, repair)?;
                self.repairs.push_back(self.entered);
                Ok(())
            }
        }
    }

    /// Sends the next packet if the link has time for it.
    pub fn send_next(&mut self, cx: &mut Context<'_>) -> Option<Sent> {
        let departure = self.egress.pop(cx)?;
        let Departure { lane, packet } = &departure;
        let (lane, copy) = (*lane, packet.clone());
        if !self.egress.transmit(cx, departure) {
            return None;
        }
        if lane == Lane::Repair {
            return Some(Sent { copy, is_repair: true });
        }
        self.left += 1;
        let is_repair = self.repairs.front() == Some(&self.left);
        if is_repair {
            self.repairs.pop_front();
        }
        Some(Sent { copy, is_repair })
    }
}
