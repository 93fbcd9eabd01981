"""The star of as many clients as a measurement's parameters state."""

from __future__ import annotations

from dataclasses import replace

from culvert.errors import NotPossible
from culvert.topology import shapes
from culvert.topology.graph import Path, Role
from culvert.topology.ip import IpVersion
from culvert.topology.shapes import GATEWAY, Shape
from culvert.topology.spec import LabSpec

CLIENT_S = 0.03
"""To make a client's node and tunnel, to prove it and to remove it: 0.02 to 0.05 s on two CPUs."""


def star_of(
    kind: str, spec: LabSpec, clients: int, target: str = GATEWAY, *, behind: bool = False
) -> LabSpec:
    """The measured path leads from the first client to ``target``; ``behind`` adds a host behind
    the gateway. Raises NotPossible for another topology; ``kind`` is the measurement's."""
    if spec.topology.name != Shape.STAR:
        raise NotPossible(
            kind,
            f'the topology "{spec.topology.name}" has no gateway',
            'write topology = "star" in [lab]',
        )
    if behind and IpVersion.V6 in (spec.underlay, spec.inner):
        raise NotPossible(
            kind, "hosts behind the gateway have IPv4 only", 'leave it out, or write to = "gateway"'
        )
    found = spec.on(shapes.star(clients, paths=[Path("c1", target)], behind=behind))
    if found.cpus is None or "c1" not in found.cpus:
        return found
    # Nodes that the study's own star does not have share the CPUs of the clients that it has.
    more = {
        node.name: found.cpus["c1"] for node in found.topology.of_role(Role.CLIENT, Role.BEHIND)
    }
    return replace(found, cpus={**more, **found.cpus})
