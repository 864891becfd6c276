//! The sending half: what is in flight, what the peer and the network allow, and what to send next.
//!
//! The recovery state machine follows Linux's `tcp_input.c` (Open, Disorder, CWR, Recovery, Loss), because controllers
//! and their BPF twins see its states; a [`LossDetector`] decides which segments are lost.

mod ack;
mod alert;
mod blocks;
mod delivery;
mod frto;
mod idle;
mod notice;
mod pacing;
mod peer_window;
mod probing;
mod progress;
mod reduction;
mod tail_probe;
mod timeout;
mod transmit;
mod tso;
mod undo;

pub use ack::AckInput;
pub use peer_window::PeerWindow;
pub use probing::Limits;
pub use transmit::Transmission;

use crate::config::{ByteCounting, Config, RecoveryKind, Reduction};
use crate::congestion::{CaState, Controller, Pacing, TcpSock};
use crate::recovery::{self, LossDetector};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::sequence::Sequence;
use crate::stats::Stats;
use crate::stream::SendBuffer;
use crate::timers::Timers;
use airtcp_core::{Instant, Rng};
use alloc::boxed::Box;
use core::mem::offset_of;

/// A send buffer that follows the window holds what so many segments let out (Linux `TCP_INIT_CWND`).
const FIRST_SEGMENTS: u32 = 10;

/// The state outside the sender that every step of it may change.
pub struct Step<'a> {
    /// Now.
    pub now: Instant,
    /// The connection's deadlines.
    pub timers: &'a mut Timers,
    /// The connection's counters.
    pub stats: &'a mut Stats,
}

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    /// Oldest offset not acknowledged.
    pub una: u64,
    /// Next offset to send.
    pub nxt: u64,
    /// What the peer can take.
    pub peer: PeerWindow,
    /// Our numbering: offset 0 is our SYN.
    pub sequence: Sequence,
    /// Nothing more will be written: FIN follows the data.
    pub closing: bool,
    /// ECN was negotiated, and the controller answers marks: data can be marked.
    pub ecn: bool,
    /// Every segment can be marked, not only new data.
    pub ecn_on_all: bool,
    /// The next new data tells the peer that the window was reduced.
    pub cwr_due: bool,
    /// A segment below the window is due, which the peer answers.
    pub peer_probe_due: bool,
    /// The application has closed both directions.
    pub is_orphan: bool,
    /// The application has more than it wrote, and waits with it for the network.
    pub has_more: bool,
    byte_counting: ByteCounting,
    reduction: Reduction,
    has_sack: bool,
    repair: recovery::Repair,
    /// Segments are spaced whatever the controller.
    paces: bool,
    /// See [`Controller::has_cong_control`]: it is asked for with each acknowledgment.
    has_cong_control: bool,
    /// Recovery is Linux's of today, and so is what belongs to it.
    follows_linux: bool,
    fin_sent: bool,
    /// Send one lost segment whatever the window says.
    force_retransmit: bool,
    /// The retransmission timer ran out: the oldest segment is sent again at once.
    head_due: bool,
    /// Nothing more is sent again before the next acknowledgment or timeout.
    holds_repairs: bool,
    /// A duplicate was reported that the loss detector was not told the round of.
    round_due: bool,
    frto: frto::Frto,
    /// Timeouts in a row without progress.
    pub retransmits: u32,
    tso: tso::Tso,
    probing: probing::Probing,
    /// What the application wrote.
    pub buffer: SendBuffer,
    board: Scoreboard,
    /// What controllers see.
    pub sk: TcpSock,
    /// Congestion control.
    pub controller: Box<dyn Controller>,
    detector: Box<dyn LossDetector>,
    /// Round-trip time and RTO.
    pub rtt: RttEstimator,
    window_use: idle::WindowUse,
    probe: tail_probe::TailProbe,
    /// Offset at which recovery ends.
    high_seq: u64,
    prr: reduction::Prr,
    undo: undo::Undo,
    pacer: pacing::Pacer,
    notice: notice::LossNotice,
    /// Duplicates after which recovery repeats a retransmission; the window, if none is given.
    pub repeat_after: Option<u32>,
    /// When the first of the timeouts in a row was.
    pub stalled_since: Instant,
    /// Segments that were reported as duplicates.
    duplicates_reported: u64,
    /// Every acknowledgment takes the long way: for the test that holds the short one to it.
    #[cfg(test)]
    pub is_thorough: bool,
}

impl Sender {
    /// So many bytes from its beginning on are looked at for each segment with data from the peer.
    pub(crate) const LOOKED_AT: usize = offset_of!(Sender, board) + size_of::<[u64; 4]>();
    /// So many for each acknowledgment.
    pub(crate) const USED: usize = offset_of!(Sender, pacer);

