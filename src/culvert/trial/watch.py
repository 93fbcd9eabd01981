"""Everything that is read around the timed part of a measurement.

::

    looking starts ── accounting starts ── [the measurement] ── accounting ends ── looking ends

A look at what the link carries towards each node (a sample at high rates, so that looking does not
change the result), and on each node the accounting of CPU, context switches, memory and drops.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from culvert.labs.base import Node
from culvert.labs.link.witness import Handed, View
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, Captured, parse
from culvert.trial.everybody import Everybody
from culvert.trial.outside import SNAPLEN, Outside
from culvert.vpns.base import Vpn

CANARY_BYTES = 32


def new_canary() -> bytes:
    """A random pattern that no other traffic carries."""
    return secrets.token_bytes(CANARY_BYTES)


@dataclass(frozen=True)
class NodeWatch:
    """What one node saw: its accounting, and the packets that the link carried towards it; of a
    wire also what the node handed over to it."""

    accounted: Accounted
    captured: Captured
    handed: Handed | None = None


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
    """Starts and ends looking and accounting on both nodes."""

    def __init__(
        self, vpn: Vpn, nodes: dict[str, Node], probes: dict[str, Probe], outside: Outside
    ) -> None:
        self._vpn = vpn
        self._nodes = nodes
        self._probes = probes
        self._outside = outside

    @contextmanager
    def watch(self, *, sample_one_in: int) -> Iterator[Watched]:
        """Watch the body; the Watched is filled when the body has ended.

        ``sample_one_in`` 1 looks at each packet; 64 at every 64th, chosen at random.
        """
        watched = Watched({}, 0.0)
        sightings = {
            name: self._outside.begin(
                name, View.TOWARDS, sample_one_in=sample_one_in, snaplen=SNAPLEN, record=0
            )
            for name in self._nodes
        }
        for sighting in sightings.values():
            sighting.ready()
        handed = {name: self._handed(name) for name in self._nodes}
        everybody = Everybody(self._probes["a"])  # of one node, for they may share a kernel
        accounts = {name: self._begin_accounting(name) for name in self._nodes}
        for task in accounts.values():
            task.ready()
        begun = time.monotonic()
        yield watched
        watched.seconds = time.monotonic() - begun
        accounted = {name: parse(Accounted, task.stop()) for name, task in accounts.items()}
        accounted["a"] = everybody.beside(accounted["a"])
        for name, before in handed.items():
            now = self._handed(name)
            passed = now.since(before) if now is not None and before is not None else None
            watched.nodes[name] = NodeWatch(accounted[name], sightings[name].end(), passed)

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

    def _handed(self, name: str) -> Handed | None:
        witness = self._outside.witness(name)
        return None if witness is None else witness.handed()

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
