"""A node's end of a wire, as a witness."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from culvert.labs.link.wire.cable import Point, Wire
from culvert.labs.witness import Handed, Protocols, View, Witness

ETHERNET_HEADER = 14
POINTS: dict[View, tuple[Point, Point]] = {
    View.NODE: ("sent", "delivered"),
    View.SENT: ("sent", "sent"),
    View.TOWARDS: ("nowhere", "sent"),
}
"""The recording points: for packets from the node, and for packets to it."""


class WireEnd(Witness):
    """The end a (``is_left``) or b of a wire."""

    def __init__(self, wire: Wire, *, is_left: bool) -> None:
        self._wire = wire
        self._is_left = is_left

    def record(
        self,
        name: str,
        view: View,
        *,
        packet_bytes: int,
        sample_one_in: int,
        marks: Mapping[str, int] | None = None,
        flow: Protocols | None = None,
    ) -> None:
        here, there = POINTS[view]
        self._wire.record(
            name,
            a_to_b=here if self._is_left else there,
            b_to_a=there if self._is_left else here,
            packet_bytes=packet_bytes + ETHERNET_HEADER,
            sample_one_in=sample_one_in,
            marks=marks,
            flow=flow,
        )

    def save(self, name: str, path: Path) -> None:
        # Stop first: saving takes time, and more packets would be recorded meanwhile.
        self._wire.stop_recording(name)
        self._wire.save(path, name)
        self._wire.forget(name)

    def handed(self) -> Handed:
        """Packets and bytes that the node has handed over until now."""
        statistics = self._wire.statistics()
        counts = statistics.a_to_b if self._is_left else statistics.b_to_a
        return Handed(counts.received_packets, counts.received_bytes)
