//! How long an exchange takes and what becomes of it.

use super::airtime::FrameKind;
use super::interface::{Entry, Fate, Frame, Interface};
use super::settings::{ACK_BYTES, CellSettings, RTS_BYTES};
use airtcp_core::{Duration, Instant, Rate};

/// The durations that are the same for every frame of a cell.
#[derive(Clone, Debug)]
pub struct Timing {
    pub slot: Duration,
    sifs: Duration,
    /// An ACK, which is as long as a CTS.
    ack: Duration,
    rts: Duration,
    /// From the end of a frame to the end of the wait for its ACK.
    pub ack_timeout: Duration,
    /// What EIFS is longer than DIFS.
    pub eifs_extra: Duration,
    settings: CellSettings,
}

impl Timing {
    pub fn new(settings: &CellSettings) -> Self {
        let (phy, rate) = (settings.phy, settings.control_rate());
        let ack = phy.frame(rate, ACK_BYTES);
        Timing {
            slot: phy.slot(),
            sifs: phy.sifs(),
            ack,
            rts: phy.frame(rate, RTS_BYTES),
            ack_timeout: phy.sifs() + phy.slot() + phy.preamble(rate),
            eifs_extra: phy.sifs() + phy.frame(phy.lowest_rate(), ACK_BYTES),
            settings: settings.clone(),
        }
    }

    /// What a beacon waits after the medium became idle, and its time on the air.
    pub fn beacon(&self) -> (Duration, Duration) {
        (self.sifs + self.slot, self.settings.phy.frame(self.settings.control_rate(), self.settings.beacon_bytes))
    }

    /// AIFS of so many slots.
    pub fn aifs(&self, slots: u32) -> Duration {
        self.sifs + self.slot.saturating_mul(u64::from(slots))
    }

    /// What a collision of the longest frames costs.
    pub fn longest_opening(&self) -> Duration {
        let bytes = self.settings.mtu + self.settings.overhead;
        if self.has_rts(bytes) { self.rts } else { self.settings.phy.frame(self.data_rate(), bytes) }
    }

    fn has_rts(&self, bytes: u32) -> bool {
        self.settings.rts_threshold.is_some_and(|threshold| bytes > threshold)
    }

    fn data_rate(&self) -> Rate {
        self.settings.rate
    }

    /// The frame that carries a packet.
    pub fn frame(&self, entry: Entry) -> Frame {
        let Entry { packet, to, tracked } = entry;
        let bytes = packet.wire_len() + self.settings.overhead;
        Frame {
            to,
            tracked,
            kind: FrameKind::of(&packet),
            air: self.settings.phy.frame(self.data_rate(), bytes),
            bytes,
            has_rts: self.has_rts(bytes),
            is_reverse: false,
            packet: Some(packet),
            short_tries: 0,
            long_tries: 0,
            fate: None,
        }
    }

    /// What a station sends before it hears whether somebody else did, too.
    pub fn opening(&self, frame: &Frame) -> Duration {
        if frame.has_rts { self.rts } else { frame.air }
    }

    /// From its first frame, or the end of the ACK that announced it, to the time at which the medium is free again, for
    /// others, too.
    pub fn exchange(&self, frame: &Frame, fate: Fate) -> Duration {
        let announcement = match (frame.is_reverse, frame.has_rts) {
            (true, _) => self.sifs + self.ack,
            (false, true) => self.rts + self.sifs + self.ack,
            (false, false) => Duration::ZERO,
        };
        if fate == Fate::NoCts {
            return announcement;
        }
        let gap = if announcement.is_zero() { Duration::ZERO } else { self.sifs };
        announcement + gap + frame.air + self.sifs + self.ack
    }

    /// Of the same, the time that somebody sends.
    pub fn on_air(&self, frame: &Frame, fate: Fate) -> Duration {
        let announcement = match (frame.is_reverse, frame.has_rts) {
            (true, _) => self.ack,
            (false, true) => self.rts + self.ack,
            (false, false) => Duration::ZERO,
        };
        match fate {
            Fate::NoCts if frame.is_reverse => self.ack,
            Fate::NoCts => self.rts,
            Fate::Damaged => announcement + frame.air,
            Fate::Acked | Fate::AckLost => announcement + frame.air + self.ack,
        }
    }
}

/// Draws what happens to the frame of `interface` if it is sent alone at `begin`, or sent back. Every draw is made, so that one probability shifts
/// no other's draws.
pub fn draw_fate(interface: &mut Interface, begin: Instant) -> Fate {
    let control = &mut interface.control_loss;
    let Some(frame) = &mut interface.head else { return Fate::Damaged };
    if let Some(fate) = frame.fate {
        return fate;
    }
    let is_damaged = interface.data_loss.loses(begin, frame.bytes);
    let is_announced = match (frame.is_reverse, frame.has_rts) {
        (true, _) => !control.loses(begin, ACK_BYTES),
        (false, true) => !(control.loses(begin, RTS_BYTES) | control.loses(begin, ACK_BYTES)),
        (false, false) => true,
    };
    let is_ack_lost = control.loses(begin, ACK_BYTES);
    let fate = match (is_announced, is_damaged, is_ack_lost) {
        (false, ..) => Fate::NoCts,
        (true, true, _) => Fate::Damaged,
        (true, false, true) => Fate::AckLost,
        (true, false, false) => Fate::Acked,
    };
    frame.fate = Some(fate);
    fate
}
