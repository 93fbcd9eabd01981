"""Which VPNs differ in one figure, and which is best: estimate, interval and test belong together.

Order inside a block is random, so without a difference two VPNs of a block are exchangeable,
whatever the machine did. Each pair is compared by its differences inside blocks, with Student's t.

- **Best**: the VPN with the best mean, if it differs from every other one at the level of two
  samples. No correction for the number of VPNs is needed: two best ones that are equal are the
  worst case (Gutmann and Maymin, Annals of Statistics 15, 1987, who compare with the second best
  alone and assume equal scatter; here each other one is compared, with its own scatter).
- **All other pairs**: the same test, corrected for their number (Holm). Beside a best VPN they are
  the pairs of the others. Without one, two VPNs that are both worse than the first are tested at a
  tenth of the level: the 5 % are spent where the first may be equal to another one.

The interval of a pair has the level at which it was tested: it excludes "no difference" exactly if
the two are found to differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np

from culvert.decide.contrast import (
    Contrast,
    more_repetitions,
    paired_contrast,
    unpaired_contrast,
)
from culvert.decide.scatter import scatter_of, without_gross
from culvert.metrics import Better
from culvert.statistics.holm import factors
from culvert.statistics.looks import ONCE, Looks
from culvert.statistics.ranks import Rank, ranks_of
from culvert.statistics.serial import FEWEST, lag1_p_value
from culvert.statistics.values import Array, ratio_of

ALPHA = 0.05
"""How often a false best one is stated at most; and how often any false difference."""
BEHIND = 10
"""By what the p value of two VPNs is multiplied that are both worse than a first one that is not
decided to be the best. Then at most 5 % of the columns have a false difference or a false best."""
CORRELATED = 0.01
"""Differences of neighbouring blocks whose correlation has a smaller p value are named."""


class Blocking(StrEnum):
    """What trials with the same block number have in common."""

    RANDOM = "blocks in random order"
    """Measured together, each block in its own random order: a disturbance longer than a trial does
    not correlate the differences."""
    LISTED = "blocks in the listed order"
    """Measured together, always in the same order: each cell always follows the same one."""
    NONE = "no blocks"
    """Measured separately, as in imports: trials are not paired."""


@dataclass(frozen=True)
class Pair:
    """Whether ``a`` and ``b`` differ.

    ``estimate`` is the mean of a minus b (of logarithms, if ``logarithmic``), None without a
    common block; ``contrast`` has its error, None with too few blocks. ``factor`` corrects the p
    value for the other pairs and for the looks of a rule that could end the run; ``looks`` is the
    part for the looks. ``possible``: data of so many repetitions could show a difference.
    ``more`` repetitions would decide, None if no practical number would.
    """

    a: str
    b: str
    n: int
    estimate: float | None
    contrast: Contrast | None
    logarithmic: bool
    factor: float
    looks: float
    possible: bool
    more: int | None

    @property
    def p_value(self) -> float:
        """Adjusted; 1 where nothing was tested."""
        if self.contrast is None or not self.possible:
            return 1.0
        return min(1.0, self.contrast.p_two_sided() * self.factor)

    @property
    def level(self) -> float:
        """That of the interval."""
        return 1 - ALPHA / self.factor

    @property
    def apart(self) -> bool:
        return self.p_value <= ALPHA

    @property
    def above(self) -> bool:
        """Whether a is estimated to be above b."""
        return self.estimate is not None and self.estimate > 0

    @property
    def correlated(self) -> bool:
        """Whether the differences of neighbouring blocks are significantly correlated. The error of
        trials without blocks allows for their correlation."""
        return self.contrast is not None and self.contrast.paired and self.contrast.correlated

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval of the estimate; it excludes 0 exactly if the two differ. None with too few
        blocks, and where nothing scatters."""
        if self.contrast is None or not self.possible or not self.contrast.se:
            return None
        return self.contrast.interval(self.level)

    @property
    def ratio(self) -> tuple[float, float | None, float | None] | None:
        """a over b with its interval; None with too few blocks, and for what may be 0."""
        if self.contrast is None or not self.logarithmic:
            return None
        ends = self.ends
        low, high = (None, None) if ends is None else map(ratio_of, ends)
        return ratio_of(self.contrast.estimate), low, high

    def turned(self) -> Pair:
        """The decision on the pair with a and b exchanged."""
        estimate, contrast = self.estimate, self.contrast
        if contrast is not None:
            contrast = replace(contrast, estimate=-contrast.estimate)
        estimate = None if estimate is None else -estimate
        return replace(self, a=self.b, b=self.a, estimate=estimate, contrast=contrast)


