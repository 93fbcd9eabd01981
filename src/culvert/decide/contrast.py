"""The difference of two series, with a standard error that allows for correlated trials.

Drift of the machine correlates neighbouring trials: twenty may be worth six independent ones. The
standard error is that of a mean of n values whose lag-1 autocorrelation is r (Bayley and
Hammersley, "The effective number of independent observations", J. R. Statist. Soc. Suppl. 8, 1946):

    n_eff = n (1 - r) / (1 + r)        se = s / sqrt(n_eff)

In a short series r comes out too small, by (1 + 4 r) / n (Kendall, "Note on bias in the estimation
of autocorrelation", Biometrika 41, 1954), and scatters; the bias is undone, and the estimate drawn
towards the strongest correlation that we allow for, more so in shorter series. That keeps the rate
of false alarms at the stated level; docs/compare.md has the rates.

Differences inside blocks of random order need no such correction: the order is drawn again for
each block, so drift gives a difference either sign, independent of the block before.
Their standard error is that of a paired t test.

Runs differ by more than the trials of one run. If a side has several runs, each is one repetition,
with the mean of its trials as its value: Student's t test of the runs' means, with one variance for
both sides, so that a single run on one side is enough where the other has two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from culvert.statistics.serial import FEWEST, lag1
from culvert.statistics.values import Array, Values, array, spread

_LEAST_EFFECTIVE = 1.5


@dataclass(frozen=True)
class Contrast:
    """The estimate of a difference (of logarithms, for a ratio) and its standard error.

    ``n`` counts pairs, or the values of the shorter series. ``effective`` is the effective sample
    size. ``paired``: blocks paired the values.
    """

    estimate: float
    se: float
    df: float
    n: int
    effective: float
    paired: bool
    correlated: bool = False
    """Whether the values are significantly correlated (Moran 1948, one-sided at 5 %)."""

    def p_two_sided(self) -> float:
        """The two-sided p value of no difference."""
        return min(1.0, 2 * min(self.p_above(0.0), self.p_below(0.0)))

    def p_above(self, bound: float) -> float:
        """The one-sided p value: small if the difference is above the bound."""
        return self._tail(self.estimate - bound)

    def p_below(self, bound: float) -> float:
        """The one-sided p value: small if the difference is below the bound."""
        return self._tail(bound - self.estimate)

    def p_between(self, low: float, high: float) -> float:
        """Two one-sided tests (Schuirmann 1987): small if the difference is between the two."""
        return max(self.p_above(low), self.p_below(high))

    def p_outside(self, low: float, high: float) -> float:
        """The p value that is small if the difference is below ``low`` or above ``high``.

        The greatest p value of all differences between the two, which is that of the nearer end.
        """
        near, far = self.estimate - high, self.estimate - low
        if -far > near:
            near, far = -far, -near
        return min(1.0, self._tail(near) + self._tail(far))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, seldom needed

        half = float(stdtrit(self.df, (1 + level) / 2)) * self.se if self.se else 0.0
        return self.estimate - half, self.estimate + half

    def _tail(self, distance: float) -> float:
        from scipy.special import stdtr  # noqa: PLC0415

        if self.se:
            return float(stdtr(self.df, -distance / self.se))
        if distance == 0:
            return 0.5
        # Every value is the same. If each value were one of two, the most likely way to get this
        # on two sides by chance has the probability 0.5 for each value.
        luck = 0.5 ** (self.n if self.paired else 2 * self.n)
        return luck if distance > 0 else 1 - luck


def paired_contrast(differences: Values, *, cautious: bool = False) -> Contrast | None:
    """The mean of differences taken block by block, in the blocks' order; None below FEWEST.

    ``cautious``: blocks were not in random order, so neighbouring differences may correlate.
    """
    values = array(differences)
    n = len(values)
    if n < FEWEST:
        return None
    seen = _lag1(values)
    variance, effective, df = _mean_variance(values, _drawn(seen, n, 16) if cautious else 0.0)
    return Contrast(
        estimate=float(values.mean()),
        se=math.sqrt(variance),
        df=df,
        n=n,
        effective=effective,
        paired=True,
        correlated=_shown(seen, n),
    )


def unpaired_contrast(before: Values, after: Values) -> Contrast | None:
    """mean(after) - mean(before), each in order of time; None below FEWEST.

    Both series share one estimate of the correlation, because the machine is of one kind.
    """
    old, new = array(before), array(after)
    shorter = min(len(old), len(new))
    if shorter < FEWEST:
        return None
    shared = (_lag1(old) * len(old) + _lag1(new) * len(new)) / (len(old) + len(new))
    length = (len(old) + len(new)) / 2
    correlation = _drawn(shared, length, 12)
    parts = [_mean_variance(values, correlation) for values in (old, new)]
    variance = sum(part[0] for part in parts)
    # Welch and Satterthwaite
    spread = sum(part[0] ** 2 / part[2] for part in parts)
    return Contrast(
        estimate=float(new.mean() - old.mean()),
        se=math.sqrt(variance),
        df=variance**2 / spread if spread else float(shorter - 1),
        n=shorter,
        effective=min(part[1] for part in parts),
        paired=False,
        correlated=_shown(shared, length, series=2),
    )


def _mean_variance(values: Array, correlation: float) -> tuple[float, float, float]:
    """Variance of the mean, effective sample size, degrees of freedom."""
    n = len(values)
    if _constant(values):
        return 0.0, float(n), float(n - 1)
    if not correlation:
        return float(values.var(ddof=1)) / n, float(n), float(n - 1)
    effective = max(n * (1 - correlation) / (1 + correlation), _LEAST_EFFECTIVE)
    # Correlated values scatter less around their own mean than around the true one.
    variance = float(values.var()) / (1 - 1 / effective)
    return variance / effective, effective, max(effective - 1, (n - 1) / 2)


def _lag1(values: Array) -> float:
    """Lag-1 autocorrelation without its bias; 0 for a constant series."""
    raw = None if _constant(values) else lag1(values)
    return 0.0 if raw is None else (len(values) * raw + 1) / (len(values) - 4)


def _constant(values: Array) -> bool:
    """Equal except for rounding: a mean of equal logarithms is not always the same number."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def _shown(estimate: float, n: float, series: int = 1) -> bool:
    """Whether the correlation is significant; ``estimate`` as ``_lag1`` returns it."""
    raw = (estimate * (n - 4) - 1) / n
    return raw + 1 / n > 1.645 / math.sqrt(series * n)


