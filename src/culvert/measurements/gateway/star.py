"""The star of as many clients as a measurement's parameters state."""

from __future__ import annotations

from culvert.errors import NotPossible
from culvert.topology import shapes
from culvert.topology.graph import Path
from culvert.topology.shapes import GATEWAY, Shape
from culvert.topology.spec import LabSpec


def star_of(kind: str, spec: LabSpec, clients: int, target: str = GATEWAY) -> LabSpec:
    """The measured path leads from the first client to ``target``. Raises NotPossible for another
    topology; ``kind`` is the measurement's."""
    if spec.topology.name != Shape.STAR:
        raise NotPossible(
            kind,
            f'the topology "{spec.topology.name}" has no gateway',
            'write topology = "star" in [lab]',
        )
    return spec.on(shapes.star(clients, paths=[Path("c1", target)]))
