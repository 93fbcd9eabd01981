"""Contestants measured in blocks: values without outliers, and a variance for each contestant.

The model is additive: a value is its block's effect, its contestant's, and noise whose variance
is the contestant's own. From few blocks a variance is known badly, so it is drawn towards that of
the others, the more so the more alike they are (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from culvert.statistics.values import Array

_FAR = 4.0
"""Values further from the fit are moved to it; in standard deviations estimated from the MAD."""
_MAD = 1.4826
"""Normal noise: standard deviation over median absolute deviation."""
_SHARE = 0.05
"""The least variance of a contestant, as a share of the mean of all."""
_ALIKE = 1e6
"""Prior degrees of freedom where the variances scatter no more than chance makes them."""


@dataclass(frozen=True)
class Moderated:
    """``values`` (blocks, contestants): NaN where missing, winsorised. ``variances``: of a single
    value of each contestant. ``df``: of these variances."""

    values: Array
    variances: Array
    df: float


def moderated(values: Array) -> Moderated:
    """Fit the model; ``values`` (blocks, contestants), NaN where a trial is missing."""
    kept = _winsorised(values)
    both = (~np.isnan(kept)).sum(axis=1) > 1
    rest = _residuals(kept[both])
    n = (~np.isnan(rest)).sum(axis=0)
    blocks, k = rest.shape
    df = float(n.sum() - blocks - k + 1)
    if df <= 0:
        return Moderated(kept, np.full(k, np.nan), 0.0)
    own = _own(kept)
    mean = float(own.mean())
    if mean <= (1e-12 * max(1.0, float(np.nanmax(np.abs(values))))) ** 2:
        return Moderated(kept, np.zeros(k), df)
    each = np.maximum(df * n / n.sum(), 1e-9)
    found = np.nansum(rest**2, axis=0) / each
    found = np.maximum(found * mean / found.mean(), 1e-6 * mean)
    prior, prior_df = _prior(found, each)
    own = np.maximum(own, _SHARE * mean)
    middle = df / k
    # What the others know, less one of them for how alike they are.
    prior_df = min(prior_df, (k - 2) * middle)
    variances = (prior_df * prior + middle * own) / (prior_df + middle)
    return Moderated(kept, variances, prior_df + middle if k > 2 else df)


def _winsorised(values: Array) -> Array:
    """Outliers moved to ``_FAR`` deviations of their contestant, or of all if that is more."""
    fit = np.zeros_like(values)
    with np.errstate(invalid="ignore"):
        for _ in range(2):
            fit = fit + _middle(values - fit, axis=1)
            fit = fit + _middle(values - fit, axis=0)
        rest = values - fit
        n, k = values.shape
        fitted = np.sqrt(n * k / max(1, (n - 1) * (k - 1)))
        size = _MAD * fitted * np.maximum(_middle(np.abs(rest), axis=0), _middle(np.abs(rest)))
        # Where most residuals are equal there is no scale to measure an outlier by.
        reach = np.where(size > 0, _FAR * size, np.inf)
        return np.asarray(np.where(np.abs(rest) > reach, fit + np.sign(rest) * reach, values))


def _middle(values: Array, axis: int | None = None) -> Array:
    """The median of the known ones; 0 where there is none."""
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=axis, keepdims=True))  # ten times faster
    known = (~np.isnan(values)).any(axis=axis, keepdims=True)
    return np.asarray(np.nanmedian(np.where(known, values, 0.0), axis=axis, keepdims=True))


def _residuals(values: Array) -> Array:
    """What the additive fit leaves: exact if no value is missing, else by alternating means."""
    rest = values
    for _ in range(1 if not np.isnan(values).any() else 20):
        rest = rest - np.nanmean(rest, axis=1, keepdims=True)
        count = np.maximum((~np.isnan(rest)).sum(axis=0), 1)
        rest = rest - np.nansum(rest, axis=0) / count
    return np.asarray(rest)


def _own(values: Array) -> Array:
    """Each contestant's variance alone, from those of the differences, which are sums of two
    (Grubbs, JASA 43, 1948); less than 0 by chance. Of two contestants half for each."""
    k = values.shape[1]
    sums = np.full((k, k), np.nan)
    for one in range(k):
        differences = np.delete(values[:, [one]] - values, one, axis=1)
        known = (~np.isnan(differences)).sum(axis=0) > 1
        others = np.delete(np.arange(k), one)[known]
        sums[one, others] = np.nanvar(differences[:, known], axis=0, ddof=1)
    if np.isnan(sums).all():  # no two are together in two blocks
        return np.zeros(k)
    mean = float(np.nanmean(sums))
    if k == 2:
        return np.full(2, mean / 2)
    each = np.where(np.isnan(sums), mean, sums)
    np.fill_diagonal(each, 0.0)
    total = each.sum(axis=1)
    return np.asarray((total - total.sum() / (2 * (k - 1))) / (k - 2))


def _prior(found: Array, df: Array) -> tuple[float, float]:
    """The variance that all have in common, and the degrees of freedom that it is worth."""
    from scipy.special import digamma, polygamma  # noqa: PLC0415 - slow to import, seldom needed

    half = df / 2
    logs = np.log(found) - digamma(half) + np.log(half)
    beyond = float(logs.var(ddof=1) - polygamma(1, half).mean()) if found.size > 1 else 0.0
    if beyond <= 1e-6:
        return float(found.mean()), _ALIKE
    x = 0.5 + 1 / beyond  # trigamma(x) = beyond, by Newton's steps
    for _ in range(20):
        value = float(polygamma(1, x))
        x += value * (1 - value / beyond) / float(polygamma(2, x))
    return float(np.exp(logs.mean() + digamma(x) - np.log(x))), 2 * x
