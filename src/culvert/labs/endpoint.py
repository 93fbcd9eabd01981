"""A node of a lab as an end of measured paths, which is all that a pod is."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culvert.labs.host import Host
from culvert.labs.process import Process
from culvert.topology.graph import Role
from culvert.topology.ip import Interface
from culvert.topology.plan import Attachment


@dataclass(frozen=True)
class LinkState:
    """An interface as reported by the kernel. ``kind`` is IFLA_INFO_KIND: tun, wireguard ..."""

    name: str
    kind: str
    mtu: int
    up: bool
    addresses: tuple[Interface, ...]
    """Those of IPv4, then those of IPv6 but for its link-local ones."""


class Endpoint(Host):
    """An end of measured paths: it runs the probe, and its kernel says how its link is."""

    role: Role
    underlay: Attachment
    cpus: tuple[int, ...] | None

    @property
    def label(self) -> str:
        """As errors name it."""
        return f"node {self.name}"

    @abstractmethod
    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        pipes: bool = False,
    ) -> Process:
        """Start a program on the node; raises NotPossible if the program is missing."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Properties of the node's end of the underlay, read from the kernel, in JSON's types."""

    def device_facts(self, device: str) -> Mapping[str, Any]:
        """Properties of any interface; empty if it does not exist or the lab cannot read them."""
        del device
        return {}

    def init(self) -> int | None:
        """Id of process 1 of a PID namespace that has the VPN's processes, whoever started them,
        and no other; None if they share one with others."""
        return None

    def monotonic_ns(self) -> int:
        """The node's CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def realtime_ns(self) -> int:
        """The node's CLOCK_REALTIME."""
        return time.time_ns()

    def clock(self) -> Mapping[str, int]:
        """How far its CLOCK_REALTIME is ahead of this machine's: ``ahead_ns`` and
        ``uncertainty_ns``; empty if it is the same clock."""
        return {}

    def surroundings(self) -> Mapping[str, Any]:
        """Load, temperatures, and the share of CPU time stolen since the call before, of a node
        that is another machine; empty if it is this one."""
        return {}

    @abstractmethod
    def link(self, device: str) -> LinkState | None:
        """The interface, or None if the node has none of that name."""
