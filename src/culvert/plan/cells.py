"""Cells: one VPN variant in one condition under one measurement with its parameters."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from culvert.results import Parameters


@dataclass(frozen=True)
class Cell:
    """Equal cells compare equal: parameters are canonical."""

    vpn: str
    condition: str
    measurement: str
    parameters: Parameters

    @cached_property
    def key(self) -> str:
        """Twelve hex digits that identify the cell in every run, independent of order."""
        content = json.dumps([self.vpn, self.condition, self.measurement, self.parameters])
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.vpn} {self.condition} {self.measurement} {self.parameters}"
