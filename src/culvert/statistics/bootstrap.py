"""Bootstrap intervals of medians and means: one piece of code for stopping rule and analysis.

Bias-corrected and accelerated (BCa): Efron, "Better Bootstrap Confidence Intervals", JASA 82
(1987), as ``scipy.stats.bootstrap`` has it; the percentile bootstrap where BCa is undefined. Two
short cuts that change nothing but the time: the median of a resample needs only its middle order
statistics, and those have a known distribution; means of resamples are one matrix product.
"""

from __future__ import annotations

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
    n = samples.shape[1]
    lower, upper = middle(n, resamples, seed)
    drawn = (samples[:, lower] + samples[:, upper]) / 2
    return _bca(samples, drawn, np.median(samples, axis=1), _median_jackknife(samples), level)


def mean_ends(samples: Samples, *, level: float, resamples: int, seed: int) -> Ends:
    """Intervals of the means of the rows of ``samples`` (k, n), each sorted and not constant."""
    n = samples.shape[1]
    rng = np.random.default_rng(seed)
    mean = samples.mean(axis=1)
    # About the mean, and by the greatest deviation, nothing is lost to cancellation or overflow.
    scale = np.abs(samples - mean[:, np.newaxis]).max(axis=1)
    about = (samples - mean[:, np.newaxis]) / scale[:, np.newaxis]
    parts = []
    for begin in range(0, resamples, BATCH):
        many = min(BATCH, resamples - begin)
        taken = rng.integers(0, n, size=(many, n))
        taken += np.arange(many)[:, np.newaxis] * n
        often = np.bincount(taken.ravel(), minlength=many * n).reshape(many, n)
        parts.append(about @ often.T.astype(np.float64) / n)
    drawn = np.concatenate(parts, axis=1) * scale[:, np.newaxis] + mean[:, np.newaxis]
    # Leaving i out moves the mean by (x_i - mean) / (n - 1), downwards; the factor cancels.
    return _bca(samples, drawn, mean, about, level)


def middle(n: int, resamples: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions, in the sorted sample of n, of the two middle values of each resample.

    The k-th smallest of n draws from 0..1 is Beta(k, n + 1 - k), and the next one above it is the
    least of the n - k that are left (David and Nagaraja, "Order Statistics", 2003). Both are one
    where n is odd.
    """
    rng = np.random.default_rng(seed)
    k = (n + 1) // 2
    first = rng.beta(k, n + 1 - k, size=resamples)
    lower = np.minimum((first * n).astype(np.intp), n - 1)
    if n % 2:
        return lower, lower
    second = first + (1 - first) * rng.beta(1, n - k, size=resamples)
    return lower, np.minimum((second * n).astype(np.intp), n - 1)


def _median_jackknife(samples: Samples) -> Samples:
    """How far leaving each value out moves the median of a sorted row: mean of all minus each."""
    n = samples.shape[1]
    places = np.arange(n)
    # Without place i, what was at place j > i moves down by one.
    low, high = (n - 2) // 2, (n - 1) // 2
    left = samples[:, low + (places <= low)] / 2 + samples[:, high + (places <= high)] / 2
    moved = left.mean(axis=1, keepdims=True) - left
    # A mean of equal values may differ from them by rounding: that is no spread.
    same = left.min(axis=1) == left.max(axis=1)
    return np.where(same[:, np.newaxis], 0.0, moved)


def _bca(samples: Samples, drawn: Samples, found: Samples, moved: Samples, level: float) -> Ends:
    """From estimates ``found`` (k), bootstrap estimates ``drawn`` (k, resamples) and the jackknife
    deviations ``moved`` (k, n)."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - slow to import, seldom needed

    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    drawn = np.sort(drawn, axis=1)
    with np.errstate(all="ignore"):  # BCa does not exist for some samples; NaN says so
        centre = found[:, np.newaxis]
        share = ((drawn < centre).mean(axis=1) + (drawn <= centre).mean(axis=1)) / 2
        bias = ndtri(share)[:, np.newaxis]
        unit = moved / np.abs(moved).max(axis=1, keepdims=True)
        bend = (unit**3).sum(axis=1) / (6 * (unit**2).sum(axis=1) ** 1.5)
        shifted = bias + ndtri(tails)
        at = ndtr(bias + shifted / (1 - bend[:, np.newaxis] * shifted))
    at = np.asarray(at, dtype=np.float64)
    undefined = ~np.isfinite(at).all(axis=1)
    at[undefined] = tails
    low, high = _quantiles(drawn, at[:, 0]), _quantiles(drawn, at[:, 1])
    # Interpolation may round past the sample's ends, where no estimate can be.
    return Ends(np.maximum(low, samples[:, 0]), np.minimum(high, samples[:, -1]), undefined)


def _quantiles(ordered: Samples, at: Samples) -> Samples:
    """The quantile ``at`` of each sorted row, linear between two values."""
    place = at * (ordered.shape[1] - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    rows = np.arange(len(ordered))
    part = place - below
    return np.asarray(ordered[rows, below] * (1 - part) + ordered[rows, above] * part)
