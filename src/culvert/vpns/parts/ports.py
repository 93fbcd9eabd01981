"""Ports of a VPN with several programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Self

from culvert.labs.base import Lab


@dataclass(frozen=True)
class Ports:
    """A driver derives its own: a field for each port, with the usual number as its default."""

    def free(self, lab: Lab) -> Self:
        """These, or others that are free in the lab."""
        return replace(self, **{name: lab.free_port(port) for name, port in asdict(self).items()})
