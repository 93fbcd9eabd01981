"""What a VPN may be able to do while it is up: interfaces that a driver implements, or does not.

A driver needs no base class for it: the methods decide.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from culvert.errors import NotPossible
from culvert.labs.node import Node
from culvert.topology.graph import Path
from culvert.vpns.base import Vpn
from culvert.vpns.policy import Policy
from culvert.vpns.variant import LEAVE_OUT, RouteCount


@runtime_checkable
class Dropping(Protocol):
    """A VPN with a tunnel apart from its processes."""

    def drop(self, path: Path) -> None:
        """End a path's tunnel but not the processes: both ends forget their keys."""


@runtime_checkable
class Resuming(Dropping, Protocol):
    """One that a command brings up again; if its driver declares ``on_demand``, packets do."""

    def resume(self, path: Path) -> None:
        """Bring the tunnel up again after drop(): returns when it is up, as reach() does."""


@runtime_checkable
class Rekeying(Protocol):
    """A VPN that renews its keys."""

    def rekey(self, path: Path) -> None:
        """Negotiate new keys for a path that is up; returns when both ends have agreed on them.

        At once if the VPN has such a request; otherwise when it does so itself, within
        ``rekey_deadline_s``.
        """


@runtime_checkable
class Enforcing(Protocol):
    """A VPN with a policy of what its members may send."""

    def apply_policy(self, policy: Policy) -> None:
        """Replace the policy of all members; returns when it is on its way to them."""


@runtime_checkable
class CountingRoutes(Protocol):
    """A VPN whose programs count what they send."""

    def sent(self, node: Node) -> RouteCount | None:
        """Packets that a member's program has sent by each route; None if it does not know."""


def dropping(vpn: Vpn) -> Dropping:
    """The VPN as one whose tunnel can be ended; raises NotPossible if it is none."""
    if isinstance(vpn, Dropping):
        return vpn
    raise NotPossible(vpn.id, "has no tunnel apart from its processes", LEAVE_OUT)


def resuming(vpn: Vpn) -> Resuming:
    """The VPN as one whose tunnel a command brings up again; raises NotPossible if it is none."""
    if isinstance(vpn, Resuming):
        return vpn
    raise NotPossible(vpn.id, "has no command that brings its tunnel up again", LEAVE_OUT)


def rekeying(vpn: Vpn) -> Rekeying:
    """The VPN as one that renews its keys; raises NotPossible if it is none."""
    if isinstance(vpn, Rekeying):
        return vpn
    raise NotPossible(vpn.id, "renews no keys", LEAVE_OUT)


def enforcing(vpn: Vpn) -> Enforcing:
    """The VPN as one with a policy; raises NotPossible if it is none."""
    if isinstance(vpn, Enforcing):
        return vpn
    raise NotPossible(vpn.id, "has no policy of what members may send", LEAVE_OUT)
