"""Packets dropped at a router, and freed again while the lab runs: UDP between two nodes, or all of
one node's link.

::

    a ── core ── relay        UDP from a to b and back is dropped and counted; what goes through
           └──── b            the relay, or is not UDP, passes
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.router import firewall
from culvert.topology.graph import Network, Path, Role

TABLE = "culvert_block"
_COUNTER = "dropped"
_IN_A_STAR = "measure it in the lab netns, on a star"


class Block:
    """Rules of a router's forwarding; they begin and end with single commands."""

    def __init__(self, router: Node, rules: Sequence[str]) -> None:
        self._router = router
        self._rules = rules
        self._blocks = False

    def begin(self) -> None:
        rules = "\n".join(f"    {each} counter name {_COUNTER} drop" for each in self._rules)
        firewall.apply(
            self._router,
            f"table inet {TABLE} {{\n  counter {_COUNTER} {{ }}\n  chain forward {{\n"
            f"    type filter hook forward priority filter - 10;\n{rules}\n  }}\n}}\n",
        )
        self._blocks = True

    def end(self) -> int:
        """Let packets pass again; return the number of dropped ones, 0 if none was blocked."""
        if not self._blocks:
            return 0
        dropped = firewall.counters(self._router, TABLE)[_COUNTER]
        firewall.apply(self._router, f"delete table inet {TABLE}\n")
        self._blocks = False
        return dropped


class UdpBlock(Block):
    """UDP on one path. Raises NotPossible on a path without a router."""

    def __init__(self, lab: Lab, path: Path) -> None:
        topology = lab.spec.topology
        meeting = [
            (left, right, node)
            for (left, _), (right, _) in pairwise(topology.between(path.source, path.target))
            for node in set(left.ends) & set(right.ends)
            if topology.node(node).role is Role.ROUTER
        ]
        if not meeting:
            raise NotPossible(
                f"blocking UDP on {path}",
                f"topology {topology.name} has no router between them",
                'write topology = "mesh" in [lab]',
            )
        # The one with most links: servers are behind it as well, so their packets pass.
        left, right, name = max(meeting, key=lambda one: len(topology.networks_of(one[2])))

        def device(network: Network) -> str:
            return lab.attachments(name)[topology.networks_of(name).index(network)].device

        near, far = device(left), device(right)
        super().__init__(
            lab.nodes[name],
            [
                f'iifname "{one}" oifname "{other}" meta l4proto udp'
                for one, other in ((near, far), (far, near))
            ],
        )


class LinkCut(Block):
    """All packets from and to a node. Raises NotPossible where no router of the lab has its
    link."""

    def __init__(self, lab: Lab, node: str) -> None:
        topology = lab.spec.topology
        link = topology.networks_of(node)[0]
        router = link.beyond(node)
        if router not in lab.nodes or topology.node(router).role is not Role.ROUTER:
            raise NotPossible(
                f"cutting the link of {node}", "no router of the lab has its other end", _IN_A_STAR
            )
        device = lab.attachments(router)[topology.networks_of(router).index(link)].device
        super().__init__(lab.nodes[router], [f'{way} "{device}"' for way in ("iifname", "oifname")])
