"""QUIC as inner packets, for the proof, from what its connections count at both ends."""

from __future__ import annotations

from culvert.measurements.streams.packet import UDP_HEADERS
from culvert.probe.results import Datagrams
from culvert.trial.traffic import Flow, InnerTraffic

UNCOUNTED = 4
"""Datagrams of a connection that its end does not count: those that close it."""


def datagram_traffic(near: Datagrams, far: Datagrams, connections: int) -> InnerTraffic:
    """Inner traffic of ``connections`` from a to b."""
    return InnerTraffic(
        a_to_b_sent=_flow(near.sent + UNCOUNTED * connections, near.sent_bytes),
        a_to_b_received=_flow(far.received, far.received_bytes),
        b_to_a_sent=_flow(far.sent + UNCOUNTED * connections, far.sent_bytes),
        b_to_a_received=_flow(near.received, near.received_bytes),
    )


def _flow(datagrams: int, payload_bytes: int) -> Flow:
    return Flow(datagrams, payload_bytes + datagrams * UDP_HEADERS)
