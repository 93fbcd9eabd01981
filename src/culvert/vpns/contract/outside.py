"""The packets between the nodes, observed at node a's end of the link."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.witness import View, Witness
from culvert.probe.client import Probe
from culvert.probe.results import Captured, parse
from culvert.vpns.contract.observe import Capture
from culvert.vpns.outer import OuterPacket, outer_packet

_NAME = "contract"
_FILE = "contract.pcapng"
_PACKET_BYTES = 256
_KEPT_PAYLOAD_BYTES = 64
_MOST_PACKETS = 100_000
_READ_DEADLINE_S = 30.0


class UnderlayLook(Protocol):
    """Captures packets of the underlay."""

    def packets(self) -> list[OuterPacket]:
        """Packets since the last call, in order."""


@contextmanager
def outside(lab: Lab) -> Iterator[UnderlayLook]:
    """The wire's recording if the link is a wire, otherwise a capture on node a."""
    witness = lab.witness(lab.a)
    if witness is None:
        with Capture(lab.a) as capture:
            yield capture
        return
    with Probe(lab.a) as probe:
        yield _Recording(witness, lab.a, probe)


class _Recording:
    """What the wire has recorded; the probe reads its file."""

    def __init__(self, witness: Witness, node: Node, probe: Probe) -> None:
        self._witness = witness
        self._node = node
        self._probe = probe
        self._begin()

    def packets(self) -> list[OuterPacket]:
        """Packets between the end of one recording and the start of the next are in neither."""
        file = self._node.directory / _FILE
        self._witness.save(_NAME, file)
        self._begin()
        try:
            answer = self._probe.call(
                "capture",
                _READ_DEADLINE_S,
                device=self._node.underlay.device,
                file=str(file),
                canaries=[],
                record=_MOST_PACKETS,
                snaplen_record=_KEPT_PAYLOAD_BYTES,
            )
        finally:
            file.unlink()
        return [outer_packet(packet) for packet in parse(Captured, answer).recorded]

    def _begin(self) -> None:
        self._witness.record(_NAME, View.NODE, packet_bytes=_PACKET_BYTES, sample_one_in=1)
