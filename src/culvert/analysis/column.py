"""A column: one metric in one context, every contestant against every other, tested together.

Card, badge, rank, pair table and ``culvert compare`` all use this decision: whether two differ has
one answer: closed tests of studentised ranges (``statistics.ranges``) on the logarithms, or on the
values if one is not positive. In blocks of random order all contestants are fitted together
(``statistics.moderated``), and what they have in common by correlation widens the errors; else each
pair is a contrast of its own that allows for correlation (``compare.contrast``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from culvert.analysis.compare.contrast import (
    Contrast,
    more_repetitions,
    paired_contrast,
    unpaired_contrast,
)
from culvert.analysis.declared import competes
from culvert.analysis.design import Blocking, Design
from culvert.analysis.line import NO_LINE, Line
from culvert.analysis.observations import CONTEXT, METRIC
from culvert.statistics.moderated import moderated
from culvert.statistics.ranges import closed, level_of_pair, range_p_values
from culvert.statistics.ranks import Rank, ranks_of
from culvert.statistics.serial import FEWEST, RAISED, RAISED_STOPPED, shared_inflation
from culvert.statistics.values import Array

ALPHA = 0.05
"""The family-wise error rate: that any two equal contestants of a column are found to differ."""


@dataclass(frozen=True)
class Paired:
    """Whether ``a`` and ``b`` differ significantly.

    ``contrast`` is that of a minus b (of logarithms, if ``logarithmic``), None with too few trials.
    ``p_value`` is adjusted for all pairs of the column and for the looks of a rule that could end
    the run. ``possible``: data of so many repetitions could show a difference. ``more`` repetitions
    would decide, None if no practical number would.
    """

    a: str
    b: str
    n: int
    contrast: Contrast | None
    logarithmic: bool
    p_value: float
    possible: bool
    level: float
    """The level of the interval: 0.95, or more if a rule could end the run."""
    more: int | None

    @property
    def apart(self) -> bool:
        return self.p_value <= ALPHA

    @property
    def above(self) -> bool:
        """Whether a is estimated to be above b."""
        return self.contrast is not None and self.contrast.estimate > 0

    def turned(self) -> Paired:
        """The same for b and a."""
        contrast = self.contrast
        if contrast is not None:
            contrast = replace(contrast, estimate=-contrast.estimate)
        return replace(self, a=self.b, b=self.a, contrast=contrast)


@dataclass(frozen=True)
class Column:
    """``pairs`` by both names, the first before the second by name."""

    pairs: Mapping[tuple[str, str], Paired]

    def between(self, a: str, b: str) -> Paired | None:
        """The decision on two contestants; None if they are not comparable."""
        if (a, b) in self.pairs:
            return self.pairs[a, b]
        found = self.pairs.get((b, a))
        return None if found is None else found.turned()

    def apart(self, a: str, b: str) -> bool:
        found = self.between(a, b)
        return found is not None and found.apart

    def ranks(self, names: Sequence[str], *, more_is_better: bool) -> dict[str, Rank]:
        """The range of ranks of each of ``names`` among them."""
        ahead = []
        for (a, b), pair in self.pairs.items():
            if pair.apart and a in names and b in names:
                ahead.append((a, b) if pair.above == more_is_better else (b, a))
        return ranks_of(names, ahead)


Key = tuple[str, ...]
"""Condition, measurement, parameters, metric, labels, unit."""


class Columns:
    """All columns of a run, each computed when it is first needed.

    ``observed`` as ``observations`` gives it, of all VPNs. Pairs across the ``line`` are
    not comparable.
    """

    def __init__(
        self, observed: pl.DataFrame, design: Design | None = None, line: Line = NO_LINE
    ) -> None:
        self.design = design or Design()
        self._observed = observed
        self.line = line
        self._found: dict[Key, Column] = {}

    def of(self, key: Sequence[str]) -> Column:
        """The column of (condition, measurement, parameters, metric, labels, unit)."""
        wanted = tuple(key)
        if wanted not in self._found:
            series = self._parts.get(wanted, {})
            self._found[wanted] = column(series, self.design, self.line)
        return self._found[wanted]

    @cached_property
    def _parts(self) -> dict[Key, dict[str, dict[int, float]]]:
        # A block has each cell once; if it is there twice, the median is used.
        keys = [*CONTEXT, *METRIC, "vpn", "block"]
        one = self._observed.group_by(keys).agg(pl.col("value").median()).sort("vpn", "block")
        found: dict[Key, dict[str, dict[int, float]]] = {}
        for *key, vpn, block, value in one.select(*keys, "value").iter_rows():
            _, measurement, _, metric, *_ = key
            if competes(vpn, metric, measurement):
                found.setdefault(tuple(key), {}).setdefault(vpn, {})[block] = value
        return found


def column(
    series: Mapping[str, Mapping[int, float]], design: Design, line: Line = NO_LINE
) -> Column:
    """Decide a column. ``series``: for each name its value by block, in the blocks' order."""
    names = sorted(series)
    pairs = [pair for pair in combinations(names, 2) if not line.crossed(pair)]
    if not pairs:
        return Column({})
    positive = all(value > 0 for found in series.values() for value in found.values())
    blocks = sorted({block for found in series.values() for block in found})
    values = np.array([[series[name].get(b, np.nan) for name in names] for b in blocks])
    if positive:
        values = np.log(values)
    place = {name: index for index, name in enumerate(names)}
    sides = [(place[a], place[b]) for a, b in pairs]
    if design.blocking is Blocking.RANDOM:
        raised = RAISED_STOPPED if design.looks.first else RAISED
        contrasts = _together(values, sides, raised)
    elif design.paired:
        contrasts = [
            paired_contrast(_known(values[:, a] - values[:, b]), cautious=True) for a, b in sides
        ]
    else:
        contrasts = [
            unpaired_contrast(_known(values[:, b]), _known(values[:, a])) for a, b in sides
        ]
    known = ~np.isnan(values)
    many = [
        int((known[:, a] & known[:, b]).sum())
        if design.paired
        else int(min(known[:, a].sum(), known[:, b].sum()))
        for a, b in sides
    ]
    p_values, among = _closed(contrasts, sides)
    return Column(
        {
            pair: _paired(pair, contrast, positive, n, p_value, among, design)
            for pair, contrast, n, p_value in zip(pairs, contrasts, many, p_values, strict=True)
        }
    )


