"""airtcp: wireless links, schemes and TCP in a deterministic simulator, with results as Arrow tables.

>>> import airtcp
>>> results = airtcp.run("demo", duration="3s", warmup="1s", runs=2, **{"links.air.loss": "5%", "flows.bulk.controller": "cubic"})
>>> len(results.runs)
4
>>> results.cells.columns
['schemes.repair.kind', 'cell', 'name', 'median', 'low', 'high']
>>> plain, gsnoop = [cell["goodput_bps"]["median"] for cell in results.summary["cells"]]
>>> gsnoop > 2 * plain
True

pandas, Polars, DuckDB and pyarrow take a table as it is, without a copy: ``pyarrow.table(results.runs)``,
``polars.DataFrame(results.cells)``. None of them is needed.

A congestion controller can be a class in Python: see :class:`airtcp.Controller`.
"""

from airtcp import _toml
from airtcp._controller import Controller, ControllerError, Parameter, after, controller
from airtcp._native import (
    AckEvent,
    AckSample,
    CaEvent,
    CaState,
    LostSegment,
    RateSample,
    RxOpt,
    Sock,
    Table,
    __version__,
)
from airtcp._run import Results, describe, reproduce, run, scenario, show

__all__ = [
    "AckEvent",
    "AckSample",
    "CaEvent",
    "CaState",
    "Controller",
    "ControllerError",
    "LostSegment",
    "Parameter",
    "RateSample",
    "Results",
    "RxOpt",
    "Sock",
    "Table",
    "__version__",
    "after",
    "controller",
    "describe",
    "dumps",
    "reproduce",
    "run",
    "scenario",
    "show",
]

dumps = _toml.dumps
