"""Which tunnels there are: on a mesh with several measured paths each path has one of its own."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.topology.shapes import Shape
from culvert.vpns.authoring import DIRECT, Node, Path, Route, TunnelVpn


class Tunnels(TunnelVpn):
    """From each path's source to its target; otherwise from each initiator to the responder."""

    @property
    def meshed(self) -> bool:
        """Whether each measured path has a tunnel of its own."""
        topology = self.lab.spec.topology
        return topology.name == Shape.MESH and len(topology.paths) > 1

    @property
    def sources(self) -> tuple[Node, ...]:
        """The initiators; on such a mesh every member may be one."""
        return self.lab.members if self.meshed else super().sources

    @property
    def paths(self) -> Sequence[Path]:
        """Those of such a mesh, otherwise from each initiator to the responder."""
        return self.lab.spec.topology.paths if self.meshed else super().paths

    def route(self, path: Path) -> Route:
        """Direct, unless it leads through a hub."""
        return DIRECT if self.meshed else super().route(path)

    @property
    def joining(self) -> Sequence[Node]:
        return [self.lab.nodes[name] for name in dict.fromkeys(path.target for path in self.paths)]

    def peers(self, node: Node) -> tuple[Node, ...]:
        """The nodes at the other ends of a node's tunnels."""
        ends = [path for path in self.paths if node.name in (path.source, path.target)]
        names = [path.target if path.source == node.name else path.source for path in ends]
        return tuple(self.lab.nodes[name] for name in dict.fromkeys(names))

    def responder(self, path: Path) -> Node:
        """The node to which the source of a path connects."""
        return self.lab.nodes[path.target] if self.meshed else self.target

    def targets_of(self, node: Node) -> list[Node]:
        """The targets of paths from a node."""
        return [self.lab.nodes[path.target] for path in self.paths if path.source == node.name]