@dataclass(frozen=True)
class Decision:
    """``pairs`` by both names, the first before the second by name. ``best``: the VPN that is
    decided to be the best of those that compete; None if none is, or if no direction is better."""

    pairs: Mapping[tuple[str, str], Pair]
    best: str | None = None

    def between(self, a: str, b: str) -> Pair | None:
        """The decision on two VPNs; None if they are not comparable."""
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


def decide(
    series: Mapping[str, Mapping[int, float]],
    *,
    blocking: Blocking = Blocking.RANDOM,
    looks: Looks = ONCE,
    better: Better = Better.NEITHER,
    beside: Collection[str] = (),
    comparable: Callable[[tuple[str, str]], bool] = lambda _: True,
) -> Decision:
    """Decide a figure. ``series``: for each VPN its values by block.

    Those in ``beside``, such as the baseline, are compared but do not compete for the best.
    ``looks`` are those of the rule that could end the run.
    """
    names = sorted(name for name, found in series.items() if found)
    pairs = [pair for pair in combinations(names, 2) if comparable(pair)]
    if not pairs:
        return Decision({})
    blocks = sorted({block for found in series.values() for block in found})
    values = np.array([[series[name].get(b, np.nan) for name in names] for b in blocks])
    logarithmic = bool((values[~np.isnan(values)] > 0).all())
    if logarithmic:
        values = np.log(values)
    place = {name: index for index, name in enumerate(names)}
    sides = [(place[a], place[b]) for a, b in pairs]
    tested = dict(zip(pairs, _contrasts(values, sides, blocking), strict=True))
    competing = [name for name in names if name not in beside]
    first = _first(values, names, competing, better)
    rivals = [pair for pair in pairs if first in pair and {*pair} <= {*competing}]
    won = len(rivals) == len(competing) - 1 > 0 and all(
        _ahead(first, pair, tested[pair], better, looks) for pair in rivals
    )
    family = {
        pair: one
        for pair, one in tested.items()
        if one is not None and not (won and pair in rivals)
    }
    corrections = dict(zip(family, _corrections(tested, family), strict=True))
    found = {}
    for pair, (a, b) in zip(pairs, sides, strict=True):
        factor = corrections.get(pair, 1.0)
        one = _pair(pair, values[:, a], values[:, b], tested[pair], factor, blocking, looks)
        found[pair] = replace(one, logarithmic=logarithmic)
    behind = set() if won or first is None else _behind(first, found) & {*competing}
    for pair, one in found.items():
        factor = BEHIND if {*pair} <= behind else 1
        final = replace(one, factor=one.factor * factor)
        if not final.apart:
            many = factor * len(rivals if pair in rivals else family)
            final = replace(final, more=_more(final, many, looks))
        found[pair] = final
    return Decision(found, first if won else None)


def _pair(
    names: tuple[str, str],
    a: Array,
    b: Array,
    contrast: Contrast | None,
    factor: float,
    blocking: Blocking,
    looks: Looks,
) -> Pair:
    estimate = None
    if blocking is Blocking.NONE:
        a, b = _known(a), _known(b)
        n = min(a.size, b.size)
        if n:
            estimate = float(a.mean() - b.mean())
    else:
        differences = _known(a - b)
        n = differences.size
        if n:
            estimate = float(differences.mean())
    level = looks.level(n)
    cost = looks.alpha / level if level else 1.0
    return Pair(
        *names,
        n=n,
        estimate=contrast.estimate if contrast else estimate,
        contrast=contrast,
        logarithmic=False,
        factor=factor * cost,
        looks=cost,
        possible=contrast is not None and level > 0,
        more=0,
    )


