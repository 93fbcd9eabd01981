"""Clocks of a lab's nodes that differ: what one node issues or signs is not valid yet, or not any
more, on another."""

from __future__ import annotations

import time
from contextlib import suppress

from culvert.errors import CulvertError, VpnError
from culvert.labs.base import Lab
from culvert.vpns.parts.pki import CLOCK_SLACK

HERE = "this machine"
"""It issues the certificates."""


def clocks_apart(vpn: str, lab: Lab) -> VpnError | None:
    """The error for the two clocks that differ most, if that is more than certificates allow for;
    nodes that do not answer are left out."""
    ahead_s: dict[str, int] = {}
    for name, node in lab.nodes.items():
        with suppress(CulvertError):
            ahead_s[f"node {name}"] = round((node.realtime_ns() - time.time_ns()) / 1e9)
    ahead_s[HERE] = 0
    first, last = max(ahead_s, key=ahead_s.__getitem__), min(ahead_s, key=ahead_s.__getitem__)
    apart_s = ahead_s[first] - ahead_s[last]
    if apart_s <= CLOCK_SLACK.total_seconds():
        return None
    return VpnError(
        vpn,
        f"the clock of {first} is {apart_s} s ahead of that of {last}",
        "set the clocks: chronyc makestep, or date -s",
    )
