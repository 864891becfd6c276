"""Running scenarios and papers."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

from airtcp import _native, _toml

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Progress = Union[bool, None, Callable[[int, int], object]]

_TABLES = ("cells", "runs", "metrics", "counters", "series")


class Results:
    """What a scenario gave.

    Tables are Arrow streams for any library that reads them, and have ``to_pydict()`` for those who use none;
    ``airtcp.describe()["tables"]`` says what each column holds. Numbers are in base units: bit/s, ns, bytes.
    """

    def __init__(self, outcome: _native.Outcome) -> None:
        self._outcome = outcome

    @property
    def cells(self) -> _native.Table:
        """A row for each cell and metric: the median over its runs with its 95 % interval."""
        return self._table("cells")

    @property
    def runs(self) -> _native.Table:
        """A row for each run and flow."""
        return self._table("runs")

    @property
    def metrics(self) -> _native.Table:
        """A row for each run and metric."""
        return self._table("metrics")

    @property
    def counters(self) -> _native.Table:
        """A row for each run and counter of a scheme or controller, and for each reason of a loss."""
        return self._table("counters")

    @property
    def series(self) -> _native.Table:
        """The first run of each cell over time."""
        return self._table("series")

    def _table(self, name: str) -> _native.Table:
        return self._outcome.table(_TABLES.index(name))

    @property
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` has."""
        summary: dict[str, Any] = json.loads(self._outcome.summary)
        return summary

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._outcome.name

    @property
    def hash(self) -> str:
        """The scenario's hash: results of one hash are the same numbers."""
        return self._outcome.hash

    @property
    def scenario(self) -> str:
        """The resolved scenario as TOML: ``airtcp.run`` and the command give the same numbers for it."""
        return self._outcome.scenario

    @property
    def directory(self) -> Optional[str]:
        """Where the results were written, if they were."""
        directory = self._outcome.directory
        return None if directory is None else os.fspath(directory)

    @property
    def headline(self) -> Optional[str]:
        """What schemes changed, in a sentence; None without schemes to compare."""
        return self._outcome.headline

    @property
    def failures(self) -> list[str]:
        """A sentence for everything that went wrong in a run."""
        return self._outcome.failures

    @property
    def not_run(self) -> dict[str, int]:
        """How many cells were not run, by the reason."""
        return dict(self._outcome.not_run)

    def __repr__(self) -> str:
        cells = len(self.summary["cells"])
        return f"<airtcp.Results {self.name}-{self.hash}: {cells} cells>"


