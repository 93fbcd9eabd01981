"""Bootstrap intervals of medians: one piece of code for the stopping rule and for the analysis.

Bias-corrected and accelerated (BCa): Efron, "Better Bootstrap Confidence Intervals", JASA 82
(1987), as SciPy implements it; the percentile bootstrap where BCa is undefined.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BATCH = 1000
"""Resamples drawn at a time: bounds the memory."""

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Ends:
    """Ends of k intervals; ``percentile`` marks those that are no BCa intervals."""

    low: Samples
    high: Samples
    percentile: NDArray[np.bool_]


def median_ends(samples: Samples, *, level: float, resamples: int, seed: int) -> Ends:
    """Intervals of the medians of the rows of ``samples`` (k, n), each sorted and not constant.

    Every row is resampled at the same positions, so that its interval is its own affair whatever
    else is asked for.
    """
    from scipy import stats  # noqa: PLC0415 - takes seconds, and most commands never get here

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # BCa does not exist for some samples (a jackknife without spread); NaN says so.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.bootstrap(
            (samples,),
            _median,
            axis=-1,
            n_resamples=resamples,
            batch=BATCH,
            vectorized=True,
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = found.confidence_interval
    undefined = ~(np.isfinite(low) & np.isfinite(high))
    tail = (1 - level) / 2
    plain = np.quantile(found.bootstrap_distribution, [tail, 1 - tail], axis=-1)
    low, high = np.where(undefined, plain[0], low), np.where(undefined, plain[1], high)
    # Interpolation may round past the sample's ends, where no median can be.
    return Ends(np.maximum(low, samples[:, 0]), np.minimum(high, samples[:, -1]), undefined)


def _median(values: Samples, axis: int) -> Samples:
    return np.asarray(np.median(values, axis=axis))
