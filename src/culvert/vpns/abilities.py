"""What only some VPNs can do: interfaces that a driver implements, or does not.

A driver needs no base class for it: the methods decide. Where a VPN lacks an ability, the functions
below have what takes its place, or the reason why nothing does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Protocol as Interface
from typing import runtime_checkable

from culvert.errors import NotPossible, VpnError
from culvert.labs.node import Node
from culvert.topology.graph import Path
from culvert.vpns.base import Vpn
from culvert.vpns.variant import LEAVE_OUT, Carried, Route, RouteCount

# -- policies --------------------------------------------------------------------------------------


class Protocol(StrEnum):
    """Protocols that a policy distinguishes."""

    TCP = "tcp"
    UDP = "udp"
    ICMP = "icmp"


@dataclass(frozen=True)
class Permit:
    """New flows from one member to another, by their names; answers follow. ``port`` None: any
    port, or a protocol without ports."""

    source: str
    target: str
    protocol: Protocol
    port: int | None = None


@dataclass(frozen=True)
class Policy:
    """``everything``: no flow is forbidden. Otherwise what no permit permits is forbidden."""

    permits: tuple[Permit, ...] = ()
    everything: bool = False


OPEN = Policy(everything=True)
"""As every VPN starts."""


@runtime_checkable
class Enforcing(Interface):
    """A VPN with a policy of what its members may send."""

    def apply_policy(self, policy: Policy) -> None:
        """Replace the policy of all members; returns when it is sent to them."""


# -- events ----------------------------------------------------------------------------------------


@runtime_checkable
class Dropping(Interface):
    """A VPN with a tunnel apart from its processes."""

    def drop(self, path: Path) -> None:
        """End a path's tunnel but not the processes: both ends forget their keys."""


@runtime_checkable
class Resuming(Dropping, Interface):
    """One that a command brings up again; if its driver declares ``on_demand``, packets do."""

    def resume(self, path: Path) -> None:
        """Bring the tunnel up again after drop(): returns when it is up, as reach() does."""


@runtime_checkable
class Rekeying(Interface):
    """A VPN that renews its keys."""

    def rekey(self, path: Path) -> None:
        """Negotiate new keys for a path that is up; returns when both ends have agreed on them.

        At once if the VPN has such a request; otherwise when it does so itself, within
        ``rekey_deadline_s``.
        """


@runtime_checkable
class FullTunnel(Interface):
    """A VPN that becomes the default route of its clients where the topology has a public host."""

    kill_switch: str
    """Description of its option +killswitch."""


def full_tunnel(vpn: Vpn) -> FullTunnel:
    """The VPN as one that carries everything; raises NotPossible if its driver has no such
    configuration."""
    if isinstance(vpn, FullTunnel):
        return vpn
    raise NotPossible(vpn.id, "its driver cannot make it a client's default route", LEAVE_OUT)


def dropping(vpn: Vpn) -> Dropping:
    """The VPN as one whose tunnel can be ended; raises NotPossible if it is none."""
    if isinstance(vpn, Dropping):
        return vpn
    raise NotPossible(vpn.id, "cannot end its tunnel while its processes run", LEAVE_OUT)


def resuming(vpn: Vpn) -> Resuming:
    """The VPN as one whose tunnel a command brings up again; raises NotPossible if it is none."""
    if isinstance(vpn, Resuming):
        return vpn
    raise NotPossible(vpn.id, "cannot bring its tunnel up again by a command", LEAVE_OUT)


def rekeying(vpn: Vpn) -> Rekeying:
    """The VPN as one that renews its keys; raises NotPossible if it is none."""
    if isinstance(vpn, Rekeying):
        return vpn
    raise NotPossible(vpn.id, "cannot renew its keys", LEAVE_OUT)


def enforcing(vpn: Vpn) -> Enforcing:
    """The VPN as one with a policy; raises NotPossible if it is none."""
    if isinstance(vpn, Enforcing):
        return vpn
    raise NotPossible(vpn.id, "has no policy that can be changed while it is up", LEAVE_OUT)


def require_packets(vpn: Vpn, what: str) -> None:
    """Raise NotPossible if ``what`` needs IP packets inside, and the VPN is a proxy."""
    if vpn.carries is not Carried.PACKETS:
        raise NotPossible(vpn.id, f"carries {vpn.carries} only, not {what}", "leave it out for it")


# -- servers and members ---------------------------------------------------------------------------


@runtime_checkable
class Serving(Interface):
    """A VPN with servers, which its variants declare (``needs``)."""

    def serve(self, server: Node) -> None:
        """Start a server and wait for the fact that it can be joined."""


@runtime_checkable
class Registering(Interface):
    """A VPN whose servers must know a member before a measurement can start it."""

    def register(self, member: Node) -> None:
        """Make the member known to the servers; it does not run afterwards."""


@runtime_checkable
class LimitingMembers(Interface):
    """A VPN that does not connect any number of nodes."""

    def most_members(self) -> int | None:
        """Largest number of nodes on one VPN of this variant; None: no limit."""


@runtime_checkable
class OrderingMembers(Interface):
    """A VPN some of whose members wait for the others."""

    @property
    def newcomers(self) -> Sequence[Node]:
        """The members that enter a VPN whose servers, and other members, are ready."""


@runtime_checkable
class PairingMembers(Interface):
    """A VPN whose members do not all have a path to each other."""

    @property
    def pairs(self) -> Sequence[Path]:
        """The pairs of members that have a path of their own."""

    def enter(self, node: Node) -> None:
        """Make a node part of the VPN, for the first time or after crash(): it joins, and connects
        to those to which it connects by itself."""


@runtime_checkable
class ListingRoutes(Interface):
    """A VPN that reports the routes to several members by one request."""

    def routes(self, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
        """``determine_route`` from one node to several, by name, without those that have no route
        yet."""


@runtime_checkable
class CountingRoutes(Interface):
    """A VPN whose programs count what they send."""

    def sent(self, node: Node) -> RouteCount | None:
        """Packets that a member's program has sent by each route; None if they are unknown."""


def most_members(vpn: Vpn) -> int | None:
    """The largest number of nodes; None: no limit."""
    return vpn.most_members() if isinstance(vpn, LimitingMembers) else None


def newcomers(vpn: Vpn) -> Sequence[Node]:
    """The members that enter when the rest is ready: all, unless some wait for the others."""
    return vpn.newcomers if isinstance(vpn, OrderingMembers) else vpn.joining


def pairs(vpn: Vpn) -> Sequence[Path]:
    """The pairs of members that have a path of their own: in a mesh each with each."""
    if isinstance(vpn, PairingMembers):
        return vpn.pairs
    return [Path(*both) for both in combinations([node.name for node in vpn.lab.members], 2)]


def enter(vpn: Vpn, node: Node) -> None:
    """Make a node part of the VPN, for the first time or after crash()."""
    if isinstance(vpn, PairingMembers):
        vpn.enter(node)
    else:
        vpn.join(node)


def routes(vpn: Vpn, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
    """The routes from one node to several, by name, without those that have no route yet."""
    if isinstance(vpn, ListingRoutes):
        return vpn.routes(source, targets)
    found = {}
    for target in targets:
        with suppress(VpnError):
            found[target.name] = vpn.determine_route(Path(source.name, target.name))
    return found
