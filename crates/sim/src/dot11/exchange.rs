//! How long an exchange takes and what becomes of it.

use super::agreement::{Aggregate, Limits};
use super::entry::Entry;
use super::interface::{Fate, Frame, Interface, Load};
use super::modulation::Modulation;
use super::phy::{Band, Phy};
use super::settings::{ACK_BYTES, BLOCK_ACK_BYTES, CellSettings, POLL_BYTES, REQUEST_BYTES, RTS_BYTES};
use crate::index::InterfaceId;
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
    phy: Phy,
    band: Band,
    data_rate: Rate,
    control_rate: Rate,
    /// Of frames that may be aggregated.
    modulation: Option<Modulation>,
    overhead: u32,
    mtu: u32,
    rts_threshold: Option<u32>,
    beacon_bytes: u32,
    limits: Limits,
    /// The lengths of the frames with packets that were last measured, and their times on the air: traffic has few.
    measured: [(u32, Duration); 2],
}

impl Timing {
    pub fn new(settings: &CellSettings) -> Self {
        let (phy, band, rate) = (settings.phy, settings.band(), settings.control_rate());
        let control = |bytes| phy.frame(band, rate, bytes);
        let (slot, sifs, modulation) = (settings.slot(), band.sifs(), settings.modulation());
        let in_time = modulation.map_or(u32::MAX, |modulation| modulation.bytes_within(settings.ppdu_time));
        Timing {
            slot,
            sifs,
            ack: control(ACK_BYTES),
            rts: control(RTS_BYTES),
            ack_timeout: sifs + slot + phy.preamble(rate),
            eifs_extra: sifs + phy.frame(band, phy.lowest_rate(), ACK_BYTES),
            phy,
            band,
            data_rate: settings.data_rate(),
            control_rate: rate,
            modulation,
            overhead: settings.overhead(),
            mtu: settings.mtu,
            rts_threshold: settings.rts_threshold,
            beacon_bytes: settings.beacon_bytes,
            limits: Limits { window: settings.block_ack_window(), bytes: settings.ampdu_bytes().min(in_time) },
            measured: [(u32::MAX, Duration::MAX); 2],
        }
    }

    /// Time on the air of an ACK, a block ACK and the like.
    pub fn control(&self, bytes: u32) -> Duration {
        self.phy.frame(self.band, self.control_rate, bytes)
    }

    /// Time on the air of an ACK with so many bytes more.
    pub fn answer(&self, riding: u32) -> Duration {
        self.control(ACK_BYTES + riding)
    }

    /// What bytes that ride in an answer take, but for what rounding to symbols adds.
    pub fn ride(&self, bytes: u32) -> Duration {
        self.control_rate.serialisation(bytes, &mut 0)
    }

    pub fn sifs(&self) -> Duration {
        self.sifs
    }

    /// What a beacon waits after the medium became idle, and its time on the air.
    pub fn beacon(&self) -> (Duration, Duration) {
        (self.sifs + self.slot, self.control(self.beacon_bytes))
    }

    /// AIFS of so many slots.
    pub fn aifs(&self, slots: u32) -> Duration {
        self.sifs + self.slot.saturating_mul(u64::from(slots))
    }

    /// What a collision of the longest frames costs.
    pub fn longest_opening(&self) -> Duration {
        let bytes = self.mtu + self.overhead;
        let whole = bytes.next_multiple_of(4) + 4;
        let bytes = if self.modulation.is_some() { self.limits.bytes.min(self.limits.window * whole) } else { bytes };
        if self.has_rts(bytes) { self.rts } else { self.data(bytes) }
    }

    fn has_rts(&self, bytes: u32) -> bool {
        self.rts_threshold.is_some_and(|threshold| bytes > threshold)
    }

    /// Time on the air of data.
    pub fn data(&self, bytes: u32) -> Duration {
        match self.modulation {
            Some(modulation) => modulation.ppdu(bytes),
            None => self.phy.frame(self.band, self.data_rate, bytes),
        }
    }

