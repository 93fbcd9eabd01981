"""How much each VPN scatters, from trials in blocks.

The model is additive: a value is its block's effect, its VPN's effect, and noise whose variance is
the VPN's own. A difference of two VPNs of one block is free of the block's effect, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from culvert.statistics.values import Array

GROSS = 6.0
"""A value further from the fit than so many standard deviations counts as one at that distance: one
trial that a disturbance tripled hides no difference."""
_MAD = 1.4826 / sqrt(2)
"""Standard deviation of a value over the median absolute deviation of differences of two."""
_LEAST = 0.05
"""The least variance of a VPN, as a share of the mean: by subtraction it may be negative."""


@dataclass(frozen=True)
class Scatter:
    """``variances``: of a single value of each VPN. ``df``: what each VPN's own trials are worth;
    ``shared``: what is known from the others besides. Degrees of freedom."""

    variances: Array
    df: Array
    shared: float

    def of_difference(self, a: int, b: int, n: int) -> tuple[float, float]:
        """Standard error of the mean of n differences of two VPNs, and its degrees of freedom
        (Welch and Satterthwaite)."""
        one, other = self.variances[a], self.variances[b]
        if len(self.variances) == 2:  # nothing but their difference is known
            return sqrt((one + other) / n), n - 1.0
        own = (one + other) ** 2 / (one**2 / self.df[a] + other**2 / self.df[b]) if one else n - 1.0
        return sqrt((one + other) / n), float(own + self.shared)


def without_gross(values: Array) -> Array:
    """``values`` (blocks, VPNs), NaN where missing, without gross outliers."""
    fit = np.zeros_like(values)
    for _ in range(2):
        fit = fit + _median(values - fit, 1)
        fit = fit + _median(values - fit, 0)
    apart = _differences(values)
    apart = np.abs(apart - _median(apart, 0))
    own = _median(apart.transpose(1, 0, 2).reshape(values.shape[1], -1), 1)[:, 0]
    size = GROSS * _MAD * np.maximum(own, np.median(own))
    # Where most values are equal there is no scale to measure an outlier by.
    size = np.where(size > 0, size, np.inf)
    return np.asarray(np.clip(values, fit - size, fit + size))


def scatter_of(values: Array) -> Scatter:
    """Of ``values`` (blocks, VPNs) without gross outliers; at least five of each VPN.

    Each VPN's own variance follows from those of its differences (Grubbs, JASA 43, 1948). It is
    known badly from few blocks, so it is drawn towards the mean of all, the more so the more alike
    they are (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004), and at most as if by half the trials of
    the others.
    """
    blocks, k = values.shape
    apart = _differences(values)
    count = (~np.isnan(apart)).sum(axis=0)
    middle = np.nansum(apart, axis=0) / np.maximum(count, 1)
    sums = np.nansum((apart - middle) ** 2, axis=0)
    known = count > 1
    of_pairs = np.where(known, sums / np.maximum(count - 1, 1), 0.0)
    if not known.any() or of_pairs.max() <= (1e-12 * max(1.0, np.nanmax(np.abs(values)))) ** 2:
        return Scatter(np.zeros(k), np.full(k, blocks - 1.0), 0.0)
    mean = float(of_pairs[known].mean()) / 2
    if k == 2:
        return Scatter(np.full(2, mean), np.full(2, blocks - 1.0), 0.0)
    of_pairs = np.where(known, of_pairs, 2 * mean)
    np.fill_diagonal(of_pairs, 0.0)
    rows = of_pairs.sum(axis=1)
    own = (rows - rows.sum() / (2 * (k - 1))) / (k - 2)
    df = ((~np.isnan(values)).sum(axis=0) - 1) * (k - 1) / k
    alike = min(_alike(((k - 2) * own + mean) / (k - 1), df), (k - 1) / 2 * float(df.mean()))
    own = np.maximum(own, _LEAST * mean)
    return Scatter((alike * mean + df * own) / (alike + df), df, alike)


def _alike(found: Array, df: Array) -> float:
    """The degrees of freedom that their common variance is worth for each: many where the variances
    ``found`` scatter no more than chance makes them."""
    logs = np.log(np.maximum(found, _LEAST * found.mean()))
    half = df / 2
    beyond = float(logs.var(ddof=1) - (1 / half + 1 / (2 * half**2)).mean())
    if beyond <= 0:
        return np.inf
    # trigamma(x) = beyond, by its first two terms, 1 / x + 1 / (2 x x)
    return (1 + sqrt(1 + 2 * beyond)) / beyond


def _differences(values: Array) -> Array:
    """(blocks, VPNs, VPNs), NaN on the diagonal."""
    found = values[:, :, None] - values[:, None, :]
    same = np.arange(values.shape[1])
    found[:, same, same] = np.nan
    return np.asarray(found)


def _median(values: Array, axis: int) -> Array:
    """The median of the known ones, its axis kept; 0 where there is none."""
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=axis, keepdims=True))  # ten times faster
    known = (~np.isnan(values)).any(axis=axis, keepdims=True)
    return np.asarray(np.nanmedian(np.where(known, values, 0.0), axis=axis, keepdims=True))
