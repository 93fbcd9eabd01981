"""The context of a measurement: one tunnel that is up, for one trial."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic

from culvert.labs.base import Lab
from culvert.labs.node import AnyNode
from culvert.probe.client import Probe
from culvert.probe.results import Accounted
from culvert.topology.graph import Path, Role
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.trial.outside import LONG_RUN, Capture, Outside, View, new_canary, one_in
from culvert.trial.watch import Watched, Watcher
from culvert.vpns.base import Vpn
from culvert.vpns.outer import OuterFlow
from culvert.vpns.variant import Route


@dataclass(frozen=True)
class Found:
    """The route that a measurement found; None if no packet arrived."""

    route: Route | None


class MaxSizes:
    """The largest unfragmented inner packets that a run has found, in bytes, each measured once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def of(self, tunnel: Hashable, measure: Callable[[], int]) -> int:
        """That of a VPN on a link."""
        if tunnel not in self._known:
            self._known[tunnel] = measure()
        return self._known[tunnel]


@dataclass
class Session(Generic[AnyNode]):
    """A path between two nodes, a probe on each, and the marks of the probe's packets.

    ``a`` is the probe at the path's source, ``b`` at its target.

    ``token`` lets sinks distinguish the probe's packets from others; ``canary`` is the pattern that
    must not be readable on the underlay.
    """

    lab: Lab[AnyNode]
    vpn: Vpn[AnyNode]
    path: Path
    a: Probe
    b: Probe
    others: Mapping[str, Probe] = field(default_factory=dict)
    """Probes on nodes that are not ends of the path, by name: servers, relays, routers."""
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    canary: bytes = field(default_factory=new_canary)
    max_sizes: MaxSizes = field(default_factory=MaxSizes)
    """Those that the run knows."""
    found: Found | None = None
    """Set by a measurement whose result is the route: from then on it counts, not the claim."""

    @property
    def route(self) -> Route | None:
        """The route that the path's packets must take: the variant's claim, unless a measurement
        found it; None if it found no path."""
        return self.vpn.route(self.path) if self.found is None else self.found.route

    @cached_property
    def link(self) -> LinkSpec:
        """The links of the path, combined into one."""
        return self.lab.spec.path_link(self.path)

    @property
    def source(self) -> AnyNode:
        """The initiator; data in one direction flows from it."""
        return self.lab.nodes[self.path.source]

    @property
    def target(self) -> AnyNode:
        """The other end of the path."""
        return self.lab.nodes[self.path.target]

    @property
    def ends(self) -> Mapping[str, Probe]:
        """The probes at both ends, by the node's name, the source first."""
        return {self.source.name: self.a, self.target.name: self.b}

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The probes of all nodes, those at the ends first."""
        return (self.a, self.b, *self.others.values())

    def inner(self, node: AnyNode) -> str:
        """The node's address inside the tunnel; without a VPN, on the underlay."""
        return str(self.vpn.traffic_address(node))

    def inner_mtu(self, node: AnyNode) -> int | None:
        """Length in bytes of the longest packet that the node's interface of the VPN accepts; None
        if the interface is gone. A packet of IPv6 counts as one of IPv4 with the same payload."""
        interface = node.link(self.vpn.interface(node))
        if interface is None:
            return None
        version = IpVersion(self.vpn.traffic_address(node).version)
        return interface.mtu - (0 if version is IpVersion.V4 else LONGER_IPV6)

    def patience_ms(self, at_least_ms: int) -> int:
        """Longest time to wait for an answer: ``at_least_ms`` plus twice the link's requested round
        trip with its jitter."""
        requested_ns = sum(
            way.delay_ns + (way.jitter.longest_ns if way.jitter else 0)
            for way in self.link.impairment.ways
        )
        return at_least_ms + 2 * round(requested_ns / 1e6)

    @property
    def marks(self) -> dict[str, str]:
        """Token and canary, in the form of the probe tasks' parameters."""
        return {"token": self.token, "canary": self.canary.hex()}

    @cached_property
    def outside(self) -> Outside:
        """The captures of the link."""
        return self._outside(self.vpn.outer_flow, self.ends)

    @cached_property
    def _scope(self) -> Mapping[str, Any] | None:
        return self.lab.capture_scope(self.path)

    @property
    def relays(self) -> tuple[AnyNode, ...]:
        """The nodes that could relay the path's packets: relays, a gateway that is not its end, and
        the one that the path uses."""
        via = self.route.via if self.route is not None else None
        return tuple(
            node
            for node in self.lab.nodes.values()
            if node.name in self.others
            and (node.role in (Role.RELAY, Role.GATEWAY) or node.name == via)
        )

    def look_at_relays(self) -> dict[str, Capture]:
        """Begin to capture the packets on each relay's link."""
        outside = self._beside(self.vpn.outer_flow)
        return {node.name: outside.begin(node.name, View.NODE, record=0) for node in self.relays}

    def look_inside_relay(self) -> dict[str, Capture]:
        """Begin to capture the inner packets on the relay's interface, if it decrypts."""
        route = self.route
        if route is None or route.via is None or not route.decrypts:
            return {}
        interface = self.vpn.interface(self.lab.nodes[route.via])
        return {route.via: self._beside(None).begin_inside(route.via, interface)}

    def look_at_router(self, name: str, *, sample_one_in: int, marked_run: int) -> Capture:
        """Begin to capture all that arrives at a router, from whichever node."""
        outside = self._beside(self.vpn.outer_flow)
        return outside.begin_on_all(name, sample_one_in=sample_one_in, marked_run=marked_run)

    def _beside(self, flow: OuterFlow | None) -> Outside:
        return self._outside(flow, self.others)

    def _outside(self, flow: OuterFlow | None, probes: Mapping[str, Probe]) -> Outside:
        return Outside(
            self.lab,
            flow,
            probes,
            self.canary,
            self._scope,
            inner_ends=self._inner_ends,
            joined=self.link.offloads,
        )

    def _inner_ends(self) -> Sequence[str]:
        """Those that are there: before a member joins, its address may be unknown."""
        ends = (self.source, self.target)
        return [self.inner(end) for end in ends if end.link(self.vpn.interface(end)) is not None]

    def watch(
        self, *, sample_one_in: int, marked_run: int = LONG_RUN
    ) -> AbstractContextManager[Watched]:
        """Account on both nodes, and search the packets of the link for the canary, while the body
        runs. A random one in ``sample_one_in`` packets, or a larger share if the link is slow, is
        captured to see whether it looks encrypted. ``marked_run`` are the bytes of the canary in
        each packet of the body's payload."""
        sampled = one_in(sample_one_in, self.link)
        return Watcher(self).watch(sample_one_in=sampled, marked_run=marked_run)

    def account(self) -> AbstractContextManager[dict[str, Accounted]]:
        """Account on both nodes while the body runs, without a capture."""
        return Watcher(self).account()
