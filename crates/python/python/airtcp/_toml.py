"""Scenarios that were made in Python, as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value(item: Any) -> str:
    """A value on one line.

    >>> value({"kind": "gilbert-elliott", "mean": "2%", "burst": 5})
    '{ kind = "gilbert-elliott", mean = "2%", burst = 5 }'
    >>> value(["0%", 1, 2.5, True])
    '["0%", 1, 2.5, true]'
    """
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        # JSON's escapes are TOML's, but for the solidus, which json does not escape.
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        pairs = ", ".join(f"{_key(key)} = {value(below)}" for key, below in item.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray)):
        return "[" + ", ".join(value(below) for below in item) + "]"
    # NumPy's numbers, too.
    if hasattr(item, "item") and callable(item.item):
        return value(item.item())
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float) and item == item and abs(item) != float("inf"):
        return repr(item)
    raise TypeError(f"{item!r} cannot stand in a scenario; write a text, a number, a bool, a list or a dict")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{key!r} cannot be a key of a scenario; keys are texts")
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def dumps(document: Mapping[str, Any]) -> str:
    """A scenario as the text of a file, with its tables in the order of the dict.

    >>> print(dumps({"schema": 1, "base": "demo", "links": {"air": {"loss": "5%"}}}))
    schema = 1
    base = "demo"
    <BLANKLINE>
    [links.air]
    loss = "5%"
    <BLANKLINE>
    """
    if not isinstance(document, Mapping):
        raise TypeError(f"a scenario is a dict, not {type(document).__name__}")
    lines: list[str] = []
    _table(lines, document, [])
    return "\n".join(lines) + "\n"


def _table(lines: list[str], table: Mapping[str, Any], path: list[str]) -> None:
    for key, item in table.items():
        if not _has_header(path, item):
            lines.append(f"{_key(key)} = {value(item)}")
    for key, item in table.items():
        if _has_header(path, item):
            below = [*path, _key(key)]
            if not all(_has_header(below, each) for each in item.values()):
                lines.extend(["", f"[{'.'.join(below)}]"])
            _table(lines, item, below)


def _has_header(path: list[str], item: Any) -> bool:
    """[links.air] is written out; what is below it, and what varies, stands on one line."""
    return isinstance(item, Mapping) and bool(item) and len(path) < 2 and path[:1] != ["vary"]