def _drawn(estimate: float, n: float, pull: float) -> float:
    """An estimate from series of n values, drawn towards the allowed correlation with the weight of
    ``pull`` values. The weights were found by simulation: correlations 0 to 0.6, 5 to 100
    values."""
    weight = n / (n + pull)
    allowed = 0.75 - 1.5 / n
    bounded = min(max(estimate, -0.5), 0.95)
    return min(max(weight * bounded + (1 - weight) * allowed, 0.0), 0.9)


POWER = 0.8
"""The power: the probability that so many repetitions decide."""

MOST = 10_000
"""A greater number is not recommended."""


def more_repetitions(contrast: Contrast, distance: float, alpha: float) -> int | None:
    """Repetitions beyond ``contrast.n`` for a one-sided test at ``alpha`` over that distance.

    ``distance`` is from the estimate to the bound of the test. The standard error
    falls with the root of the repetitions: n' = n ((z(1 - alpha) + z(power)) se / distance)^2,
    at least one. If every value is the same, as many as make that unlikely by chance
    (``Contrast``). None if that is more than MOST.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import, seldom needed

    if distance <= 0 or not math.isfinite(distance):
        return None
    if not contrast.se:
        needed = math.ceil(math.log2(1 / alpha) / (1 if contrast.paired else 2))
        return max(1, needed - contrast.n)
    sure = float(ndtri(1 - alpha)) + float(ndtri(POWER))
    wanted = contrast.n * (sure * contrast.se / distance) ** 2
    if wanted > MOST:
        return None
    return max(1, math.ceil(wanted) - contrast.n)


FEWEST_RUNS = 3
"""Runs of both sides together: with one run each, the scatter of runs is unknown."""


def run_contrast(before: Sequence[Values], after: Sequence[Values]) -> Contrast | None:
    """mean(after) - mean(before) of the runs' means; None with too few runs.

    Each series has the values of a cell in one run; none is empty.
    """
    if not before or not after or len(before) + len(after) < FEWEST_RUNS:
        return None
    old, new = (np.array([float(array(run).mean()) for run in side]) for side in (before, after))
    df = old.size + new.size - 2
    squares = sum((side.size - 1) * spread(side) ** 2 for side in (old, new))
    few = min(old.size, new.size)
    return Contrast(
        estimate=float(new.mean() - old.mean()),
        se=math.sqrt(squares / df * (1 / old.size + 1 / new.size)),
        df=float(df),
        n=few,
        effective=float(few),
        paired=False,
    )
