"""Packets that cross the link, from a capture at a node.

::

    begin ── ready ── [packets] ── end: captured packets

The kernel timestamps packets with CLOCK_REALTIME when it passes them to the device or receives them
there. A packet that the link loses is seen at the sender only.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, parse
from culvert.topology.link.spec import LinkSpec
from culvert.vpns.outer import OuterFlow, OuterMessage

CANARY_BYTES = 32
MASK, BITS = 0xF0, 0xA0
"""Bits that all bytes of a canary have in common: any four successive bytes are then known by one
comparison, wherever they begin. Four random bits are left in each byte."""
WHOLE = 1 << 16
"""Bytes of a packet that are searched."""
LONG_RUN = 1100
"""Bytes of the canary in a row in packets that are as long as the path carries."""
_NOT_INWARD: Mapping[str, int] = {"decrypted_inward": False}
"""In a request: a router has no decrypted packets."""
EVERY_DEVICE = "any"
"""In a request of a capture."""
SAMPLED_PPS = 100
"""At least this many packets per second of a busy link with packets of MTU size; all if it carries
fewer. Capturing these has no relevant cost, and a small sample misses much."""
MISSED = 0.05
"""Probability with which a share of the stated size is missed."""


class View(StrEnum):
    """Which packets, as seen from a node's end of the link."""

    NODE = "what the node sends, and what arrives at it"
    TOWARDS = "what the link carries towards the node"


def new_canary() -> bytes:
    """A random pattern that no other traffic carries: payloads repeat it, captures search for
    it."""
    return bytes(BITS | byte & ~MASK & 0xFF for byte in secrets.token_bytes(CANARY_BYTES))


def found_share(packets: int) -> int:
    """One in so many is the smallest share of a link's packets of which a random sample of that
    size has at least one with 95 %.

    A share p is missed with (1 - p)^n, and p = 1 - 0.05^(1/n) is about 3/n.
    """
    return int(1 / (1 - MISSED ** (1 / packets))) if packets else 0


def one_in(wanted: int, link: LinkSpec) -> int:
    """One in ``wanted`` packets, or a larger share if the slower direction carries few."""
    if link.slowest_bps is None:
        return wanted
    return max(1, min(wanted, int(link.slowest_bps / (8 * link.mtu) / SAMPLED_PPS)))


def capture_parameters(flow: OuterFlow | None, canary: bytes) -> dict[str, object]:
    """The part of a ``capture`` request with the flow and the canary to search for, if any.

    Payloads repeat the canary; eight bytes of it, from wherever on, are a mark. A 64-byte UDP
    packet has just eight.
    """
    request: dict[str, object] = {
        "canaries": [canary.hex()] if canary else [],
        "snaplen": WHOLE,
    }
    if flow is not None:
        request["flow"] = _as_request(flow)
        request["decrypted_inward"] = flow.decrypts_there
    return request


def _as_request(flow: OuterFlow) -> dict[str, object]:
    return {
        "protocol": flow.protocol,
        "ports": sorted(flow.ports),
        "also": [_as_request(other) for other in flow.also],
        "messages": [_message(each) for each in flow.messages],
    }


def _message(kind: OuterMessage) -> dict[str, object]:
    begins = [(at, 0xFF, value) for at, value in enumerate(kind.begins)]
    noise = None if kind.noise_from is None else (kind.noise_from, kind.noise_behind)
    return {
        "fixed": [*begins, *kind.fixed],
        "least": kind.least,
        "most": kind.most,
        "step": kind.step,
        "noise": noise,
    }


class Capture(ABC):
    """A capture that is running."""

    @abstractmethod
    def ready(self) -> None:
        """Return when every later packet is captured."""

    @abstractmethod
    def end(self) -> Captured:
        """End the capture; returns what it captured."""


@dataclass
class _ByCapture(Capture):
    task: Task
    node: str

    def ready(self) -> None:
        self.task.ready()

    def end(self) -> Captured:
        captured = parse(Captured, self.task.stop())
        where = f"on node {self.node}"
        return captured.model_copy(
            update={"seen_by": f"captured {where}", "searched_by": f"searched {where}"}
        )