    /// A sender whose SYN has not been sent.
    pub fn new(config: &Config, sequence: Sequence, buffer: SendBuffer, rng: Rng) -> Self {
        let mut sk = TcpSock::new(rng);
        sk.snd_cwnd_clamp = config.max_cwnd.unwrap_or(u32::MAX).max(1);
        sk.jiffy = config.clock_tick();
        sk.snd_cwnd = config.initial_window.max(1).min(sk.snd_cwnd_clamp);
        if let Some(ssthresh) = config.initial_ssthresh {
            sk.snd_ssthresh = ssthresh.max(2);
        }
        let controller = config.controller.build();
        let (has_cong_control, reads_pacing_rate) = (controller.has_cong_control(), controller.reads_pacing_rate());
        Sender {
            ecn_on_all: controller.needs_ecn(),
            has_cong_control,
            sk,
            controller,
            buffer,
            rtt: RttEstimator::new(config),
            sequence,
            peer: PeerWindow::default(),
            una: 0,
            nxt: 0,
            closing: false,
            retransmits: 0,
            stalled_since: Instant::ZERO,
            ecn: false,
            cwr_due: false,
            peer_probe_due: false,
            is_orphan: false,
            has_more: false,
            repeat_after: None,
            byte_counting: config.byte_counting,
            board: Scoreboard::default(),
            detector: recovery::make(recovery::Repair::of(config), false),
            reduction: config.reduction(),
            has_sack: false,
            repair: recovery::Repair::of(config),
            paces: config.pacing,
            follows_linux: config.recovery == RecoveryKind::Rack,
            fin_sent: false,
            high_seq: 0,
            force_retransmit: false,
            head_due: false,
            holds_repairs: false,
            duplicates_reported: 0,
            round_due: false,
            prr: reduction::Prr::default(),
            undo: undo::Undo::default(),
            probe: tail_probe::TailProbe::new(config.tail_loss_probe),
            frto: frto::Frto::new(config.uses_frto()),
            notice: notice::LossNotice::new(config.eln),
            probing: probing::Probing::default(),
            window_use: idle::WindowUse::new(config.slow_start_after_idle, config.initial_window),
            pacer: pacing::Pacer::new(config.pacing || config.tso || reads_pacing_rate),
            tso: tso::Tso::new(config.tso),
            #[cfg(test)]
            is_thorough: false,
        }
    }

    /// The handshake is over: `has_sack` is what was negotiated.
    pub fn start(&mut self, has_sack: bool, now: Instant) {
        (self.has_sack, self.sk.sack_ok) = (has_sack, has_sack);
        if self.controller.wants_losses() {
            self.board.keep_losses();
        }
        if self.controller.wants_losses() || self.has_cong_control {
            self.board.keep_rates();
        }
        self.detector = recovery::make(self.repair, has_sack);
        if self.detector.reads_order() {
            self.board.keep_order();
        }
        self.probe.decide(self.detector.probes_tail());
        self.una = 1;
        self.nxt = 1;
        // The SYN (Linux counts it).
        self.sk.delivered = 1;
        self.sk.tcp_mstamp = now;
        self.sk.delivered_mstamp = now;
        self.sk.first_tx_mstamp = now;
        self.sk.lsndtime = now;
        self.window_use.changed(now);
        self.sync_sequence();
        self.controller.init(&mut self.sk);
        if self.paces {
            self.sk.sk_pacing_status = Pacing::Needed;
        }
        self.tune_buffer();
        self.update_pacing_rate();
    }

    /// True when everything written, and FIN if any, is acknowledged.
    pub fn all_acknowledged(&self) -> bool {
        self.board.is_empty() && self.unsent() == 0 && (!self.closing || self.fin_sent)
    }

    /// True if our FIN has been acknowledged.
    pub fn fin_acknowledged(&self) -> bool {
        self.fin_sent && self.una == self.nxt
    }

    /// Bytes written and not sent yet.
    pub fn unsent(&self) -> u64 {
        (1 + self.buffer.written).saturating_sub(self.nxt)
    }

    /// False if a poll could not return anything: a cheap test for receivers.
    pub fn has_something_to_send(&self) -> bool {
        !self.board.is_empty() || self.has_unsent()
    }

    /// The buffer is twice what the window lets out, if it is tuned (Linux `tcp_sndbuf_expand()`, `tcp_new_space()`).
    #[inline]
    fn tune_buffer(&mut self) {
        if self.buffer.is_tuned() && self.sk.tcp_packets_in_flight() < self.sk.snd_cwnd {
            let segments = self.sk.snd_cwnd.max(self.sk.reordering + 1).max(FIRST_SEGMENTS);
            let expansion = u64::from(self.controller.sndbuf_expand());
            self.buffer.widen(expansion * u64::from(segments) * u64::from(self.sk.mss_cache));
        }
    }

    fn sync_sequence(&mut self) {
        self.sk.snd_una = self.sequence.at(self.una);
        self.sk.snd_nxt = self.sequence.at(self.nxt);
    }

    fn set_state(&mut self, new: CaState) {
        self.controller.set_state(&mut self.sk, new);
        self.sk.icsk_ca_state = new;
    }
}