    /// Bytes that a frame adds to a packet.
    pub fn overhead(&self) -> u32 {
        self.overhead
    }

    /// From the beginning of an aggregate to when its first `bytes` have come.
    pub fn until(&self, bytes: u32) -> Duration {
        self.modulation.map_or(Duration::ZERO, |modulation| modulation.until(bytes))
    }

    /// Whether data frames are aggregated.
    pub fn aggregates(&self) -> bool {
        self.modulation.is_some()
    }

    /// What counts in the idle time from `from` until somebody sends at `begin`: slots, or with EDCA slot boundaries.
    pub fn counted(&self, from: Instant, begin: Instant) -> u64 {
        let slots = begin.saturating_since(from).as_nanos() / self.slot.as_nanos();
        slots + u64::from(self.is_edca() && begin >= from)
    }

    /// Whether stations contend by EDCA, as those of n, ac and ax do (IEEE 802.11-2020 10.2.2), and not by DCF.
    pub fn is_edca(&self) -> bool {
        self.aggregates()
    }

    /// Frames that may be without an acknowledgment.
    pub fn window(&self) -> u32 {
        self.limits.window
    }

    /// What an aggregate may be, if it and its block ACK have so much time.
    pub fn limits(&self, time: Option<Duration>) -> Limits {
        let Some((time, modulation)) = time.zip(self.modulation) else { return self.limits };
        let answer = self.control(BLOCK_ACK_BYTES + 32);
        let in_time = modulation.bytes_within(time.saturating_sub(self.sifs + answer));
        Limits { bytes: self.limits.bytes.min(in_time), ..self.limits }
    }

    /// An aggregate of nothing yet, or a BAR.
    pub fn aggregate(&self, to: InterfaceId, is_request: bool) -> Frame {
        let (load, bytes) =
            if is_request { (Load::Request, REQUEST_BYTES) } else { (Load::Aggregate(Aggregate::default()), 0) };
        let air = if is_request { self.control(bytes) } else { Duration::ZERO };
        Frame::without_packet(load, to, bytes, [air, self.ack])
    }

    /// Makes a frame one of this aggregate.
    pub fn set_aggregate(&self, frame: &mut Frame, aggregate: Aggregate) {
        // A frame alone has a delimiter from 802.11ac on.
        let bytes = if self.phy == Phy::N { aggregate.bare_bytes() } else { aggregate.bytes };
        frame.load = Load::Aggregate(aggregate);
        frame.bytes = bytes;
        frame.air = self.data(bytes);
        let has_rts = self.has_rts(bytes);
        if has_rts != frame.has_rts {
            // What was drawn does not count an RTS, or one too many.
            frame.fate = None;
        }
        frame.has_rts = has_rts;
    }

    /// [`Timing::data`], without the division for a length that was measured of late.
    fn measure(&mut self, bytes: u32) -> Duration {
        if let Some((_, air)) = self.measured.iter().find(|(length, _)| *length == bytes) {
            return *air;
        }
        let air = self.data(bytes);
        self.measured = [(bytes, air), self.measured[0]];
        air
    }

    /// The frame that carries a packet.
    pub fn frame(&mut self, entry: Entry) -> Frame {
        let Entry { packet, bytes, kind, to, tracked } = entry;
        let bytes = bytes + self.overhead;
        Frame {
            load: Load::Packet,
            to,
            tracked,
            kind,
            air: self.measure(bytes),
            answer: self.ack,
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
        announcement + gap + frame.air + self.sifs + frame.answer
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
            Fate::Acked | Fate::AckLost => announcement + frame.air + frame.answer,
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
    let is_damaged = match frame.load {
        Load::Packet => interface.data_loss.loses(begin, frame.bytes),
        Load::Request => control.loses(begin, REQUEST_BYTES),
        Load::Poll => control.loses(begin, POLL_BYTES),
        // Each of its frames has a fate of its own, drawn when it has been sent.
        Load::Aggregate(_) => false,
    };
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
