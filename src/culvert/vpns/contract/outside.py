"""The packets between the nodes, observed at node a's end of the link."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.witness import View, Witness
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, parse
from culvert.vpns.outer import OuterPacket, outer_packet

_NAME = "contract"
_FILE = "contract.pcapng"
_PACKET_BYTES = 256
_KEPT_PAYLOAD_BYTES = 64
_MOST_PACKETS = 100_000
_DEADLINE_S = 30.0


class UnderlayLook(ABC):
    """Captures packets of the underlay."""

    def __init__(self, node: Node, probe: Probe) -> None:
        self._node = node
        self._probe = probe
        self._begin()

    def packets(self) -> list[OuterPacket]:
        """Packets since the last call, in order. Those between the end of one capture and the start
        of the next are in neither."""
        captured = self._end()
        self._begin()
        return [outer_packet(packet) for packet in captured.recorded]

    @abstractmethod
    def _begin(self) -> None:
        """From now on all packets are captured."""

    @abstractmethod
    def _end(self) -> Captured:
        """All packets until now."""

    def _task(self, **parameters: Any) -> Task:
        return self._probe.begin(
            "capture",
            device=self._node.underlay.device,
            canaries=[],
            record=_MOST_PACKETS,
            snaplen_record=_KEPT_PAYLOAD_BYTES,
            **parameters,
        )


def outside(lab: Lab, probe: Probe) -> UnderlayLook:
    """The wire's recording if the link is a wire, otherwise a capture by the probe on node a."""
    witness = lab.witness(lab.a)
    return _Capture(lab.a, probe) if witness is None else _Recording(lab.a, probe, witness)


@contextmanager
def captured_on(node: Node) -> Iterator[UnderlayLook]:
    """A capture on a node."""
    with Probe(node) as probe:
        yield _Capture(node, probe)


class _Capture(UnderlayLook):
    """What the probe sees at the device."""

    def _begin(self) -> None:
        self._running = self._task()
        self._running.ready()

    def _end(self) -> Captured:
        return parse(Captured, self._running.stop(_DEADLINE_S))


class _Recording(UnderlayLook):
    """What the wire has recorded; the probe reads its file."""

    def __init__(self, node: Node, probe: Probe, witness: Witness) -> None:
        self._witness = witness
        super().__init__(node, probe)

    def _begin(self) -> None:
        self._witness.record(_NAME, View.NODE, packet_bytes=_PACKET_BYTES, sample_one_in=1)

    def _end(self) -> Captured:
        file = self._node.directory / _FILE
        self._witness.save(_NAME, file)
        try:
            return parse(Captured, self._task(file=str(file)).result(_DEADLINE_S))
        finally:
            file.unlink()
