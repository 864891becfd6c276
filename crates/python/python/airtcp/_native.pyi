"""The native part of the package."""

import os
from typing import Any, Callable, Optional, Union

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
