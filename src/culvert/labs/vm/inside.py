"""What a command in a guest knows of the guest: it is told by whoever started it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from culvert.labs.vm.vehicle import Vehicle

VARIABLE = "CULVERT_GUEST"
MOST_NODES = 3


@dataclass(frozen=True)
class Guest:
    """What carries the guest; ``not_comparable`` is its label, empty where speeds are real."""

    vehicle: str
    kernel: str
    not_comparable: str

    @classmethod
    def of(cls, vehicle: Vehicle) -> Guest:
        """As it will be told to the commands in it."""
        return cls(vehicle.name, vehicle.kernel, vehicle.label)

    @property
    def environment(self) -> dict[str, str]:
        """How it is told."""
        return {VARIABLE: json.dumps(asdict(self))}


def guest() -> Guest | None:
    """The guest that this process runs in; None on a machine of its own."""
    told = os.environ.get(VARIABLE)
    return Guest(**json.loads(told)) if told else None


def described() -> dict[str, Any]:
    """What the journal's environment says of the guest; nothing on a machine of its own."""
    found = guest()
    if found is None:
        return {}
    return {"guest": asdict(found), "not_comparable": found.not_comparable}


def processors(cores: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The cores that nodes may be split over. Where speeds say nothing, one processor serves all
    nodes, so that the studies run there as they are."""
    found = guest()
    if found is not None and found.not_comparable and len(cores) == 1:
        return cores * MOST_NODES
    return cores
