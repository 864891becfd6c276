"""Congestion controllers written in Python.

The contract is the one of the controllers in Rust, with Linux's hook names (``struct tcp_congestion_ops``): a class defines the
hooks that it needs, and a scenario names it like a built-in one.

>>> import airtcp
>>> @airtcp.controller("gentle-doc")
... class Gentle(airtcp.Controller):
...     '''Reno that keeps more of its window after a loss.'''
...     keep = airtcp.Parameter(0.8, "Share of the window that is kept.", minimum=0.1, maximum=1)
...     def ssthresh(self, sk):
...         return max(int(sk.snd_cwnd * self.keep), 2)
...     def cong_avoid(self, sk, acked):
...         sk.tcp_reno_cong_avoid(acked)
>>> Gentle().ssthresh(airtcp.Sock(snd_cwnd=100))
80
>>> airtcp.show("gentle-doc")
gentle-doc: Reno that keeps more of its window after a loss. [Python, Gentle]
  keep = 0.8  (number, 0.1 to 1) Share of the window that is kept. [ours]
>>> options = {"flows.bulk.controller": "gentle-doc", "flows.bulk.controller_options.keep": 0.7}
>>> results = airtcp.run("demo", duration="3s", warmup="1s", runs=1, **{"links.air.loss": "1%"}, **options)
>>> len(results.runs)
2
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Generic, Optional, TypeVar, Union, overload

from airtcp import _native

T = TypeVar("T", bool, int, float, str)
_Class = TypeVar("_Class", bound="type[Controller]")

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_COUNTER = re.compile(r"[a-z][a-z0-9_]*")
_KINDS = {bool: "boolean, true or false", int: "integer", float: "number", str: "text"}


class ControllerError(RuntimeError):
    """A hook of a controller failed, and the run was ended. What the hook raised is the cause, with its traceback."""


class Parameter(Generic[T]):
    """A parameter of a controller: a class attribute with a default, whose type is that of all values, and a sentence.

    Files set it in ``controller_options``; hooks read it as an attribute of the controller.

    >>> Parameter(2, "Segments.", minimum=1).read("0")
    Traceback (most recent call last):
    ...
    ValueError: '0' is not one: write an integer, 1 or more
    """

    def __init__(
        self,
        default: T,
        about: str,
        *,
        source: str = "ours",
        minimum: Optional[float] = None,
        maximum: Optional[float] = None,
    ) -> None:
        if type(default) not in _KINDS:
            raise TypeError(f"the default {default!r} is not a bool, an int, a float or a str")
        if isinstance(default, (bool, str)) and (minimum is not None or maximum is not None):
            raise TypeError("only numbers have a minimum and a maximum")
        if not about.strip():
            raise TypeError("a parameter needs a sentence that says what it does")
        self.default: T = default
        self.about, self.source = about, source
        self._minimum: Optional[float] = minimum
        self._maximum: Optional[float] = maximum
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Parameter[T]: ...
    @overload
    def __get__(self, instance: Controller, owner: type) -> T: ...
    def __get__(self, instance: Optional[Controller], owner: type) -> Union[Parameter[T], T]:
        # Values that a file set are in the instance's dict, which comes first.
        return self if instance is None else self.default

    @property
    def kind(self) -> str:
        """What kind of value, as help shows it."""
        low, high = self._minimum, self._maximum
        bounds = f", {low} to {high}" if low is not None and high is not None else ""
        if not bounds and low is not None:
            bounds = f", {low} or more"
        if not bounds and high is not None:
            bounds = f", {high} or less"
        return _KINDS[type(self.default)] + bounds

    def read(self, text: str) -> T:
        """The value that a file wrote as ``text``."""
        kind = type(self.default)
        value: Any = {"true": True, "false": False}.get(text) if kind is bool else _number(kind, text)
        low, high = self._minimum, self._maximum
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"{text!r} is not one: write {'an' if kind is int else 'a'} {self.kind}")
        read: T = value
        return read

    @staticmethod
    def write(value: Any) -> str:
        """The text that a file has for a value."""
        return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _number(kind: type, text: str) -> Any:
    """The number, or the text; None if it is none."""
    try:
        value = kind(text)
    except ValueError:
        return None
    return value if kind is not float or math.isfinite(value) else None


class Controller:
    """A congestion controller: a class that defines some of these hooks, and ``ssthresh`` and ``cong_avoid`` or
    ``cong_control`` among them. One instance is one connection.

    ``sk`` is the connection (:class:`airtcp.Sock`) with Linux's names and units: windows in segments, times in microseconds.
    It is a copy that is written back when the hook returns, so use it in the hook only. Loss detection, the reduction of the
    window during recovery, and pacing stay outside.

    The same seed has to give the same run: take random numbers from ``sk.get_random_u32_below``, time from ``sk.tcp_mstamp``,
    and share nothing between connections.
    """

    #: It does not work without ECN: ECN is asked for, and every segment can be marked (RFC 8257).
    needs_ecn: bool = False
    #: False if it has no answer to marks: its segments cannot be marked, even if ECN is asked for.
    answers_marks: bool = True
    #: The send buffer is so many windows, if it follows them.
    sndbuf_expand: int = 2

    def init(self, sk: _native.Sock) -> None:
        """The connection is established; the round-trip time may be known already."""

    def release(self, sk: _native.Sock) -> None:
        """The connection is over."""

    def ssthresh(self, sk: _native.Sock) -> int:
        """The slow start threshold after a loss, in segments."""
        raise NotImplementedError

    def ssthresh_after_mark(self, sk: _native.Sock) -> int:
        """The same after the first mark of a window (RFC 8511 allows it to differ)."""
        return self.ssthresh(sk)

    def cong_avoid(self, sk: _native.Sock, acked: int) -> None:
        """Grows the window for ``acked`` segments acknowledged up to ``sk.snd_una``."""

    def cong_control(self, sk: _native.Sock, sample: _native.RateSample) -> None:
        """Sets window and pacing rate from a delivery rate sample, in place of ``cong_avoid`` and of the reduction during
        recovery."""

    def pkts_acked(self, sk: _native.Sock, sample: _native.AckSample) -> None:
        """Segments left the network and their round-trip time may be known."""

    def set_state(self, sk: _native.Sock, new: _native.CaState) -> None:
        """The recovery state is about to become ``new``; ``sk.icsk_ca_state`` is still the old one."""

    def cwnd_event(self, sk: _native.Sock, event: _native.CaEvent) -> None:
        """Something else happened to the window."""

    def in_ack_event(self, sk: _native.Sock, event: _native.AckEvent) -> None:
        """An acknowledgment came; nothing was done for it yet."""

    def segment_lost(self, sk: _native.Sock, lost: _native.LostSegment) -> None:
        """A segment was found lost; called once the state of recovery has changed for it."""

    def undo_cwnd(self, sk: _native.Sock) -> int:
        """The window to return to when a reduction proved unnecessary."""
        return max(sk.snd_cwnd, sk.prior_cwnd)

    def min_tso_segs(self, sk: _native.Sock) -> int:
        """Smallest burst in segments that pacing releases at once."""
        return 2

    def get_info(self) -> Mapping[str, int]:
        """What it counted so far, by name: always the same names. It is called before ``init``, too, for the names; so count from
        ``__init__`` on."""
        return {}


def controller(slug: str, /) -> Callable[[_Class], _Class]:
    """Makes a class a controller that scenarios name ``slug``; its docstring's first line and ``source``, if it has that, are told.

    The same name again replaces the class: a cell of a notebook can run twice.

    >>> @controller("reno")
    ... class Mine(Controller):
    ...     '''Mine.'''
    ...     def ssthresh(self, sk): return 2
    ...     def cong_avoid(self, sk, acked): pass
    Traceback (most recent call last):
    ...
    ValueError: there is a controller 'reno' already; choose another name
    """

    def registered(kind: _Class) -> _Class:
        _native.register(_description(slug, kind))
        return kind

    return registered


def _description(slug: str, kind: type[Controller]) -> dict[str, Any]:
    if not (isinstance(kind, type) and issubclass(kind, Controller)):
        raise TypeError(f"{kind!r} is not a controller; write class Name(airtcp.Controller)")
    if not _NAME.fullmatch(slug):
        raise ValueError(f"{slug!r} cannot be a controller's name; write small letters, digits and hyphens, \"my-reno\"")
    about = (kind.__doc__ or "").strip().partition("\n")[0]
    if not about:
        raise TypeError(f"{kind.__name__} needs a docstring: its first line is what airtcp.show() tells of it")
    hooks = _hooks(kind)
    parameters = dict(_parameters(kind))

    def read(name: str, text: str) -> str:
        return Parameter.write(parameters[name].read(text))

    def make(values: Mapping[str, str]) -> Controller:
        made = kind.__new__(kind)
        made.__dict__.update({name: parameters[name].read(text) for name, text in values.items()})
        made.__init__()  # type: ignore[misc]
        return made

    defaults = {name: Parameter.write(parameter.default) for name, parameter in parameters.items()}
    return {
        "slug": slug,
        "about": about,
        "source": getattr(kind, "source", f"Python, {kind.__name__}"),
        "parameters": [
            (name, each.kind, each.about, read(name, defaults[name]), each.source) for name, each in parameters.items()
        ],
        "hooks": hooks,
        "counters": _counters(kind, make(defaults)),
        "needs_ecn": kind.needs_ecn,
        "answers_marks": kind.answers_marks,
        "sndbuf_expand": kind.sndbuf_expand,
        "read": read,
        "make": make,
    }


def _hooks(kind: type[Controller]) -> list[str]:
    """The hooks that a class defines, each with the arguments that it is called with."""
    import difflib
    import inspect

    known = _native.hook_names()
    defined = [name for name in known if getattr(kind, name) is not getattr(Controller, name)]
    for name in defined:
        signature = inspect.signature(getattr(Controller, name))
        try:
            inspect.signature(getattr(kind, name)).bind(*signature.parameters)
        except TypeError:
            written = ", ".join(signature.parameters)
            raise TypeError(f"{kind.__name__}.{name} is called with other arguments; write def {name}({written})") from None
    if "ssthresh" not in defined:
        raise TypeError(f"{kind.__name__} has no threshold after a loss; write def ssthresh(self, sk)")
    if "cong_avoid" not in defined and "cong_control" not in defined:
        raise TypeError(f"{kind.__name__} has nothing that sets its window; write def cong_avoid(self, sk, acked)")
    for name in vars(kind):
        near = difflib.get_close_matches(name, known, 1, 0.85)
        if near and name not in known and callable(getattr(kind, name)):
            warnings.warn(f"{kind.__name__}.{name} is no hook; did you mean {near[0]}?", stacklevel=4)
    return defined


def _parameters(kind: type[Controller]) -> Iterator[tuple[str, Parameter[Any]]]:
    for name in dict.fromkeys(name for each in reversed(kind.__mro__) for name in vars(each)):
        parameter = getattr(kind, name, None)
        if isinstance(parameter, Parameter):
            yield name, parameter


def _counters(kind: type[Controller], made: Controller) -> list[str]:
    counters = list(made.get_info())
    for name in counters:
        if not (isinstance(name, str) and _COUNTER.fullmatch(name)):
            raise ValueError(f"{kind.__name__} counts {name!r}; write small letters, digits and underscores, \"losses_seen\"")
    return counters


def after(a: int, b: int, /) -> bool:
    """True if the sequence number or wrapping count ``a`` is after ``b`` (Linux ``after()``).

    >>> after(5, 2**32 - 5), after(5, 5)
    (True, False)
    """
    return 0 < (a - b) % 2**32 < 2**31


def interrupt(threads: list[int]) -> None:
    """Raises KeyboardInterrupt in threads that run hooks: one of them may be in a loop without an end."""
    import ctypes

    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
