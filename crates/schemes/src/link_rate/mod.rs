//! What a link carries and how long packets wait in it, learned from the packets themselves: no probes.
//!
//! The receiving end counts what comes off the link. From time to time it reports the count, its clock and the name of
//! the packet that came last ([`Arrivals`]). The sending end knows when that packet left and how much had left before it.
//! Two reports tell a rate, and the delay of one against the shortest of late tells how long packets wait in the link
//! ([`Departures`]). From both follows the rate at which the queue before the link is emptied ([`RateLaw`]), never above
//! a bound: the link is kept busy, and the queue stays here, where it is a good one.

mod advice;
mod arrivals;
mod carried;
mod contest;
mod departures;
mod excursion;
mod history;
mod in_flight;
mod leeway;
mod link_queue;
mod longer_way;
mod messages;
mod missing;
mod oracle;
mod other_clock;
mod others;
mod peak;
mod policed;
mod pursuit;
mod report;
mod swing;
#[cfg(test)]
mod tests;
mod usual_loss;
mod way_back;

pub(crate) use advice::Advice;
pub(crate) use arrivals::Arrivals;
pub(crate) use messages::Messages;
pub use report::Report;
pub(crate) use usual_loss::ONE;

use crate::egress::{Egress, FLOW_TARGET, Lane};
use airtcp_core::{Context, Duration, Event, Gauge, Instant, Packet, Rate};
use departures::Departures;
use missing::Missing;
pub(crate) use oracle::Oracle;
use pursuit::{RateLaw, Verdict};

/// What a link that stood still has kept waiting has left so long after as long a time.
const AFTER_SILENCE: Duration = Duration::from_millis(500);
/// No packet need wait for longer so that a sender is ready for a higher rate.
const MOST_ROOM: Duration = Duration::from_secs(1);

/// The sending end.
#[derive(Debug)]
pub(crate) struct LinkRate {
    /// It has memory for that.
    learns: bool,
    departures: Departures,
    law: RateLaw,
    /// Instead of the law.
    oracle: Option<Oracle>,
    missing: Missing,
}

impl LinkRate {
    /// Of a link that is given no more than `bound`. Takes at most `memory` bytes.
    pub fn new(bound: Option<Rate>, memory: u64) -> Self {
        let (departures, law) = (Departures::new(memory), RateLaw::new(bound));
        LinkRate { learns: memory > 0, departures, law, oracle: None, missing: Missing::default() }
    }

    /// Is told from now on what `next` is, a fresh one, and keeps what it knows of the link.
    pub fn adopt(&mut self, now: Instant, next: &mut LinkRate, egress: &mut Egress) {
        self.law.adopt_limit(&next.law);
        let is_told = self.oracle.is_some() || next.oracle.is_some();
        if is_told || next.learns != self.learns {
            core::mem::swap(self, next);
            egress.change_rate(now, self.law.bound());
        } else if next.law.bound() != self.law.bound() {
            egress.change_rate(now, self.law.rebind(now, next.law.bound()));
        }
    }

    /// Begins with what was known of the link before.
    pub fn resume(&mut self, rate: Rate, egress: &mut Egress) {
        if self.learns && self.oracle.is_none() {
            egress.set_rate(self.law.resume(rate));
        }
    }

    /// So many percent of what the link carries until a report comes may be in flight; 0 for no limit.
    pub fn limit_in_flight(&mut self, percent: u32) {
        self.law.limit_in_flight(percent);
    }

    /// The rate follows what the oracle tells, if there is one, and nothing that is learned.
    pub fn ask(&mut self, oracle: Option<Oracle>) {
        self.oracle = oracle;
    }

    /// Follows what is told, if it is; the distance of the ends is `rtt`.
    pub fn follow(&mut self, now: Instant, rtt: Duration, egress: &mut Egress) {
        let sent = self.departures.sent;
        if let Some(rate) = self.oracle.as_mut().and_then(|oracle| oracle.rate(now, rtt, sent)) {
            egress.change_rate(now, Some(rate));
        }
    }

