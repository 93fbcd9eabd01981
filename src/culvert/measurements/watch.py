"""Everything that is read around the timed part of a measurement.

::

    captures start ── accounting starts ── [the measurement] ── accounting ends ── captures end

On each node a capture of what the link delivers (sampled by the kernel at high rates, so that
looking does not change the result) and the accounting of CPU, context switches, memory and drops.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from culvert.labs.base import Node
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, Captured, parse
from culvert.vpns.base import OuterFlow, Vpn

CANARY_BYTES = 32
CANARY_NEEDLE_BYTES = 8
SNAPLEN = 512
"""Bytes of a packet that are searched; canaries repeat, so the first are enough."""


def new_canary() -> bytes:
    """A random pattern that no other traffic carries."""
    return secrets.token_bytes(CANARY_BYTES)


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


def carried_towards(flow: OuterFlow | None, name: str) -> tuple[str, str]:
    """Where to see what the link carries towards a node: at which node, and in which direction.

    Where it arrives; but where it is sent if the kernel shows decrypted packets beside it.
    """
    if flow is not None and flow.decrypts_there:
        return {"a": "b", "b": "a"}[name], "out"
    return name, "in"


@dataclass(frozen=True)
class NodeWatch:
    """What one node saw: its accounting, and the packets that the link carried towards it."""

    accounted: Accounted
    captured: Captured


@dataclass
class Watched:
    """Both nodes, and how long it lasted."""

    nodes: dict[str, NodeWatch]
    seconds: float

    @property
    def accounted(self) -> dict[str, Accounted]:
        """The accounting, by node."""
        return {name: node.accounted for name, node in self.nodes.items()}

    @property
    def a(self) -> NodeWatch:
        """Node a."""
        return self.nodes["a"]

    @property
    def b(self) -> NodeWatch:
        """Node b."""
        return self.nodes["b"]


class Watcher:
    """Starts and ends captures and accounting on both nodes."""

    def __init__(
        self, vpn: Vpn, nodes: dict[str, Node], probes: dict[str, Probe], canary: bytes
    ) -> None:
        self._vpn = vpn
        self._nodes = nodes
        self._probes = probes
        self._canary = canary

    @contextmanager
    def watch(self, *, sample_one_in: int) -> Iterator[Watched]:
        """Watch the body; the Watched is filled when the body has ended.

        ``sample_one_in`` 1 looks at each packet; 64 at every 64th, chosen at random by the kernel.
        """
        watched = Watched({}, 0.0)
        captures = {name: self._begin_capture(name, sample_one_in) for name in self._nodes}
        for task in captures.values():
            task.ready()
        accounts = {name: self._begin_accounting(name) for name in self._nodes}
        for task in accounts.values():
            task.ready()
        begun = time.monotonic()
        yield watched
        watched.seconds = time.monotonic() - begun
        accounted = {name: parse(Accounted, task.stop()) for name, task in accounts.items()}
        captured = {name: parse(Captured, task.stop()) for name, task in captures.items()}
        for name in self._nodes:
            watched.nodes[name] = NodeWatch(accounted[name], captured[name])

    @contextmanager
    def account(self) -> Iterator[dict[str, Accounted]]:
        """Only the accounting; filled by node when the body has ended."""
        found: dict[str, Accounted] = {}
        accounts = {name: self._begin_accounting(name) for name in self._nodes}
        for task in accounts.values():
            task.ready()
        yield found
        for name, task in accounts.items():
            found[name] = parse(Accounted, task.stop())

    def _begin_capture(self, name: str, sample_one_in: int) -> Task:
        place, direction = carried_towards(self._vpn.outer_flow, name)
        return self._probes[place].begin(
            "capture",
            device=self._nodes[place].underlay.device,
            direction=direction,
            sample_one_in=sample_one_in,
            snaplen=SNAPLEN,
            record=0,
            **capture_parameters(self._vpn.outer_flow, self._canary),
        )

    def _begin_accounting(self, name: str) -> Task:
        node = self._nodes[name]
        devices = dict.fromkeys((node.underlay.device, self._vpn.interface(node)))
        # A tunnel that is not up yet has no interface.
        devices = {device: None for device in devices if node.link(device) is not None}
        return self._probes[name].begin(
            "accounting",
            pids=[
                {"pid": process.pid, "label": process.name} for process in self._vpn.processes[name]
            ],
            kernel_threads=["ksoftirqd/.*", *self._vpn.kernel_threads],
            devices=list(devices),
        )
