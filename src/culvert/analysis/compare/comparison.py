"""Every metric of every cell, A against B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from culvert.analysis.compare.contrast import Contrast, paired_contrast, ratio_of, unpaired_contrast
from culvert.analysis.compare.verdict import Change, Tolerance, judge
from culvert.analysis.declared import better_of
from culvert.analysis.observations import BASELINE, CELL, METRIC
from culvert.metrics import Better
from culvert.statistics.holm import holm

ALPHA = 0.05
"""At most this often is something called different that is not, in a whole comparison."""

TOLERANCE = 0.03


@dataclass(frozen=True)
class Comparison:
    """One metric of one cell. ``ratio``, ``low`` and ``high`` are B over A with a 95 % interval.

    They are None where A is 0 or there are fewer than five trials. ``control`` marks the baseline:
    it is no VPN, so what changes there is the machine.
    """

    vpn: str
    condition: str
    measurement: str
    parameters: str
    metric: str
    labels: str
    unit: str
    direction: Better
    n_a: int
    n_b: int
    median_a: float
    median_b: float
    ratio: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    effective: float | None
    correlated: bool
    paired: bool
    change: Change
    why: str
    more: int | None
    control: bool


@dataclass(frozen=True)
class _Pair:
    """What is to be judged: the series of A and B in the order of their blocks."""

    key: tuple[str, ...]
    a: tuple[float, ...]
    b: tuple[float, ...]
    contrast: Contrast | None
    logarithmic: bool

    @property
    def control(self) -> bool:
        return self.key[0] == BASELINE

    def tolerance(self, share: float) -> Tolerance:
        """In the contrast's scale."""
        if self.logarithmic:
            return Tolerance.of_ratio(share)
        return Tolerance.of_difference(share, float(np.mean(self.a)))

    def ratio(self, difference: float) -> float | None:
        """B over A, from a difference in the contrast's scale."""
        if self.logarithmic:
            return ratio_of(difference)
        base = float(np.mean(self.a))
        return 1 + difference / base if base > 0 else None


def comparisons(
    a: pl.DataFrame,
    b: pl.DataFrame,
    *,
    paired: bool,
    tolerance: float = TOLERANCE,
    alpha: float = ALPHA,
) -> list[Comparison]:
    """Compare what both have. ``a`` and ``b`` as ``observations`` gives them.

    ``paired``: both are of one run, and blocks pair the trials. The p-values are adjusted after
    Holm over all comparisons but those of the baseline, which are a family of their own.
    """
    pairs = [
        _pair(key, before, after, paired=paired) for key, before, after in _series(a, b, paired)
    ]
    adjusted = _adjusted(pairs)
    return [_judged(pair, adjusted[pair.key], tolerance, alpha) for pair in pairs]


def _series(
    a: pl.DataFrame, b: pl.DataFrame, paired: bool
) -> list[tuple[tuple[str, ...], list[float], list[float]]]:
    keys = [*CELL, *METRIC]
    if paired:
        # Where a cell is in a block twice, the middle stands for both.
        one = [
            frame.group_by([*keys, "block"]).agg(pl.col("value").median()).rename({"value": name})
            for name, frame in (("a", a), ("b", b))
        ]
        both = one[0].join(one[1], on=[*keys, "block"], how="inner").sort([*keys, "block"])
        grouped = both.group_by(keys, maintain_order=True).agg("a", "b")
    else:
        lists = [
            frame.sort([*keys, "block", "trial"])
            .group_by(keys, maintain_order=True)
            .agg(pl.col("value").alias(name))
            for name, frame in (("a", a), ("b", b))
        ]
        grouped = lists[0].join(lists[1], on=keys, how="inner", maintain_order="left")
    return [(tuple(map(str, row[:-2])), row[-2], row[-1]) for row in grouped.iter_rows()]


def _pair(
    key: tuple[str, ...], before: Sequence[float], after: Sequence[float], *, paired: bool
) -> _Pair:
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    logarithmic = bool((old > 0).all() and (new > 0).all())
    if logarithmic:
        old, new = np.log(old), np.log(new)
    contrast = paired_contrast(new - old) if paired else unpaired_contrast(old, new)
    return _Pair(key, tuple(before), tuple(after), contrast, logarithmic)


def _adjusted(pairs: Sequence[_Pair]) -> Mapping[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {pair.key: 1.0 for pair in pairs}
    for control in (False, True):
        family = [p for p in pairs if p.contrast is not None and p.control is control]
        p_values = holm([p.contrast.p_two_sided() for p in family if p.contrast is not None])
        found.update({pair.key: p for pair, p in zip(family, p_values, strict=True)})
    return found


def _judged(pair: _Pair, p_adjusted: float, share: float, alpha: float) -> Comparison:
    vpn, condition, measurement, parameters, metric, labels, unit = pair.key
    contrast = pair.contrast
    direction = better_of(metric, measurement)
    told = judge(contrast, p_adjusted, pair.tolerance(share), direction, alpha)
    low, high = contrast.interval() if contrast else (None, None)
    return Comparison(
        vpn=vpn,
        condition=condition,
        measurement=measurement,
        parameters=parameters,
        metric=metric,
        labels=labels,
        unit=unit,
        direction=direction,
        n_a=len(pair.a),
        n_b=len(pair.b),
        median_a=float(np.median(pair.a)),
        median_b=float(np.median(pair.b)),
        ratio=pair.ratio(contrast.estimate) if contrast else None,
        low=None if low is None else pair.ratio(low),
        high=None if high is None else pair.ratio(high),
        p_value=contrast.p_two_sided() if contrast else None,
        p_adjusted=p_adjusted if contrast else None,
        effective=contrast.effective if contrast else None,
        correlated=bool(contrast and contrast.correlated),
        paired=bool(contrast and contrast.paired),
        change=told.change,
        why=told.why,
        more=told.more,
        control=pair.control,
    )
