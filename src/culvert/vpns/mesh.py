"""VPNs whose members find each other through servers, and reach each other directly or through a
relay.

::

    serve: relay, control ── join: members, at the same time ── reach: packets arrive
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from ipaddress import IPv4Interface, IPv6Interface
from typing import ClassVar

from culvert.errors import VpnError
from culvert.labs.capability import Capability
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.topology.graph import Path, Role
from culvert.topology.ip import IpVersion
from culvert.vpns.facts import wait_for_ping
from culvert.vpns.tundevice import TunDevice
from culvert.vpns.variant import DIRECT, Route, Variant


class MeshVpn(TunDevice):
    """A driver defines ``start()``, ``route_to()`` and the class attributes.

    A path is up when a ping is answered and both ends report the claimed route.
    """

    joins_together = True
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.NET_ADMIN})
    """Of members: a tun device and routes."""
    server_capabilities: ClassVar[frozenset[Capability] | None] = frozenset()

    poll_s = 0.02
    """A query starts a program, or works through all peers."""
    direct: ClassVar[frozenset[str]] = frozenset({"direct"})
    """Names of the variants that claim a direct path although they have a relay."""

    @abstractmethod
    def start(self, member: Node) -> None:
        """Start a member; returns when it has its inner address."""

    @abstractmethod
    def route_to(self, node: Node, peer: Node) -> Route:
        """The route of a node's packets to another, as its program reports it. Raises VpnError if
        there is none."""

    def program(self, host: Host, name: str) -> str:
        """The path of one of the programs there; raises NotPossible."""
        return self._require(host, name)

    def join(self, member: Node) -> None:
        """Start it."""
        self.start(member)

    def reach(self, path: Path) -> None:
        """Start the ends that do not run; returns when the claimed route carries packets."""
        for name in (path.target, path.source):
            if not self.processes[name]:
                self.start(self.lab.nodes[name])
        self.await_path(path)

    def await_path(self, path: Path) -> None:
        """Return when a ping is answered over the claimed route; raises VpnError."""
        source, target = self.lab.ends(path)
        process = self.processes[source.name][-1]
        address = self.traffic_address(target)
        wait_for_ping(self.id, source, address, process, deadline_s=self.up_deadline_s)
        self.await_fact(
            lambda: self._route_or_none(path) == self.route(path),
            process,
            f"{path} is {self.route(path)}",
            evidence=lambda: f"it is {self._route_or_none(path) or 'not connected'}",
        )

    def await_new_keys(self, source: Node, handshake: Callable[[], object]) -> None:
        """Return after a new handshake of a node; raises VpnError."""
        before = handshake()
        self.await_fact(
            lambda: handshake() != before,
            self.processes[source.name][-1],
            f"node {source.name} renewed its keys",
            deadline_s=self.rekey_deadline_s,
        )

    def route(self, path: Path) -> Route:
        """Direct, or through the relay."""
        del path
        return DIRECT if self.claims_direct else Route(self.relay.name)

    def determine_route(self, path: Path) -> Route:
        """That of both ends; raises VpnError if there is none, or they differ."""
        source, target = self.lab.ends(path)
        there, back = self.route_to(source, target), self.route_to(target, source)
        if there != back:
            raise VpnError(
                f"{self.id}, {path}", f"{there}, but {back} on the way back", "repeat the trial"
            )
        return there

    @property
    def claims_direct(self) -> bool:
        """Whether this variant's paths are direct."""
        return self.variant.name in self.direct or Role.RELAY not in self.needs

    @property
    def relay(self) -> Node:
        """The relay."""
        return self.lab.of_role(Role.RELAY)[0]

    @property
    def control(self) -> Node:
        """The control server."""
        return self.lab.of_role(Role.CONTROL)[0]

    def _route_or_none(self, path: Path) -> Route | None:
        try:
            return self.determine_route(path)
        except VpnError:
            return None


class AssigningMeshVpn(MeshVpn):
    """The control server gives a member its address: ``start()`` puts it into ``addresses``."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.addresses: dict[str, IPv4Interface] = {}
        self.addresses_ipv6: dict[str, IPv6Interface] = {}

    def inner(self, node: Node) -> IPv4Interface:
        """The address that it got; raises VpnError before it joins."""
        if node.name not in self.addresses:
            where = f"{self.id} on node {node.name}"
            raise VpnError(where, "it has no address before it joins", "see why it did not join")
        return self.addresses[node.name]

    def join(self, member: Node) -> None:
        """Start it, and note the IPv6 address that measurements need while it does not run."""
        super().join(member)
        if self.inner_version is IpVersion.V6:
            self.inner_ipv6(member)

    def inner_ipv6(self, node: Node) -> IPv6Interface | None:
        """The one that its device got; raises VpnError if it got none in time."""
        if not self.lab.spec.members_have_ipv6:
            return None

        def its() -> IPv6Interface | None:
            link = node.link(self.device)
            addresses = link.addresses if link is not None else ()
            return next((each for each in addresses if isinstance(each, IPv6Interface)), None)

        if node.name not in self.addresses_ipv6:
            what = f"{self.device} on node {node.name} had an IPv6 address"
            process = next(iter(self.processes[node.name]), None)
            self.addresses_ipv6[node.name] = self.await_fact(its, process, what)
        return self.addresses_ipv6[node.name]
