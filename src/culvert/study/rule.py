"""The stopping rule of a plan, as written in a study: "ci <= 2%", "claims decided", or both."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from culvert.units import QuantityError, format_fraction, parse_fraction

_INTERVAL = re.compile(r"ci\s*<=\s*(.+)")
_CLAIMS = re.compile(r"claims\s+decided")
_JOINED = re.compile(r"\s+(and|or)\s+")


@dataclass(frozen=True)
class StopRule:
    """``half_width`` is relative to the median: 0.02 for +-2 %; None if not part of the rule.
    ``claims`` requires decided claims; ``both`` requires both. Its evaluation: plan/stopping.py."""

    half_width: float | None
    claims: bool = False
    both: bool = False

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """The rule from "ci <= 2%", "claims decided", or the two joined by "and" or "or".

        Raises ValueError with the reason.
        """
        parts = _JOINED.split(text.strip())
        rules = [_part(part, text) for part in parts[::2]]
        if len(rules) == 1:
            return rules[0]
        if len(rules) > 2 or rules[0].claims == rules[1].claims:
            raise ValueError(f'"{text}" is not a stopping rule')
        half_width = rules[0].half_width or rules[1].half_width
        return replace(rules[0], half_width=half_width, claims=True, both=parts[1] == "and")

    def __str__(self) -> str:
        words = [] if self.half_width is None else [f"ci <= {format_fraction(self.half_width)}"]
        words += ["claims decided"] if self.claims else []
        return (" and " if self.both else " or ").join(words)


def _part(part: str, text: str) -> StopRule:
    if _CLAIMS.fullmatch(part):
        return StopRule(None, claims=True)
    found = _INTERVAL.fullmatch(part)
    if found is None:
        raise ValueError(f'"{text}" is not a stopping rule')
    try:
        half_width = parse_fraction(found[1])
    except QuantityError as error:
        raise ValueError(error.why) from error
    if half_width == 0:
        raise ValueError("an interval cannot be as narrow as 0%")
    return StopRule(half_width)
