"""UDP between two nodes, dropped at a router between them and freed again while the lab runs.

::

    a ── core ── relay        UDP from a to b and back is dropped and counted; what goes through
           └──── b            the relay, or is not UDP, passes
"""

from __future__ import annotations

from itertools import pairwise

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.router import firewall
from culvert.topology.graph import Network, Path, Role

TABLE = "culvert_block"
_COUNTER = "dropped"


class UdpBlock:
    """A block on one path; it begins and ends with single commands. Raises NotPossible on a path
    without a router."""

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
        self._router = lab.nodes[name]

        def device(network: Network) -> str:
            return lab.attachments(name)[topology.networks_of(name).index(network)].device

        self._devices = (device(left), device(right))
        self._blocks = False

    def begin(self) -> None:
        """Drop from now on."""
        near, far = self._devices
        rules = "\n".join(
            f'    iifname "{one}" oifname "{other}" meta l4proto udp counter name {_COUNTER} drop'
            for one, other in ((near, far), (far, near))
        )
        firewall.apply(
            self._router,
            f"table inet {TABLE} {{\n  counter {_COUNTER} {{ }}\n  chain forward {{\n"
            f"    type filter hook forward priority filter - 10;\n{rules}\n  }}\n}}\n",
        )
        self._blocks = True

    def end(self) -> int:
        """Let packets pass again; return the number of dropped ones, 0 if UDP was not blocked."""
        if not self._blocks:
            return 0
        (dropped,) = firewall.counters(self._router, TABLE)
        firewall.apply(self._router, f"delete table inet {TABLE}\n")
        self._blocks = False
        return dropped.packets
