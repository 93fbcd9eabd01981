"""The Universal Scalability Law, fitted over the number of clients (or of cores).

X(N) = gain * N / (1 + contention * (N - 1) + coherency * N * (N - 1))

(Gunther, "Guerrilla Capacity Planning", 2007, chapter 4). ``gain`` is what one client alone gets.
``contention`` is the share of work that is done one after another: alone it leads to a plateau.
``coherency`` is the cost of each pair that must agree: with it the curve falls behind its knee.
Intervals are of a bootstrap that draws the trials of each N anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from culvert.statistics.values import Array

DRAWS = 400
FEWEST_POINTS = 4
"""Different numbers of clients: the law has three parameters."""
FEWEST_TRIALS = 3
"""Of each N: fewer give no idea of its scatter."""
REACH = 2.0
"""No statement beyond this multiple of the largest measured N."""
LEVEL = 0.05


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; infinite where the data permit any greater one."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Scalability:
    """A fitted law. ``draws`` are the bootstrap's parameters, in rows."""

    gain: Estimate
    contention: Estimate
    coherency: Estimate
    largest: int
    draws: Array

    @property
    def knee(self) -> Estimate:
        """The N at which the curve is highest; infinite if it only rises."""
        values = [_knee(contention, coherency) for _, contention, coherency in self.draws]
        own = _knee(self.contention.value, self.coherency.value)
        return _estimate(own, np.asarray(values))

    def at(self, n: int, level: float = LEVEL) -> Estimate:
        """What N clients get together, with an interval that misses it with this probability.
        Raises ValueError beyond twice the largest measured N, and at a level of 0."""
        if not level:
            raise ValueError("a rule could end the run after so few trials")
        if n > REACH * self.largest:
            raise ValueError(
                f"at most {self.largest} clients were measured, and the law is not trusted beyond "
                f"{REACH * self.largest:.0f}"
            )
        own = _law(n, self.gain.value, self.contention.value, self.coherency.value)
        return _estimate(own, np.asarray([_law(n, *draw) for draw in self.draws]), level)


def fit_scalability(trials: Mapping[int, Sequence[float]], *, seed: int = 1) -> Scalability:
    """Fit the law to the trials of each N. Raises ValueError if they are too few."""
    counts = sorted(trials)
    if (
        len(counts) < FEWEST_POINTS
        or min(len(values) for values in trials.values()) < FEWEST_TRIALS
    ):
        raise ValueError(
            f"an estimate needs {FEWEST_POINTS} measured numbers, with {FEWEST_TRIALS} trials each"
        )
    if any(value <= 0 for values in trials.values() for value in values):
        raise ValueError("a trial carried nothing")
    generator = np.random.default_rng(seed)
    n = np.asarray(counts, dtype=np.float64)
    samples = [np.asarray(trials[count], dtype=np.float64) for count in counts]
    own = _fit(n, np.asarray([np.median(sample) for sample in samples]))
    draws = np.asarray(
        [
            _fit(n, np.asarray([_drawn(sample, generator) for sample in samples]))
            for _ in range(DRAWS)
        ]
    )
    gain, contention, coherency = (_estimate(own[index], draws[:, index]) for index in range(3))
    return Scalability(gain, contention, coherency, counts[-1], draws)


def _drawn(sample: Array, generator: np.random.Generator) -> float:
    """The median of a sample drawn anew, with as much noise as makes up for the draws' being from
    so few values."""
    drawn = generator.choice(sample, sample.size)
    scatter = float(np.std(sample, ddof=1)) / math.sqrt(sample.size)
    return max(float(np.median(drawn)) + generator.normal(0, scatter), float(sample.min()) * 0.1)


def _fit(n: Array, x: Array) -> tuple[float, float, float]:
    """Least squares of N / X, which is linear in 1/gain, contention/gain and coherency/gain; errors
    are relative to the value, and no parameter is negative."""
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import, seldom needed

    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    weights = (x / n)[:, np.newaxis]
    (one, contended, coherent), _ = nnls(weights * terms, np.ones_like(n))
    one = max(float(one), 1e-300)
    return 1 / one, float(contended) / one, float(coherent) / one


def _law(n: int, gain: float, contention: float, coherency: float) -> float:
    return gain * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def _knee(contention: float, coherency: float) -> float:
    if contention >= 1:  # one client alone gets the most
        return 1.0
    return math.sqrt((1 - contention) / coherency) if coherency > 1e-12 else math.inf


def _estimate(own: float, draws: Array, level: float = LEVEL) -> Estimate:
    low, high = np.quantile(draws, (level / 2, 1 - level / 2), method="lower")
    return Estimate(own, min(float(low), own), max(float(high), own))
