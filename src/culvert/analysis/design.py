"""How the trials of a run came to be, as far as it decides how they may be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from culvert.plan.precision import MIN_BLOCKS, looks_of
from culvert.statistics.looks import ONCE, Looks


class Blocking(StrEnum):
    """What trials of one block number have in common."""

    RANDOM = "blocks in random order"
    """Made together, each block in an order of its own: neighbours of one block are those of none
    other, so what lasts longer than a trial does not correlate differences."""
    LISTED = "blocks in the listed order"
    """Made together, and always in one order: what follows whom repeats."""
    NONE = "no blocks"
    """Made apart, as those of imports are: nothing pairs them."""


@dataclass(frozen=True)
class Design:
    """``looks``: those of the rule that could end the run, for figures and columns of figures."""

    blocking: Blocking = Blocking.RANDOM
    looks: Looks = ONCE

    @property
    def paired(self) -> bool:
        """Whether trials of one block are compared with one another."""
        return self.blocking is not Blocking.NONE

    @property
    def cautious(self) -> bool:
        """Whether neighbouring values of a comparison may be alike, however few show it."""
        return self.blocking is not Blocking.RANDOM

    @classmethod
    def of(cls, canonical: str, *, imported: bool = False) -> Design:
        """From a study's canonical JSON; one that says nothing has blocks in random order."""
        if imported:
            return cls(Blocking.NONE)
        try:
            plan = json.loads(canonical or "{}").get("plan", {})
        except (ValueError, AttributeError):
            return cls()
        if not isinstance(plan, Mapping):
            return cls()
        blocking = Blocking.LISTED if plan.get("order") == "listed" else Blocking.RANDOM
        return cls(blocking, _looks(plan.get("blocks")))


def _looks(blocks: object) -> Looks:
    if not isinstance(blocks, Mapping) or not blocks.get("until"):
        return ONCE
    least, most = blocks.get("min"), blocks.get("max")
    return looks_of(
        rule=True,
        least=least if isinstance(least, int) else MIN_BLOCKS,
        most=most if isinstance(most, int) else None,
    )
