"""The native part of the package."""

import os
from collections.abc import Mapping
from typing import Any, Callable, ClassVar, Optional, Union, final

__version__: str

class Table:
    """Rows with named columns. pandas, Polars, DuckDB and pyarrow take it as it is; `to_pydict()` needs nothing else."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def __len__(self) -> int: ...
    def to_pydict(self) -> dict[str, list[Any]]:
        """A list for each column, by its name."""
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """The Arrow PyCapsule interface: a stream of record batches."""

class Outcome:
    summary: str
    scenario: str
    name: str
    hash: str
    headline: Optional[str]
    failures: list[str]
    not_run: list[tuple[str, int]]
    directory: Optional["os.PathLike[str]"]
    def table(self, index: int) -> Table: ...

class Sock:
    """A connection as a controller sees it. Counts are in segments, times in microseconds.

    A controller may write what Linux lets controllers in BPF write: `snd_cwnd`, `snd_cwnd_cnt`, `snd_ssthresh`, `sk_pacing_rate`,
    `sk_pacing_status` and `app_limited`.
    """

    def __new__(
        cls,
        *,
        snd_cwnd: int = 10,
        snd_ssthresh: int = 2147483647,
        prior_cwnd: int = 0,
        is_cwnd_limited: bool = True,
        srtt_us: int = 0,
        rtt_min_us: int = 4294967295,
        mss_cache: int = 1448,
        seed: int = 1,
    ) -> Sock:
        """A connection to try hooks on, which nothing sends over; its window limits it."""
    @property
    def snd_cwnd(self) -> int:
        """Congestion window."""
    @snd_cwnd.setter
    def snd_cwnd(self, value: int) -> None: ...
    @property
    def snd_cwnd_cnt(self) -> int:
        """Segments acknowledged towards the next increase."""
    @snd_cwnd_cnt.setter
    def snd_cwnd_cnt(self, value: int) -> None: ...
    @property
    def snd_cwnd_clamp(self) -> int:
        """Upper bound of the window."""
    @property
    def snd_ssthresh(self) -> int:
        """Slow start threshold."""
    @snd_ssthresh.setter
    def snd_ssthresh(self, value: int) -> None: ...
    @property
    def prior_cwnd(self) -> int:
        """Window when the last reduction began."""
    @property
    def prior_ssthresh(self) -> int:
        """Threshold before the last reduction; 0 if it must not be undone."""
    @property
    def packets_out(self) -> int:
        """Segments sent and not cumulatively acknowledged."""
    @property
    def sacked_out(self) -> int:
        """Of those, selectively acknowledged."""
    @property
    def lost_out(self) -> int:
        """Of those, presumed lost."""
    @property
    def retrans_out(self) -> int:
        """Of those, retransmitted with the retransmission still in flight."""
    @property
    def max_packets_out(self) -> int:
        """Most segments in flight in the last window."""
    @property
    def is_cwnd_limited(self) -> bool:
        """The window limited sending in the last window."""
    @property
    def srtt_us(self) -> int:
        """Smoothed round-trip time, microseconds << 3; 0 if unknown."""
    @property
    def mdev_us(self) -> int:
        """Mean deviation, microseconds << 2."""
    @property
    def rtt_min_us(self) -> int:
        """Lowest round-trip time seen lately in microseconds; 2**32 - 1 if unknown."""
    @property
    def mss_cache(self) -> int:
        """Payload of a full segment in bytes."""
    @property
    def snd_una(self) -> int:
        """Oldest sequence number not acknowledged; it wraps, so compare by `airtcp.after`."""
    @property
    def snd_nxt(self) -> int:
        """Next sequence number to send; it wraps, too."""
    @property
    def rx_opt(self) -> RxOpt:
        """Timestamps of the acknowledgment being handled."""
    @property
    def delivered(self) -> int:
        """Segments delivered so far, wrapping."""
    @property
    def delivered_ce(self) -> int:
        """Of those, acknowledged with ECE, wrapping."""
    @property
    def lost(self) -> int:
        """Segments marked lost so far, wrapping."""
    @property
    def app_limited(self) -> int:
        """`delivered` up to which samples are limited by the application; 0 if they are not."""
    @app_limited.setter
    def app_limited(self, value: int) -> None: ...
    @property
    def tcp_mstamp(self) -> int:
        """Time of the event being handled, microseconds since the run began."""
    @property
    def first_tx_mstamp(self) -> int:
        """When the segment most recently delivered was sent, with RACK or `cong_control`; else when the first one in flight was."""
    @property
    def delivered_mstamp(self) -> int:
        """When `delivered` last grew."""
    @property
    def lsndtime(self) -> int:
        """When data was last sent, in jiffies."""
    @property
    def reordering(self) -> int:
        """Segments a hole may be overtaken by before it counts as loss."""
    @property
    def sack_ok(self) -> bool:
        """The peer acknowledges selectively."""
    @property
    def icsk_ca_state(self) -> CaState:
        """Where recovery stands."""
    @property
    def sk_pacing_rate(self) -> int:
        """Pacing rate in bytes per second; 2**64 - 1 is unlimited."""
    @sk_pacing_rate.setter
    def sk_pacing_rate(self, value: int) -> None: ...
    @property
    def sk_max_pacing_rate(self) -> int:
        """Upper bound of the pacing rate in bytes per second."""
    @property
    def sk_pacing_status(self) -> bool:
        """True if the pacing rate is obeyed."""
    @sk_pacing_status.setter
    def sk_pacing_status(self, value: bool) -> None: ...
    @property
    def hz(self) -> int:
        """Jiffies in a second."""
    def tcp_packets_in_flight(self) -> int:
        """Segments in the network as far as the sender can tell."""
    def tcp_in_slow_start(self) -> bool:
        """True below the slow start threshold."""
    def tcp_in_cwnd_reduction(self) -> bool:
        """True while the window is being reduced."""
    def tcp_current_ssthresh(self) -> int:
        """The threshold a reduction starts from."""
    def tcp_is_cwnd_limited(self) -> bool:
        """True if the window, not the application, limits sending."""
    def tcp_slow_start(self, acked: int) -> int:
        """Slow start; returns what of `acked` is left for congestion avoidance."""
    def tcp_cong_avoid_ai(self, w: int, acked: int) -> None:
        """One segment more for every `w` acknowledged."""
    def tcp_reno_cong_avoid(self, acked: int) -> None:
        """Reno's growth, the base of many controllers."""
    def tcp_jiffies32(self) -> int:
        """Time of the event in jiffies, wrapping; a jiffy is a millisecond unless the host's clock ticks otherwise."""
    def usecs_to_jiffies(self, microseconds: int) -> int:
        """The least number of jiffies that are no shorter than so many microseconds."""
    def get_random_u32_below(self, ceil: int) -> int:
        """A random number from 0 to `ceil` - 1, from the connection's own stream: the same in each run of a seed."""

