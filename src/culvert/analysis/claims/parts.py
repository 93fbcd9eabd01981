"""The parts of a claim: its comparisons, tested in every context that they name. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from culvert.analysis.claims.cells import Cells, Context, Series, matching
from culvert.analysis.claims.relation import Sides, Tested, answered, tested
from culvert.analysis.claims.verdict import ALPHA, Lack, Part
from culvert.analysis.column import column
from culvert.analysis.declared import better_of
from culvert.analysis.design import Design
from culvert.analysis.line import Line
from culvert.decide.decision import Pair
from culvert.metrics import Better
from culvert.statistics.looks import Looks
from culvert.statistics.serial import FEWEST
from culvert.study.claims.test import BestOf, ClaimComparison, ClaimTest, Quantity, Side, VpnSide


@dataclass(frozen=True)
class Terms:
    """``margin`` is that of "no different from"; ``looks`` are those at the claims."""

    margin: float
    looks: Looks
    line: Line
    design: Design


def parts_of(test: ClaimTest, cells: Cells, terms: Terms) -> Iterator[Part]:
    """One for each comparison and context; with the reason, where it cannot be tested."""
    for comparison in test.comparisons:
        why = _across(comparison, terms.line)
        if why:
            yield Part(str(comparison), "", "{}", lack=Lack(why))
            continue
        contexts = list(_contexts(comparison, cells, test.measurement))
        if not contexts:
            why = f"the study plans no cell of {test.measurement} for both sides"
            yield Part(str(comparison), "", "{}", lack=Lack(why))
        for left, right in contexts:
            if terms.line.why and not cells.one_processor(left, right):
                why = (
                    f"{terms.line.why}, nor between processors: the guest has one, of its own kind"
                )
                yield Part(str(comparison), left.condition, left.parameters, lack=Lack(why))
                continue
            yield _Compared(comparison, left, right, test, cells, terms).part()


def _across(comparison: ClaimComparison, line: Line) -> str:
    """Why both sides are not comparable in this run; empty if they are."""
    sides = (comparison.left, comparison.right)
    constant = any(isinstance(side, Quantity) for side in sides)
    return line.objection((one.vpn for side in sides for one in _vpns(side)), constant=constant)


def _contexts(
    comparison: ClaimComparison, cells: Cells, measurement: str
) -> Iterator[tuple[Context, Context]]:
    sides = [_vpns(side) for side in (comparison.left, comparison.right)]
    if not sides[0] or not sides[1]:
        one = (sides[0] or sides[1])[0]
        yield from ((context, context) for context in cells.contexts(one, measurement))
        return
    left, right = sides[0][0], sides[1][0]
    yield from matching(
        cells.contexts(left, measurement),
        cells.contexts(right, measurement),
        left.where,
        right.where,
    )


def _vpns(side: Side) -> tuple[VpnSide, ...]:
    if isinstance(side, BestOf):
        return side.vpns
    return (side,) if isinstance(side, VpnSide) else ()


@dataclass(frozen=True)
class _Compared:
    """A comparison, each side in its context."""

    comparison: ClaimComparison
    left: Context
    right: Context
    test: ClaimTest
    cells: Cells
    terms: Terms

    def part(self) -> Part:
        part = Part(str(self.comparison), self.left.condition, self.left.parameters)
        both: list[Series | float] = []
        for side, context in (
            (self.comparison.left, self.left),
            (self.comparison.right, self.right),
        ):
            value = self._value(side, context)
            if isinstance(value, _Missing):
                return replace(part, lack=value.lack, waiting=value.waiting)
            both.append(value)
        sides = Sides.of(
            both[0],
            both[1],
            absolute=self.comparison.by is not None,
            blocked=self.terms.design.paired and self.left == self.right,
            cautious=self.terms.design.cautious,
        )
        pair = self._column_pair()
        if pair is not None and pair.logarithmic == sides.logarithmic:
            sides = replace(sides, decided=pair)
            outcome = answered(self.comparison, pair)
            if outcome is not None:
                return _by_column(part, sides, pair, outcome)
        return self._tested(part, sides)

    def _value(self, side: Side, context: Context) -> Series | float | _Missing:
        """The quantity, or the series of the VPN; of several the best."""
        if isinstance(side, Quantity):
            return float(side.value)
        metric, measurement = self.test.metric, self.test.measurement
        candidates = _vpns(side)
        found = []
        for one in candidates:
            here = self.cells.beside(one, measurement, context, candidates[0].where)
            series = self.cells.series(one, here, measurement, metric)
            if not series:
                lack = self.cells.lack(one, here, measurement, metric)
                yet = Lack(f"{one.vpn} has no {metric} yet")
                return _Missing(lack or yet, waiting=lack is None)
            found.append(series)
        sign = -1.0 if better_of(metric, measurement) is Better.LESS else 1.0
        return max(found, key=lambda series: sign * math.fsum(series.values()) / len(series))

    def _column_pair(self) -> Pair | None:
        """The column's decision on two VPNs in one cell; None for other comparisons."""
        one, other = self.comparison.left, self.comparison.right
        if not (isinstance(one, VpnSide) and isinstance(other, VpnSide)) or self.left != self.right:
            return None
        if set(one.where.labels) != set(other.where.labels):
            return None
        metric, measurement = self.test.metric, self.test.measurement
        series = self.cells.beside_all(one, self.left, measurement, metric)
        better = better_of(metric, measurement)
        found = column(series, self.terms.design, better, self.terms.line)
        pair = found.between(one.vpn, other.vpn)
        return pair if pair is not None and pair.contrast is not None else None

    def _tested(self, part: Part, sides: Sides) -> Part:
        looks, n = self.terms.looks, sides.n
        outcome = tested(self.comparison, sides, self.terms.margin, looks.level(n))
        if outcome is None:
            lack = Lack(f"{n} of at least {FEWEST} repetitions")
            return replace(part, n=n, paired=sides.paired, more=FEWEST - n, waiting=True, lack=lack)
        # The best was selected from the same data.
        picked = math.prod(
            len(_vpns(side)) or 1 for side in (self.comparison.left, self.comparison.right)
        )
        drifts = sides.drifts()
        return replace(
            part,
            effect=sides.effect(1 - replace(looks, alpha=ALPHA).level(n)),
            p_supports=looks.adjusted(picked * outcome.p_supports, n),
            p_contradicts=looks.adjusted(picked * outcome.p_contradicts, n),
            n=n,
            paired=sides.paired and not sides.constant,
            more=None if drifts else outcome.more,
            drifts=drifts,
        )


def _by_column(part: Part, sides: Sides, pair: Pair, outcome: Tested) -> Part:
    drifts = sides.drifts()
    return replace(
        part,
        effect=sides.effect(pair.level),
        p_supports=outcome.p_supports,
        p_contradicts=outcome.p_contradicts,
        n=pair.n,
        paired=sides.paired,
        more=None if drifts else outcome.more,
        drifts=drifts,
        by_column=True,
    )


@dataclass(frozen=True)
class _Missing:
    lack: Lack
    waiting: bool
