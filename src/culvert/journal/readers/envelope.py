"""What vpn-bench (github.com/Qubasa/vpn-bench) puts around the documents of other tools.

::

    {"status": "success", "data": DOCUMENT, "meta": {"source": ..., "target": ...}}
    {"status": "success", "data": {"pairs": [{"source", "target", "result": DOCUMENT}, ...]}}
    {"status": "error", "error_type": ..., "error": {"msg": ...}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from culvert.journal.readers.figures import table
from culvert.json_text import read_json


@dataclass(frozen=True)
class Enclosed:
    """A document, the hosts between which it was measured, and how many pairs were at once."""

    document: Any
    path: str = ""
    pairs: int = 1


def is_envelope(value: object) -> bool:
    """Whether it is an envelope, and not a document itself."""
    return (
        isinstance(value, Mapping)
        and value.get("status") in ("success", "error")
        and not {"start", "end", "event"} & value.keys()
    )


def opened(value: Any) -> Iterator[Enclosed]:
    """The documents in an envelope, an error as iperf3's own; any other value as it is."""
    if not is_envelope(value):
        yield Enclosed(value)
        return
    path = _path(table(value, "meta"))
    if value["status"] == "error":
        yield Enclosed(_failed(value), path)
        return
    data = value.get("data")
    pairs = data.get("pairs") if isinstance(data, Mapping) else None
    if not isinstance(pairs, list):
        yield Enclosed(data, path)
        return
    for pair in pairs:
        given = pair if isinstance(pair, Mapping) else {}
        document = given["result"] if given.get("result") else _failed(given)
        yield Enclosed(document, _path(given), len(pairs))


def _path(hosts: Mapping[str, Any]) -> str:
    ends = [hosts.get(end) for end in ("source", "target")]
    return ">".join(str(end)[:100] for end in ends) if all(ends) else ""


def _failed(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the tool had printed before it failed; else a document with the error alone."""
    error = table(value, "error")
    with suppress(ValueError):
        printed = read_json(str(error.get("stdout") or ""))
        if isinstance(printed, Mapping) and printed.get("error"):
            return printed
    return {"error": error.get("msg") or value.get("error_type") or "it has no figures"}