@final
class RateSample:
    """What one acknowledgment showed about the delivery rate."""

    @property
    def prior_mstamp_us(self) -> int:
        """When the newest delivered segment was sent, `delivered` stood at `prior_delivered` since this many microseconds; 0 without a sample."""
    @property
    def prior_delivered(self) -> int:
        """`delivered` when the newest delivered segment was sent."""
    @property
    def delivered(self) -> int:
        """Segments delivered over the interval; negative without a sample."""
    @property
    def interval_us(self) -> int:
        """Length of the interval in microseconds; negative without a sample."""
    @property
    def snd_interval_us(self) -> int:
        """Sending side of the interval, microseconds."""
    @property
    def rcv_interval_us(self) -> int:
        """Acknowledging side of the interval, microseconds."""
    @property
    def rtt_us(self) -> int:
        """Round-trip time of this acknowledgment in microseconds; negative if unknown."""
    @property
    def losses(self) -> int:
        """Segments newly marked lost by this acknowledgment."""
    @property
    def acked_sacked(self) -> int:
        """Segments newly acknowledged, cumulatively or selectively."""
    @property
    def prior_in_flight(self) -> int:
        """Segments in flight before this acknowledgment."""
    @property
    def tx_in_flight(self) -> int:
        """Segments in flight when the newest delivered segment had been sent, itself among them; 0 without a sample."""
    @property
    def lost(self) -> int:
        """Segments marked lost since the newest delivered segment was sent."""
    @property
    def is_app_limited(self) -> bool:
        """The sender had nothing to send when the newest delivered segment left."""
    @property
    def is_retrans(self) -> bool:
        """The newest delivered segment was a retransmission."""
    @property
    def is_ack_delayed(self) -> bool:
        """The acknowledgment may have been delayed by the receiver."""
    @property
    def is_ece(self) -> bool:
        """The acknowledgment carries ECE."""

