"""What is added to the delay of each packet. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from culvert.labs.recorded import Delays

NORMAL_CUT = 4
PARETO_CUT = 20
"""In spreads: the wire draws nothing beyond these (crates/wire/src/schedule/jitter.rs)."""
PARETO_MEDIAN = 0.52
"""Of the mean, of a Lomax distribution with shape 3: 2 (2^(1/3) - 1)."""


class Distribution(StrEnum):
    """How jitter is spread: evenly from -spread to +spread; normal with that standard deviation;
    Pareto (Lomax, shape 3), which only ever adds, with that mean; or as it was measured."""

    UNIFORM = "uniform"
    NORMAL = "normal"
    PARETO = "pareto"
    EMPIRICAL = "empirical"


@dataclass(frozen=True)
class Jitter:
    """What is added to the delay. Order is kept unless ``reorders``.

    ``delays`` only with the empirical distribution, which has no spread.
    """

    spread_ns: int = 0
    distribution: Distribution = Distribution.UNIFORM
    reorders: bool = False
    delays: Delays | None = None

    @property
    def longest_ns(self) -> int:
        """The most that a packet gets."""
        match self.distribution:
            case Distribution.UNIFORM:
                return self.spread_ns
            case Distribution.NORMAL:
                return NORMAL_CUT * self.spread_ns
            case Distribution.PARETO:
                return PARETO_CUT * self.spread_ns
            case Distribution.EMPIRICAL:
                return self.delays.max_ns if self.delays else 0

    @property
    def median_ns(self) -> int:
        """What half of the packets get more than."""
        match self.distribution:
            case Distribution.PARETO:
                return round(PARETO_MEDIAN * self.spread_ns)
            case Distribution.EMPIRICAL:
                return self.delays.median_ns if self.delays else 0
            case _:
                return 0

    def asked(self) -> dict[str, Any]:
        """As ``culvert-wire`` takes it; raises LabError if the file of delays has changed."""
        if self.delays is not None:
            return {"distribution": "empirical", "file": str(self.delays.unchanged())}
        return {"distribution": str(self.distribution), "spread_ns": self.spread_ns}