def _together(
    values: Array, sides: Sequence[tuple[int, int]], raised: float
) -> list[Contrast | None]:
    """The contrast of each pair of columns of ``values`` (blocks, contestants), by one fit;
    ``raised`` as ``shared_inflation`` takes it."""
    fit = moderated(values)
    inflation = shared_inflation(fit.values, raised)
    found: list[Contrast | None] = []
    for a, b in sides:
        differences = _known(fit.values[:, a] - fit.values[:, b])
        n = differences.size
        if n < FEWEST:
            found.append(None)
            continue
        variance = (fit.variances[a] + fit.variances[b]) / n * inflation
        found.append(
            Contrast(
                estimate=float(differences.mean()),
                se=float(np.sqrt(variance)),
                df=max(n - 1.0, fit.df / inflation),
                n=n,
                effective=n / inflation,
                paired=True,
            )
        )
    return found


def _known(values: Array) -> Array:
    return values[~np.isnan(values)]


def _closed(
    contrasts: Sequence[Contrast | None], sides: Sequence[tuple[int, int]]
) -> tuple[list[float], int]:
    """Adjusted p values, 1 without a contrast; and among how many contestants.

    Where no value ever varies there is one chance for all pairs: that of the same few blocks.
    """
    p_values = [1.0 if one is None else one.p_two_sided() for one in contrasts]
    known = [one for one in contrasts if one is not None]
    tested = {place for side, one in zip(sides, contrasts, strict=True) if one for place in side}
    k = len(tested)
    if k < 3 or not any(one.se for one in known):
        return p_values, max(2, k)
    place = {index: rank for rank, index in enumerate(sorted(tested))}
    t = np.array([abs(one.estimate) / one.se if one.se else 0.0 for one in known])
    ranges = iter(range_p_values(t, np.array([one.df for one in known]), k).T)
    pairs_in_set = np.arange(3, k + 1) * np.arange(2, k) / 2
    found = np.zeros((k - 1, k, k))
    for (a, b), contrast, alone in zip(sides, contrasts, p_values, strict=True):
        if not {a, b} <= tested:
            continue
        as_range: Array | float = alone
        if contrast is not None:
            as_range = next(ranges)
            if not contrast.se:  # no scale to measure a range by: Bonferroni's correction
                as_range = np.minimum(1.0, alone * pairs_in_set)
        found[0, place[a], place[b]] = found[0, place[b], place[a]] = alone
        found[1:, place[a], place[b]] = found[1:, place[b], place[a]] = as_range
    adjusted = closed(found)
    return [
        1.0 if contrast is None else float(adjusted[place[a], place[b]])
        for (a, b), contrast in zip(sides, contrasts, strict=True)
    ], k


def _paired(
    pair: tuple[str, str],
    contrast: Contrast | None,
    logarithmic: bool,
    n: int,
    p_value: float,
    among: int,
    design: Design,
) -> Paired:
    looks = design.looks
    adjusted = looks.adjusted(p_value, n)
    return Paired(
        *pair,
        n=n,
        contrast=contrast,
        logarithmic=logarithmic,
        p_value=adjusted,
        possible=contrast is not None and looks.level(n) > 0,
        level=1 - (looks.level(n) or ALPHA),
        more=0 if adjusted <= ALPHA else _more(contrast, n, among, design),
    )


def _more(contrast: Contrast | None, n: int, among: int, design: Design) -> int | None:
    """Repetitions that would decide; without an estimate, the least number that could."""
    looks, enough = design.looks, design.fewest
    short = max(0, enough - n)
    if contrast is None:
        return max(1, short)
    alpha = level_of_pair(looks.level(max(n, enough)), among) / 2
    more = more_repetitions(contrast, abs(contrast.estimate), alpha)
    return None if more is None else max(more, short)
