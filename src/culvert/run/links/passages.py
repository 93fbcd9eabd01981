"""Whether the path of packets between hosts changed from one block to the next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from culvert.labs.passage import PASSAGES, UNKNOWN

Passages = dict[tuple[str, str], Mapping[str, str]]
"""Device, gateway, source and TTL by the names of both nodes, the one that sends first."""


def passages_of(underlay: Mapping[str, Any]) -> Passages:
    """From the evidence of a trial; empty without real links."""
    return {
        (name, other): passage
        for name, facts in underlay.items()
        if isinstance(facts, Mapping)
        for other, passage in facts.get(PASSAGES, {}).items()
    }


def changes(since: int, before: Passages, now: Passages) -> list[str]:
    """A sentence for each direction that is not as in block ``since``; what is unknown in one of
    them has not changed."""
    found = []
    for ends in before.keys() & now.keys():
        old, new = before[ends], now[ends]
        different = [
            f"{key} {old[key]}, now {new[key]}"
            for key in old.keys() & new.keys()
            if old[key] != new[key] and UNKNOWN not in (old[key], new[key])
        ]
        if different:
            source, target = ends
            what = "; ".join(sorted(different))
            found.append(f"the path changed since block {since}: {source} to {target}: {what}")
    return sorted(found)