    /// When to follow again.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.oracle.as_ref().map(Oracle::due)
    }

    /// A packet left through `lane` of `egress`.
    pub fn on_departure(&mut self, cx: &mut Context<'_>, name: Name, lane: Lane, egress: &mut Egress) {
        let now = cx.now();
        self.departures.add(now, name, lane, egress.rate());
        let verdict = self.law.on_departure(now, self.departures.sent, egress.is_empty());
        self.obey(cx, verdict, egress);
    }

    /// A message of so many bytes left beside the queue.
    pub fn on_control(&mut self, bytes: u32) {
        self.departures.sent += u64::from(bytes);
    }

    /// The other end is another one, and counts anew.
    pub fn forget(&mut self) {
        self.departures.clear();
        self.law.forget();
        self.missing = Missing::default();
    }

    /// What the other end says; the distance of the ends is `rtt` where nothing waits. True if something was lost since this
    /// last said so.
    pub fn on_report(&mut self, cx: &mut Context<'_>, report: &Report, rtt: Duration, egress: &mut Egress) -> bool {
        self.allow_for_silence(cx.now(), egress);
        // Where flows share a queue nobody knows how many they are.
        let flows = egress.waiting_flows().unwrap_or(usize::from(!egress.is_empty()));
        self.law.note_flows(cx.now(), flows);
        let sample = self.departures.find(report);
        let has_lost = sample.is_some_and(|sample| self.missing.add(sample.packets, sample.received));
        let verdict = match sample {
            Some(sample) => self.law.on_report(cx.now(), &sample, self.departures.later(), rtt),
            None => self.law.on_unknown_report(cx.now()),
        };
        self.obey(cx, verdict, egress);
        has_lost
    }

    /// What waits while the other end reports nothing is no queue that is too long: the link stands still. To be told before something
    /// leaves.
    pub fn allow_for_silence(&self, now: Instant, egress: &mut Egress) {
        let stood_still = self.law.overdue(now);
        if stood_still > link_queue::SILENT {
            egress.make_room(now + stood_still + AFTER_SILENCE, stood_still);
        }
    }

    /// Does what the law says, unless the rate is told.
    fn obey(&self, cx: &mut Context<'_>, verdict: Verdict, egress: &mut Egress) {
        if self.oracle.is_some() {
            return;
        }
        match verdict {
            Verdict::Stay => {}
            Verdict::Set(rate) => egress.change_rate(cx.now(), rate),
            Verdict::Lower(rate) => {
                cx.emit(Event::RATE_LOWERED);
                egress.change_rate(cx.now(), Some(rate));
            }
            Verdict::Share(rate) => {
                cx.emit(Event::LINK_SHARED);
                egress.change_rate(cx.now(), Some(rate));
            }
        }
    }

    /// When the latest message left that the other end has heard.
    pub fn on_echo(&mut self, cx: &mut Context<'_>, echoed: Instant, egress: &mut Egress) {
        let verdict = self.law.on_echo(cx.now(), echoed);
        self.obey(cx, verdict, egress);
    }

    /// True if so little waits in the link that it has time for more.
    pub fn has_time(&self) -> bool {
        self.law.reported_wait() < history::LEAST_TARGET
    }

    /// What the link lost of late, in millionths, where that is known.
    pub fn lost(&self, now: Instant) -> Option<u64> {
        self.law.lost(now)
    }

    /// What the link carries as far as it is known, or the rate at which `egress` is emptied: that rises and falls around it.
    pub fn of_link(&self, egress: &Egress) -> Option<Rate> {
        self.law.pursued().filter(|_| self.oracle.is_none()).or(egress.rate())
    }

    /// For how long packets should be allowed to wait: a sender whose window is cut to what the link carries at its slowest
    /// leaves it idle when it is fast again. Acknowledgments fill no window.
    pub fn room(&self) -> Duration {
        if self.law.carries_small_packets() {
            return FLOW_TARGET;
        }
        let known = match &self.oracle {
            Some(oracle) => oracle.rate_and_peak(),
            None => self.law.pursued().zip(self.law.peak()),
        };
        let Some((rate, peak)) = known else { return FLOW_TARGET };
        let nanos = u128::from(FLOW_TARGET.as_nanos()) * u128::from(peak.bps()) / u128::from(rate.bps().max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).clamp(FLOW_TARGET, MOST_ROOM)
    }

    /// What the operator should know.
    pub fn advice(&self) -> Option<Advice> {
        self.law.advice()
    }

    /// Memory that it takes.
    pub fn memory(&self) -> u64 {
        self.departures.memory()
    }

    /// Reports what is known of the link.
    pub fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64), egress: &Egress) {
        let rate = self.of_link(egress).map_or(0, Rate::bps);
        gauge(Gauge::RATE_BPS, self.law.bound().map_or(rate, |bound| rate.min(bound.bps())));
        gauge(Gauge::LINK_WAIT_NS, self.law.reported_wait().as_nanos());
    }
}

/// `time` over `whole`, in millionths.
fn share(time: Duration, whole: Duration) -> u64 {
    time.as_nanos().saturating_mul(1_000_000) / whole.as_nanos().max(1)
}

/// `part` of `whole`, in millionths.
fn millionths(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 1_000_000 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// The rate of so many bytes in so many ns, in bit/s.
fn bits_per_second(bytes: u64, ns: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 8_000_000_000 / u128::from(ns.max(1))).unwrap_or(u64::MAX)
}

/// So many millionths of `whole`.
fn part(whole: u64, millionths: u64) -> u64 {
    u64::try_from(u128::from(whole) * u128::from(millionths) / 1_000_000).unwrap_or(u64::MAX)
}

/// What both ends call a packet, and its length. Equal packets have equal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    number: u32,
    bytes: u32,
}

impl Name {
    /// The name of `packet`, from what does not change between the ends.
    pub fn of(packet: &Packet) -> Name {
        use core::hash::{Hash, Hasher};
        let mut hasher = siphasher::sip::SipHasher13::new();
        let (ip, bytes) = (packet.ip(), packet.wire_len());
        (ip.source, ip.destination, bytes).hash(&mut hasher);
        match packet.tcp() {
            Some(tcp) => {
                let stamps = tcp.options.timestamps.map_or((0, 0), |stamps| (stamps.value, stamps.echo));
                let numbers = (tcp.sequence.0, tcp.acknowledgment.0, tcp.flags.0, stamps);
                (tcp.source_port, tcp.destination_port, numbers).hash(&mut hasher);
            }
            None => {
                let payload = packet.payload_bytes().unwrap_or_default();
                payload.get(..64).unwrap_or(&payload).hash(&mut hasher);
            }
        }
        Name { number: hasher.finish() as u32, bytes }
    }

    /// The name of a packet that both ends know by a number.
    pub fn numbered(number: u32, bytes: u32) -> Name {
        Name { number, bytes }
    }

    fn is_one_in(self, many: u32) -> bool {
        self.number.is_multiple_of(many)
    }
}
