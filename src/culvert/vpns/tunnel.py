"""VPNs with two ends: one end listens, others connect; on a pair, a routed lab and a star."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from culvert.labs.node import Node
from culvert.topology.graph import Path, Role
from culvert.vpns.base import Vpn


class TunnelVpn(Vpn):
    """``target`` listens; each of ``sources`` connects to it.

    On a star these are the gateway and its clients, otherwise the ends of the first measured path.
    """

    @property
    def target(self) -> Node:
        """The responder."""
        return self.lab.b

    @property
    def sources(self) -> tuple[Node, ...]:
        """The initiators."""
        return self.lab.of_role(Role.CLIENT) or (self.lab.a,)

    def peers(self, node: Node) -> tuple[Node, ...]:
        """The nodes at the other ends of a node's tunnels."""
        return self.sources if node.name == self.target.name else (self.target,)

    def source_of(self, path: Path) -> Node:
        """The initiator of a path."""
        return self.lab.nodes[path.source]

    @property
    def paths(self) -> Sequence[Path]:
        """From each initiator to the responder."""
        return tuple(Path(source.name, self.target.name) for source in self.sources)

    @property
    def joining(self) -> Sequence[Node]:
        """The responder; initiators start when they connect."""
        return (self.target,)

    def join(self, member: Node) -> None:
        """The responder listens."""
        if member.name == self.target.name:
            self.listen(member)

    def reach(self, path: Path) -> None:
        """The initiator connects."""
        self.connect(self.source_of(path))

    @abstractmethod
    def listen(self, target: Node) -> None:
        """Start the responder and wait for the fact that it accepts connections."""

    @abstractmethod
    def connect(self, source: Node) -> None:
        """Start an initiator and wait for the fact that its tunnel is up.

        Raises VpnError with the last lines of the log if it ends or does not come up in time.
        """