def _contrasts(
    values: Array, sides: Sequence[tuple[int, int]], blocking: Blocking
) -> list[Contrast | None]:
    """Of each pair of columns of ``values`` (blocks, VPNs); None with too few."""
    match blocking:
        case Blocking.RANDOM:
            return _together(values, sides)
        case Blocking.LISTED:
            return [
                paired_contrast(_known(values[:, a] - values[:, b]), cautious=True)
                for a, b in sides
            ]
        case Blocking.NONE:
            return [unpaired_contrast(_known(values[:, b]), _known(values[:, a])) for a, b in sides]


def _together(values: Array, sides: Sequence[tuple[int, int]]) -> list[Contrast | None]:
    """By one fit of all VPNs with enough trials."""
    enough = np.flatnonzero((~np.isnan(values)).sum(axis=0) >= FEWEST)
    if enough.size < 2:
        return [None] * len(sides)
    kept = without_gross(values[:, enough])
    scatter = scatter_of(kept)
    place = {int(column): index for index, column in enumerate(enough)}
    found: list[Contrast | None] = []
    for a, b in sides:
        if a not in place or b not in place:
            found.append(None)
            continue
        differences = _known(kept[:, place[a]] - kept[:, place[b]])
        n = differences.size
        if n < FEWEST:
            found.append(None)
            continue
        se, df = scatter.of_difference(place[a], place[b], n)
        p_value = lag1_p_value(differences)
        correlated = p_value is not None and p_value < CORRELATED
        estimate = float(differences.mean())
        found.append(Contrast(estimate, se, df, n, float(n), paired=True, correlated=correlated))
    return found


def _known(values: Array) -> Array:
    return values[~np.isnan(values)]


def _corrections(
    tested: Mapping[tuple[str, str], Contrast | None], family: Mapping[tuple[str, str], Contrast]
) -> list[float]:
    """Holm's. Where no value ever varies there is one chance for all pairs: that of the same few
    blocks."""
    if not any(one.se for one in tested.values() if one is not None):
        return [1.0] * len(family)
    return factors([one.p_two_sided() for one in family.values()])


def _behind(first: str, pairs: Mapping[tuple[str, str], Pair]) -> set[str]:
    """Those that differ from the first."""
    return {one for pair, own in pairs.items() if first in pair and own.apart for one in pair} - {
        first
    }


def _first(
    values: Array, names: Sequence[str], competing: Sequence[str], better: Better
) -> str | None:
    """The VPN with the best mean, over the blocks that have all that compete."""
    if len(competing) < 2 or better is Better.NEITHER:
        return None
    own = values[:, [names.index(name) for name in competing]]
    whole = own[~np.isnan(own).any(axis=1)]
    means = np.nanmean(whole if len(whole) >= FEWEST else own, axis=0)
    return competing[int(np.argmax(means) if better is Better.MORE else np.argmin(means))]


def _ahead(
    first: str | None,
    pair: tuple[str, str],
    contrast: Contrast | None,
    better: Better,
    looks: Looks,
) -> bool:
    """Whether ``first`` is better than the other one of the pair, at the level of two samples."""
    if contrast is None or looks.adjusted(contrast.p_two_sided(), contrast.n) > ALPHA:
        return False
    return (contrast.estimate > 0) == ((first == pair[0]) == (better is Better.MORE))


def _more(pair: Pair, many: int, looks: Looks) -> int | None:
    """Repetitions that would decide; without an estimate, the least number that could."""
    enough = max(FEWEST, looks.silent)
    short = max(0, enough - pair.n)
    if pair.contrast is None:
        return max(1, short)
    alpha = looks.level(max(pair.n, enough)) / (2 * many)
    more = more_repetitions(pair.contrast, abs(pair.contrast.estimate), alpha)
    return None if more is None else max(more, short)