@final
class AckSample:
    """What `pkts_acked` is told."""

    @property
    def pkts_acked(self) -> int:
        """Segments acknowledged."""
    @property
    def rtt_us(self) -> int:
        """Round-trip time in microseconds; negative if unknown."""
    @property
    def in_flight(self) -> int:
        """Segments in flight when the newest of them was sent."""

@final
class LostSegment:
    """A segment that was found lost."""

    @property
    def start(self) -> int:
        """Offset of its first byte."""
    @property
    def end(self) -> int:
        """One past its last offset."""
    @property
    def tx_in_flight(self) -> int:
        """Segments in flight when it had been sent, itself among them."""
    @property
    def lost(self) -> int:
        """Segments marked lost since it was sent, itself among them."""
    @property
    def is_app_limited(self) -> bool:
        """The sender had nothing more to send when it left."""

@final
class AckEvent:
    """Facts about an acknowledgment before it is acted upon."""

    @property
    def slow_path(self) -> bool:
        """It advances `snd_una` or selectively acknowledges data, in no unusual state."""
    @property
    def window_update(self) -> bool:
        """It changes the window."""
    @property
    def ece(self) -> bool:
        """It carries ECE."""

@final
class RxOpt:
    """Timestamps of the segment received last, in milliseconds from anywhere, wrapping."""

    @property
    def saw_tstamp(self) -> bool:
        """It carries them."""
    @property
    def rcv_tsval(self) -> int:
        """The peer's clock."""
    @property
    def rcv_tsecr(self) -> int:
        """Our clock as the peer echoes it."""

@final
class CaState:
    """Where loss recovery stands."""

    Open: ClassVar[CaState]
    """Nothing unusual."""
    Disorder: ClassVar[CaState]
    """Duplicate or selective acknowledgments, no segment presumed lost yet."""
    Cwr: ClassVar[CaState]
    """The window is being reduced without loss: ECN or a repaired tail."""
    Recovery: ClassVar[CaState]
    """Fast recovery."""
    Loss: ClassVar[CaState]
    """After a retransmission timeout."""
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: CaState, /) -> bool: ...
    def __le__(self, other: CaState, /) -> bool: ...
    def __gt__(self, other: CaState, /) -> bool: ...
    def __ge__(self, other: CaState, /) -> bool: ...

@final
class CaEvent:
    """Things that happen to the window besides acknowledgments."""

    TxStart: ClassVar[CaEvent]
    """First transmission when nothing was in flight."""
    CwndRestart: ClassVar[CaEvent]
    """The window was set after an idle period."""
    CompleteCwr: ClassVar[CaEvent]
    """A window reduction ended."""
    Loss: ClassVar[CaEvent]
    """A retransmission timeout."""
    EcnIsCe: ClassVar[CaEvent]
    """A segment marked CE arrived."""
    EcnNoCe: ClassVar[CaEvent]
    """A segment without a mark arrived on an ECN-capable connection."""
    TlpRecovery: ClassVar[CaEvent]
    """A tail loss probe repaired a loss."""
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: CaEvent, /) -> bool: ...
    def __le__(self, other: CaEvent, /) -> bool: ...
    def __gt__(self, other: CaEvent, /) -> bool: ...
    def __ge__(self, other: CaEvent, /) -> bool: ...

def run(
    file: str,
    text: Optional[str],
    sets: list[str],
    threads: Optional[int],
    root: Union[str, "os.PathLike[str]", None],
    progress: Optional[Callable[[int, int], object]],
) -> Outcome: ...
def resolve(file: str, text: Optional[str], sets: list[str]) -> str: ...
def reproduce(
    paper: str, quick: bool, threads: Optional[int], progress: Optional[Callable[[int, int], object]]
) -> str: ...
def describe() -> str: ...
def hook_names() -> list[str]: ...
def register(description: Mapping[str, Any]) -> None: ...
