"""How much each VPN scatters, from trials in blocks.

The model is additive: a value is its block's effect, its VPN's effect, and noise whose variance is
the VPN's own. A difference of two VPNs of one block is free of the block's effect, whatever it is.

VPNs that scatter alike share what is known of their scatter. Two that scatter significantly more
than the others share nothing: their own differences alone give their standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from culvert.statistics.values import Array

GROSS = 6.0
"""A value further from the fit than so many standard deviations counts as one at that distance: one
trial that a disturbance tripled hides no difference."""
_MAD = 1.4826 / sqrt(2)
"""Standard deviation of a value over the median absolute deviation of differences of two."""
_LEAST = 0.05
"""The least variance of a VPN, as a share of the mean: by subtraction it may be negative."""
NOISIER = 0.02
"""Two VPNs scatter more than the others if the p value of the F test is at most this. Simulated: a
greater level costs power where all scatter alike, a smaller one states more false best ones where
the two best scatter most."""


@dataclass(frozen=True)
class Scatter:
    """``variances``: of a single value of each VPN. ``df``: what each VPN's own trials are worth;
    ``shared``: what is known from the others besides. Degrees of freedom. ``of_pairs``: the
    variance of the differences of each two; ``alone``: of which two it counts alone, if greater."""

    variances: Array
    df: Array
    shared: float
    of_pairs: Array
    alone: NDArray[np.bool_]

    def of_difference(self, a: int, b: int, n: int) -> tuple[float, float]:
        """Standard error of the mean of n differences of two VPNs, and its degrees of freedom
        (Welch and Satterthwaite)."""
        one, other = self.variances[a], self.variances[b]
        drawn, own = float(one + other), float(self.of_pairs[a, b])
        if drawn == 0 or (self.alone[a, b] and own >= drawn):
            return sqrt(own / n), n - 1.0
        worth = drawn**2 / (one**2 / self.df[a] + other**2 / self.df[b])
        return sqrt(drawn / n), float(worth + self.shared)


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
    they are (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004), and at most as if by the trials of all
    but two.
    """
    blocks, k = values.shape
    apart = _differences(values)
    count = (~np.isnan(apart)).sum(axis=0)
    middle = np.nansum(apart, axis=0) / np.maximum(count, 1)
    sums = np.nansum((apart - middle) ** 2, axis=0)
    known = count > 1
    of_pairs = np.where(known, sums / np.maximum(count - 1, 1), 0.0)
    each = np.full((k, k), fill_value=True)
    if not known.any() or of_pairs.max() <= (1e-12 * max(1.0, np.nanmax(np.abs(values)))) ** 2:
        return Scatter(np.zeros(k), np.full(k, blocks - 1.0), 0.0, np.zeros((k, k)), each)
    mean = float(of_pairs[known].mean()) / 2
    of_pairs = np.where(known, of_pairs, 2 * mean)
    np.fill_diagonal(of_pairs, 0.0)
    if k == 2:  # nothing but their difference is known
        return Scatter(np.full(2, mean), np.full(2, blocks - 1.0), 0.0, of_pairs, each)
    rows = of_pairs.sum(axis=1)
    own = (rows - rows.sum() / (2 * (k - 1))) / (k - 2)
    trials = (~np.isnan(values)).sum(axis=0) - 1
    df = trials * (k - 1) / k
    alike = min(_alike(((k - 2) * own + mean) / (k - 1), df), (k - 2) * float(df.mean()))
    own = np.maximum(own, _LEAST * mean)
    drawn = (alike * mean + df * own) / (alike + df)
    return Scatter(drawn, df, alike, of_pairs, _noisier(of_pairs, float(trials.mean())))


def _noisier(of_pairs: Array, df: float) -> NDArray[np.bool_]:
    """Which two VPNs scatter significantly more than the others do among themselves.

    Of the k - 1 contrasts of k VPNs, k - 3 are among the others; the remaining two are the
    difference of the pair, and the pair against the others. Of three VPNs one is left, which has no
    contrast of its own: the difference is compared with the contrast against it.
    """
    from scipy.special import fdtrc  # noqa: PLC0415 - slow to import, seldom needed

    k = len(of_pairs)
    rows = of_pairs.sum(axis=1)
    every = rows.sum() / 2
    if k == 3:
        ours, many = of_pairs / 2, 1
        rest = every / k - ours
    else:
        rest = (every - rows[:, None] - rows[None, :] + of_pairs) / (k - 2)
        ours, many = every / k - rest, 2
    left = k - 1 - many
    # Holes may leave less than nothing.
    ratio = np.maximum(ours, 0) / many * left / np.maximum(rest, 1e-12 * every)
    return np.asarray(fdtrc(many * df, left * df, ratio) <= NOISIER)


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