class Outside:
    """Captures the links at both ends of a path; ``probes`` are those of the ends, the source's
    first."""

    def __init__(
        self,
        lab: Lab[Any],
        flow: OuterFlow | None,
        probes: Mapping[str, Probe],
        canary: bytes,
        scope: Mapping[str, Any] | None = None,
        *,
        inner_ends: Callable[[], Sequence[str]] = tuple,
        joined: bool = False,
    ) -> None:
        """``scope`` are the packets of the lab, where the links carry others as well;
        ``inner_ends`` returns the addresses inside, of which no packet has two; ``joined``: an
        offload may join packets."""
        self._lab = lab
        self._flow = flow
        self._probes = probes
        self._canary = canary
        self._scope = {} if scope is None else {"scope": scope}
        self._inner_ends, self._joined = inner_ends, joined

    def begin(self, name: str, view: View, *, sample_one_in: int = 1, **kept: int) -> Capture:
        """Begin to capture packets at that node's end of the link.

        Captured are a random packet in ``sample_one_in``, and all that have the canary or are not
        the tunnel's. ``kept`` are ``record``, ``snaplen_record`` and ``marked_run`` of a
        ``capture`` request. For packets that the other end sends, if the kernel shows decrypted
        packets, see ``begin_all_sent``.
        """
        place, direction = name, "both"
        if view is View.TOWARDS:
            place, direction = self._carried_towards(name)
        device = self._node(place).underlay.device
        return self._on_device(place, device, direction, sample_one_in, kept)

    def begin_all_sent(self, **kept: int) -> dict[str, Capture]:
        """Begin to capture all packets that both nodes send; returns the captures by place.

        A capture at the source is enough, unless the kernel shows decrypted packets.
        """
        source, target = self._probes
        begun = {"canary": self.begin(source, View.NODE, **kept)}
        if self._flow is not None and self._flow.decrypts_there:
            begun[f"canary, sent by {target}"] = self.begin(source, View.TOWARDS, **kept)
        return begun

    def begin_inside(self, name: str, device: str) -> Capture:
        """Begin to capture the inner packets on a node's interface."""
        return self._on_device(name, device, "both", 1, {"record": 0})

    def begin_on_all(self, name: str, *, sample_one_in: int, marked_run: int) -> Capture:
        """Begin to capture what arrives at any device of a node that forwards packets."""
        kept = {"record": 0, "marked_run": marked_run, **_NOT_INWARD}
        return self._on_device(name, EVERY_DEVICE, "in", sample_one_in, kept)

    def beside(self, name: str) -> Mapping[str, Any] | None:
        """In a request for accounting: at which device to count the packets that are not the lab's;
        None if a node's link carries no others."""
        device = self._node(name).underlay.device
        return {"device": device, **self._scope} if self._scope else None

    def _on_device(
        self,
        place: str,
        device: str,
        direction: str,
        sample_one_in: int,
        kept: Mapping[str, int],
    ) -> Capture:
        task = self._probes[place].begin(
            "capture",
            device=device,
            direction=direction,
            sample_one_in=sample_one_in,
            **{**self._request(), **self._scope, **kept},
        )
        return _ByCapture(task, place)

    def _carried_towards(self, name: str) -> tuple[str, str]:
        """Node and direction of the capture of packets that the link carries towards a node.

        It is the receiver; but the sender if the kernel shows decrypted packets at the receiver.
        """
        if self._flow is not None and self._flow.decrypts_there:
            return next(other for other in self._probes if other != name), "out"
        return name, "in"

    def _request(self) -> dict[str, object]:
        request = capture_parameters(self._flow, self._canary)
        if self._flow is not None:
            request |= {"inner_ends": list(self._inner_ends()), "joined": self._joined}
        return request

    def _node(self, name: str) -> Node:
        node: Node = self._lab.nodes[name]
        return node
