"""The random addition to the delay of each packet. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import Any

from culvert.topology.link.recorded import Delays

NORMAL_CUT = 4
PARETO_CUT = 20
"""In multiples of the spread: the wire draws no value beyond
(crates/wire/src/schedule/jitter.rs)."""
SIGMAS = 3.89
"""99.99 % of a normal distribution lie within: one false alarm in 10,000 checks."""


class JitterShape(StrEnum):
    """How jitter is spread: evenly from -spread to +spread; normal with that standard deviation;
    Pareto (Lomax, shape 3), which is never negative, with that mean; or from measured delays."""

    UNIFORM = "uniform"
    NORMAL = "normal"
    PARETO = "pareto"
    EMPIRICAL = "empirical"


@dataclass(frozen=True)
class Jitter:
    """The addition to the delay. Order is kept unless ``reorders``. With ``hold_ns`` all packets in
    this time get the same value: a disturbance that lasts, as on radio links.

    ``delays`` only with the empirical distribution, which has no spread.
    """

    spread_ns: int = 0
    distribution: JitterShape = JitterShape.UNIFORM
    reorders: bool = False
    hold_ns: int = 0
    delays: Delays | None = None

    @property
    def longest_ns(self) -> int:
        match self.distribution:
            case JitterShape.UNIFORM:
                return self.spread_ns
            case JitterShape.NORMAL:
                return NORMAL_CUT * self.spread_ns
            case JitterShape.PARETO:
                return PARETO_CUT * self.spread_ns
            case JitterShape.EMPIRICAL:
                return self.delays.per_cent_ns[-1] if self.delays else 0

    @property
    def least_ns(self) -> int:
        """The least value for a packet; negative if the delay is shortened."""
        match self.distribution:
            case JitterShape.PARETO:
                return 0
            case JitterShape.EMPIRICAL:
                return self.delays.per_cent_ns[0] if self.delays else 0
            case _:
                return -self.longest_ns

    def median_within_ns(self, packets: int) -> tuple[int, int]:
        """The interval of the median of this number of packets, with one exception in 10,000.

        The share of the distribution below a sample's median is normal with a deviation of
        0.5 / sqrt(n).
        """
        margin = SIGMAS * 0.5 / math.sqrt(max(packets, 1))
        return math.floor(self._quantile_ns(0.5 - margin)), math.ceil(
            self._quantile_ns(0.5 + margin)
        )

    def _quantile_ns(self, share: float) -> float:
        """The value that this share of packets does not exceed; the extremes for shares beyond 0
        and 1."""
        if share <= 0:
            return self.least_ns
        if share >= 1:
            return self.longest_ns
        match self.distribution:
            case JitterShape.UNIFORM:
                return (2 * share - 1) * self.spread_ns
            case JitterShape.NORMAL:
                within = max(-NORMAL_CUT, min(NormalDist().inv_cdf(share), NORMAL_CUT))
                return within * self.spread_ns
            case JitterShape.PARETO:  # Lomax with shape 3: its scale is twice its mean
                within = 2 * (math.pow(1 - share, -1 / 3) - 1)
                return min(within, PARETO_CUT) * self.spread_ns
            case JitterShape.EMPIRICAL:
                assert self.delays is not None  # the empirical distribution has delays
                return self.delays.per_cent_ns[round(100 * share)]

    def as_request(self) -> dict[str, Any]:
        """The request for ``culvert-wire``; raises LabError if the file of delays has changed."""
        if self.delays is not None:
            return {"distribution": "empirical", "file": str(self.delays.unchanged())}
        return {"distribution": str(self.distribution), "spread_ns": self.spread_ns}
