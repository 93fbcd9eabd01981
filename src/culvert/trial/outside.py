"""What crosses the link, as the wire recorded it, or as a capture at a node sees it.

::

    begin ── ready ── [packets] ── end: what was seen

On a wire nothing is captured on the nodes: the probe reads the wire's recording afterwards, with
the same questions. Both stamp packets with CLOCK_REALTIME, the kernel when it hands a packet to
the device or receives it there, the wire when it reads or writes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from culvert.labs.base import Lab
from culvert.labs.link.witness import View, Witness
from culvert.labs.node import Node
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, parse
from culvert.vpns.outer import OuterFlow

SNAPLEN = 512
"""Bytes of a packet that are searched; canaries repeat, so the first are enough."""
READ_DEADLINE_S = 60.0
CANARY_NEEDLE_BYTES = 8


def capture_parameters(flow: OuterFlow | None, canary: bytes) -> dict[str, object]:
    """The part of a ``capture`` request that says what to look for.

    Payloads repeat the canary, so that its first bytes stand at least once in any packet with 40
    bytes of payload, wherever a segment was cut; a 64-byte UDP packet has just these.
    """
    request: dict[str, object] = {"canaries": [canary[:CANARY_NEEDLE_BYTES].hex()]}
    if flow is not None:
        request["flow"] = _as_request(flow)
        request["decrypted_inward"] = flow.decrypts_there
    return request


def _as_request(flow: OuterFlow) -> dict[str, object]:
    also = {"also": [_as_request(other) for other in flow.also]} if flow.also else {}
    return {"protocol": flow.protocol, "ports": sorted(flow.ports), **also}


class Sighting(ABC):
    """Packets are being looked at."""

    @abstractmethod
    def ready(self) -> None:
        """Return when no packet from now on is missed."""

    @abstractmethod
    def end(self) -> Captured:
        """Look no more; what was seen."""


@dataclass
class _ByCapture(Sighting):
    task: Task
    node: str

    def ready(self) -> None:
        self.task.ready()

    def end(self) -> Captured:
        captured = parse(Captured, self.task.stop())
        return captured.model_copy(update={"seen_by": f"captured on node {self.node}"})


@dataclass
class _ByWire(Sighting):
    witness: Witness
    name: str
    file: Path
    read: Callable[[Path], dict[str, Any]]

    def ready(self) -> None:
        """The wire records since the request."""

    def end(self) -> Captured:
        self.witness.save(self.name, self.file)
        try:
            captured = parse(Captured, self.read(self.file))
        finally:
            self.file.unlink()
        return captured.model_copy(update={"seen_by": "recorded by the wire"})


class Outside:
    """Looks at the links from both ends of a path; ``probes`` are theirs, the source's first."""

    def __init__(
        self, lab: Lab, flow: OuterFlow | None, probes: Mapping[str, Probe], canary: bytes
    ) -> None:
        self._lab = lab
        self._flow = flow
        self._probes = probes
        self._canary = canary
        self._names: Iterator[int] = count()

    def witness(self, name: str) -> Witness | None:
        """Of the link at that node, if it is one."""
        return self._lab.witness(self._node(name))

    def begin(self, name: str, view: View, *, sample_one_in: int = 1, **kept: int) -> Sighting:
        """Begin to look at packets, from the end of that node.

        ``kept`` are ``record``, ``snaplen_record`` and ``snaplen`` of a ``capture`` request. A
        capture sees what the node sends and what arrives: for what the other end sends, and for
        its own packets that the kernel shows decrypted, see ``begin_all_sent``.
        """
        witness = self.witness(name)
        if witness is None:
            return self._capture(name, view, sample_one_in, kept)
        number = next(self._names)
        recording = f"{name} {number}"
        witness.record(
            recording,
            view,
            packet_bytes=kept.get("snaplen", 2048),
            sample_one_in=sample_one_in,
        )
        return _ByWire(
            witness,
            recording,
            self._node(name).directory / f"witness-{number}.pcapng",
            lambda file: self._probes[name].call(
                "capture",
                READ_DEADLINE_S,
                device=self._node(name).underlay.device,
                file=str(file),
                **self._looks_for(),
                **kept,
            ),
        )

    def begin_all_sent(self, **kept: int) -> dict[str, Sighting]:
        """Begin to look at all packets that either node sends, by the places where they are seen.

        A capture at the source does that, except where the kernel shows decrypted packets.
        """
        source, target = self._probes
        begun = {"canary": self.begin(source, View.SENT, **kept)}
        flow = self._flow
        if flow is not None and flow.decrypts_there and self.witness(source) is None:
            begun[f"canary, sent by {target}"] = self._capture(source, View.TOWARDS, 1, kept)
        return begun

    def _capture(
        self, name: str, view: View, sample_one_in: int, kept: Mapping[str, int]
    ) -> Sighting:
        place, direction = name, "both"
        if view is View.TOWARDS:
            place, direction = self._carried_towards(name)
        task = self._probes[place].begin(
            "capture",
            device=self._node(place).underlay.device,
            direction=direction,
            sample_one_in=sample_one_in,
            **capture_parameters(self._flow, self._canary),
            **kept,
        )
        return _ByCapture(task, place)

    def _carried_towards(self, name: str) -> tuple[str, str]:
        """Where to capture what the link carries towards a node: at which node, in which direction.

        Where it arrives; but where it is sent if the kernel shows decrypted packets beside it.
        """
        if self._flow is not None and self._flow.decrypts_there:
            return next(other for other in self._probes if other != name), "out"
        return name, "in"

    def _looks_for(self) -> dict[str, object]:
        # Between the nodes nothing is decrypted.
        return {**capture_parameters(self._flow, self._canary), "decrypted_inward": False}

    def _node(self, name: str) -> Node:
        return self._lab.nodes[name]
