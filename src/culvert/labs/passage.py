"""What is recorded of the path of packets from one host to another."""

from __future__ import annotations

from typing import TypedDict

PASSAGES = "paths"
"""The key in the facts of a node with real links; below it passages by the other node."""
UNKNOWN = "unknown"


class Passage(TypedDict):
    """``gateway`` "none": the other host is a neighbour. ``ttl`` is that of an echo's answer: the
    other kernel's initial value less the routers on the way back; "unknown" without ping or an
    answer."""

    device: str
    source: str
    gateway: str
    ttl: str
