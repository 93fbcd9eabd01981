"""The traffic through the tunnel, as counted by the sockets inside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """Inner IP packets of one direction, counted at one end.

    ``ip_bytes`` counts whole IP packets with headers. ``length`` is set if every packet has the
    same length in bytes. ``option_bytes`` is an upper bound of uncounted TCP options, which are
    not in ``ip_bytes``.
    """

    packets: int
    ip_bytes: int
    length: int | None = None
    option_bytes: int = 0


@dataclass(frozen=True)
class InnerTraffic:
    """Both directions: traffic handed to the tunnel, and traffic that came out of it."""

    a_to_b_sent: Flow
    a_to_b_received: Flow
    b_to_a_sent: Flow
    b_to_a_received: Flow
