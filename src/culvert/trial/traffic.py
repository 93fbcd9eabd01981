"""How much went through the tunnel, as the sockets inside it know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """Inner IP packets of one direction, seen at one end.

    ``ip_bytes`` counts whole IP packets, headers and all. ``length`` is set where every packet has
    the same length in bytes. ``option_bytes`` may have come on top, in TCP options that nobody
    counted.
    """

    packets: int
    ip_bytes: int
    length: int | None = None
    option_bytes: int = 0


@dataclass(frozen=True)
class InnerTraffic:
    """Both directions: what was handed to the tunnel and what came out of it."""

    a_to_b_sent: Flow
    a_to_b_received: Flow
    b_to_a_sent: Flow
    b_to_a_received: Flow
