"""The programs that a VPN runs on nodes: started with its capabilities, awaited, ended with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.topology.graph import SERVERS
from culvert.vpns.facts import POLL_S, wait_for_fact

T = TypeVar("T")


class RunsPrograms(ABC):
    """What every VPN does with its programs."""

    up_deadline_s: float = 10.0
    """Longest duration of each wait of serve(), join() and reach(); a measurement raises it where
    many members join at once."""
    poll_s: ClassVar[float] = POLL_S
    """Time between two looks of ``await_fact()``."""
    capabilities: ClassVar[frozenset[Capability]] = TUNNEL
    """Those that its programs need (``node.daemon``); they get no others."""
    server_capabilities: ClassVar[frozenset[Capability] | None] = None
    """The same for its control servers and relays; None: as ``capabilities``."""

    def __init__(self) -> None:
        self.processes: dict[str, list[Process]] = defaultdict(list)
        """Processes by node name, in the order of their start."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The name in a study and in errors."""

    def capabilities_on(self, node: Node) -> frozenset[Capability]:
        """Those of its programs on a node."""
        if node.role in SERVERS and self.server_capabilities is not None:
            return self.server_capabilities
        return self.capabilities

    def start_process(
        self, node: Node, argv: Sequence[str], name: str, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start a command in the foreground; it is ended with the VPN. ``name`` is that of its
        log."""
        process = node.daemon(argv, name=name, env=env, capabilities=self.capabilities_on(node))
        self.processes[node.name].append(process)
        return process

    def await_fact(
        self,
        fact: Callable[[], T | None],
        process: Process | None,
        what: str,
        *,
        evidence: Callable[[], str] = str,
        deadline_s: float = 0.0,
        poll_s: float = 0.0,
    ) -> T:
        """``wait_for_fact`` with its name, within ``up_deadline_s`` by default."""
        return wait_for_fact(
            fact,
            vpn=self.id,
            process=process,
            what=what,
            deadline_s=deadline_s or self.up_deadline_s,
            evidence=evidence,
            poll_s=poll_s or self.poll_s,
        )

    def _stop_processes(self, node: Node, *, grace_s: float = 2.0) -> None:
        for process in reversed(self.processes[node.name]):
            process.stop(grace_s=grace_s)
        self.processes[node.name].clear()