def run(
    scenario: Scenario,
    /,
    *,
    threads: Optional[int] = None,
    results: Union[str, "os.PathLike[str]", None] = None,
    progress: Progress = None,
    **overrides: Any,
) -> Results:
    """Runs a scenario in the simulator.

    ``scenario`` is the name of one that ships (``airtcp.describe()["scenarios"]``), a file, or a dict of what a file would
    say. ``overrides`` are keys of the file, as ``--set`` of the command has them: ``runs=3``, ``**{"links.air.loss": "5%"}``;
    a list under a key that varies, ``**{"vary.links.air.loss": ["0%", "5%"]}``, is what it varies over.

    ``results`` is a directory in which to leave what ``airtcp run`` leaves, with the report. ``progress`` is True or False for a
    bar on stderr (by default on a terminal and in a notebook), or is called with the runs that are done and all of them.

    The interpreter is free meanwhile, other threads run, and Ctrl-C ends it. What is wrong in a scenario is a ValueError that says
    what to write:

    >>> run("dmeo")
    Traceback (most recent call last):
    ...
    ValueError: dmeo: cannot be read: No such file or directory (os error 2); did you mean 'demo'?
    >>> run({"schema": 1, "base": "demo"}, duration="5")
    Traceback (most recent call last):
    ...
    ValueError: --set duration=5: bad value for 'duration' in the file: '5' has no known unit; write for example "25ms"; units are ns, us, µs, ms, s, min (airtcp show scenario)
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads={threads}: at least one")
    file, text = _source(scenario)
    with _Progress(progress) as tell:
        outcome = _native.run(file, text, _sets(overrides), threads, results, tell)
    found = Results(outcome)
    for failure in found.failures:
        warnings.warn(failure, RuntimeWarning, stacklevel=2)
    return found


def scenario(scenario: Scenario, /, **overrides: Any) -> str:
    """The resolved scenario as TOML, with its base and the overrides in it: checked, not run.

    >>> text = scenario({"schema": 1, "base": "demo", "name": "mine"}, runs=3)
    >>> "runs = 3" in text
    True
    """
    file, text = _source(scenario)
    return _native.resolve(file, text, _sets(overrides))


def reproduce(
    paper: str, /, *, quick: bool = False, threads: Optional[int] = None, progress: Progress = None
) -> dict[str, Any]:
    """Runs a paper's experiments and judges its claims; what ``claims.json`` has.

    ``quick`` has fewer and shorter runs. Experiments on kernel TCP, and claims that name tests, need the command.
    """
    with _Progress(progress) as tell:
        claims: dict[str, Any] = json.loads(_native.reproduce(paper, quick, threads, tell))
    return claims


def describe() -> dict[str, Any]:
    """What there is: schemes, controllers, scenarios, papers, metrics, and the columns of tables.

    >>> sorted(describe())
    ['controllers', 'metrics', 'papers', 'scenarios', 'schemes', 'tables']
    >>> describe()["metrics"]["goodput_bps"]
    {'unit': 'bit/s', 'about': 'application bits per second, all flows together'}
    """
    everything: dict[str, Any] = json.loads(_native.describe())
    return everything


def show(name: Optional[str] = None, /) -> None:
    """Prints what there is, or the parameters of a scheme or controller, or the text of a scenario of no such name.

    >>> show("newzag")  # doctest: +ELLIPSIS
    newzag: ...
    """
    everything = describe()
    if name is None:
        for kind in ("schemes", "controllers"):
            print(kind)
            for slug, entry in everything[kind].items():
                print(f"  {slug}: {entry['about']}")
        for kind in ("scenarios", "papers"):
            print(f"{kind}: {', '.join(everything[kind])}")
        return
    entry = everything["schemes"].get(name) or everything["controllers"].get(name)
    if entry is None and name in everything["scenarios"]:
        print(everything["scenarios"][name], end="")
        return
    if entry is None:
        raise ValueError(f"there is no scheme, controller or scenario {name!r}; airtcp.show() lists them")
    print(f"{name}: {entry['about']} [{entry['source']}]")
    for key, about in entry["parameters"].items():
        print(f"  {key} = {about['default']}  ({about['kind']}) {about['about']} [{about['source']}]")


def _source(scenario: Scenario) -> tuple[str, Optional[str]]:
    if isinstance(scenario, Mapping):
        return "scenario.toml", _toml.dumps(scenario)
    return os.fspath(scenario), None


def _sets(overrides: Mapping[str, Any]) -> list[str]:
    def text(item: Any) -> str:
        return item if isinstance(item, str) else _toml.value(item)

    return [f"{key}={text(item)}" for key, item in overrides.items()]


class _Progress:
    """A bar on stderr: one line that is written again and again."""

    def __init__(self, progress: Progress) -> None:
        if progress is None:
            progress = sys.stderr is not None and sys.stderr.isatty() or "ipykernel" in sys.modules
        self._tell = progress if callable(progress) else self._bar if progress else None
        self._is_drawn = False

    def __enter__(self) -> Optional[Callable[[int, int], object]]:
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            print(file=sys.stderr)

    def _bar(self, done: int, runs: int) -> None:
        self._is_drawn = True
        full = 30 * done // max(runs, 1)
        print(f"\r{'█' * full}{'░' * (30 - full)} {done}/{runs} runs", end="", file=sys.stderr, flush=True)
