"""What is added to the delay of each packet. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from culvert.labs.recorded import Delays

NORMAL_CUT = 4
PARETO_CUT = 20
"""In spreads: the wire draws nothing beyond these (crates/wire/src/schedule/jitter.rs)."""
SIGMAS = 3.89
"""Of a normal distribution 99.99 % lie within: one false alarm in 10,000 checks."""
NORMAL_DENSITY = 0.4
"""1 / sqrt(2 pi), in the middle; 0.5 for uniform jitter, 0.6 at Pareto's median."""
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
    """What is added to the delay. Order is kept unless ``reorders``. With ``hold_ns`` all packets
    of a time so long get the same: a disturbance that lasts, as radio has it.

    ``delays`` only with the empirical distribution, which has no spread.
    """

    spread_ns: int = 0
    distribution: Distribution = Distribution.UNIFORM
    reorders: bool = False
    hold_ns: int = 0
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
                return self.delays.per_cent_ns[-1] if self.delays else 0

    @property
    def least_ns(self) -> int:
        """The least that a packet gets: below nothing where the delay is shortened."""
        match self.distribution:
            case Distribution.PARETO:
                return 0
            case Distribution.EMPIRICAL:
                return self.delays.per_cent_ns[0] if self.delays else 0
            case _:
                return -self.longest_ns

    def median_within_ns(self, packets: int) -> tuple[int, int]:
        """Where the median of so many packets lies, but for one time in 10,000.

        The rank of the median of a sample is normal with a deviation of 0.5 / sqrt(n); spread by
        the density in the middle, which is 0.4 for the normal distribution, more for the others.
        """
        rank = SIGMAS * 0.5 / math.sqrt(max(packets, 1))
        if self.delays is not None:
            low, high = max(50 - 100 * rank, 0), min(50 + 100 * rank, 100)
            return self.delays.per_cent_ns[int(low)], self.delays.per_cent_ns[math.ceil(high)]
        middle = PARETO_MEDIAN * self.spread_ns if self.distribution is Distribution.PARETO else 0
        margin = min(rank / NORMAL_DENSITY, 1) * self.spread_ns
        least, most = self.least_ns, self.longest_ns
        return max(round(middle - margin), least), min(round(middle + margin), most)

    def asked(self) -> dict[str, Any]:
        """As ``culvert-wire`` takes it; raises LabError if the file of delays has changed."""
        if self.delays is not None:
            return {"distribution": "empirical", "file": str(self.delays.unchanged())}
        return {"distribution": str(self.distribution), "spread_ns": self.spread_ns}
