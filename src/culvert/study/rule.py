"""The stopping rule of a plan, as it is written: "ci <= 2%"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from culvert.units import QuantityError, format_fraction, parse_fraction

_RULE = re.compile(r"\s*ci\s*<=\s*(.+)")


@dataclass(frozen=True)
class StopRule:
    """``half_width`` is relative to the median: 0.02 for +-2 %. What it means: plan/stopping.py."""

    half_width: float
    confidence: float = 0.95

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """The rule from "ci <= 2%". Raises ValueError that says what is wrong."""
        found = _RULE.fullmatch(text)
        if found is None:
            raise ValueError(f'"{text}" is not a stopping rule')
        try:
            half_width = parse_fraction(found[1])
        except QuantityError as error:
            raise ValueError(error.why) from error
        if half_width == 0:
            raise ValueError("no interval is narrower than 0%")
        return cls(half_width)

    def __str__(self) -> str:
        return f"ci <= {format_fraction(self.half_width)}"
