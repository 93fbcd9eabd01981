"""A session without a lab: probes that answer from a list, and remember what they were asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from typing import Any, cast

from culvert.labs.base import Lab
from culvert.labs.endpoint import LinkState
from culvert.labs.node import Node
from culvert.probe.client import Probe
from culvert.topology.graph import Path, Role
from culvert.topology.plan import Attachment
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from culvert.vpns.outer import OuterFlow, OuterPacket

Answer = Mapping[str, Any]
Answers = Mapping[str, Answer | Callable[[dict[str, Any]], Answer]]

NOTHING_CAPTURED: dict[str, Any] = {
    "packets": 0,
    "bytes": 0,
    "matching": {},
    "other": {"packets": 0, "bytes": 0},
}
FLOOR: Answer = {
    **{"sent": 20, "received": 20, "p50_ns": 3000, "p99_ns": 5000, "max_ns": 6000},
    **{"histogram": "FLOOR", "schedule_error_p99_ns": 100},
}
NOTHING_USED: dict[str, Any] = {"seconds": 1.0, "cpus": []}


class Tunnel(NoVpn):
    """A VPN as far as a measurement looks at one."""

    outer_flow = OuterFlow(17, frozenset({7}))

    def interface(self, node: Node) -> str:
        return "tun0"

    def inner(self, node: Node) -> IPv4Interface:
        return IPv4Interface("198.19.0.1/24" if node.name == "a" else "198.19.0.2/24")

    def is_handshake(self, packet: OuterPacket) -> bool:
        return packet.payload[:1] == b"H"


@dataclass
class FakeTask:
    """A task that is done at once."""

    answer: Answer

    def ready(self, timeout_s: float = 0) -> Answer:
        return {"event": "ready", "port": 40001, "certificate": "Q1ZU"}

    def port(self, timeout_s: float = 0) -> int:
        return 40001

    def result(self, timeout_s: float = 0) -> Answer:
        return self.answer

    def stop(self, timeout_s: float = 0, *, packets: int | None = None) -> Answer:
        return self.answer


@dataclass
class FakeProbe:
    """Answers each task by its name; ``asked`` holds what it was asked, in order."""

    answers: Answers
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def begin(self, task: str, **parameters: Any) -> FakeTask:
        self.asked.append((task, parameters))
        answers = {
            "capture": NOTHING_CAPTURED,
            "accounting": NOTHING_USED,
            "echo": {"packets": 0},
            "noise_floor": FLOOR,
            "echo_once": {"answered": True, "rtt_ns": 50_000},
            **self.answers,
        }
        answer = answers[task]
        return FakeTask(answer(parameters) if callable(answer) else answer)

    def call(self, task: str, timeout_s: float, **parameters: Any) -> Answer:
        return self.begin(task, **parameters).result()

    def parameters(self, task: str) -> dict[str, Any]:
        """What the first task of that name was given; a ceiling on the bare link comes later."""
        return next(given for name, given in self.asked if name == task)


@dataclass
class FakeNode:
    """A node with one device and a tunnel."""

    name: str
    mtu: int = 1500
    role: Role = Role.MEMBER

    @property
    def underlay(self) -> Attachment:
        last = 1 if self.name == "a" else 2
        return Attachment("eth0", IPv4Interface(f"198.18.0.{last}/24"))

    def link(self, device: str) -> LinkState | None:
        return LinkState(device, "tun", self.mtu, True, ()) if self.mtu else None

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def init(self) -> None:
        """Its processes cannot be known by its namespace."""


@dataclass
class FakeLab:
    """Two nodes."""

    a: FakeNode
    b: FakeNode
    spec: LabSpec = field(default_factory=LabSpec)
    shared_kernel: bool = True
    shared_processes: bool = True
    real_links: bool = False
    overlaid: bool = False

    @property
    def nodes(self) -> Mapping[str, FakeNode]:
        return {node.name: node for node in (self.a, self.b)}

    @property
    def members(self) -> tuple[FakeNode, ...]:
        return (self.a, self.b)

    @property
    def path(self) -> Path:
        return self.spec.topology.paths[0]

    def attachments(self, node: str) -> tuple[Attachment, ...]:
        return (self.nodes[node].underlay,)

    def handed(self, node: Node) -> None:
        """Its link counts nothing."""

    def capture_scope(self, path: Path) -> None:
        """Its link carries nothing else."""

    def faults(self) -> tuple[str, ...]:
        """None."""
        return ()


def session(
    a: Answers | None = None, b: Answers | None = None, *, vpn: Vpn | None = None, mtu: int = 1500
) -> Session:
    """A session whose probes give these answers; ``vpn`` is the baseline unless given."""
    lab = FakeLab(FakeNode("a", mtu), FakeNode("b", mtu))
    return Session(
        cast("Lab", lab),
        vpn or NoVpn(NoVpn.variants[0]),
        lab.path,
        cast("Probe", FakeProbe(a or {})),
        cast("Probe", FakeProbe(b or {})),
    )


def fake(probe: Probe) -> FakeProbe:
    """The fake that it is."""
    return cast("FakeProbe", probe)


def asked(probe: Probe, task: str) -> dict[str, Any]:
    """What a fake probe was asked."""
    return fake(probe).parameters(task)
