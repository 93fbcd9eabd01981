"""The papers' claims against the values that the same papers print: a slip in either shows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from culvert.analysis.declared import better_of
from culvert.metrics import Better
from culvert.study.claims.test import (
    BestOf,
    ClaimComparison,
    ClaimTest,
    Quantity,
    Relation,
    Side,
    Where,
)
from tests.study.test_papers import STUDIES, study

COMPARED = {
    "dekker2020-goodput": 100,
    "dekker2020-latency": 50,
    "dekker2020-initiation": 30,
    "kjorveziroski2024": 120,
}
"""Comparisons with a printed value on each side, at least."""
BELIED_BY_THE_PAPER = {"tcp-delay-350ms-headscale-zerotier-above-netbird"}
"""Section 5 says so of every delay; table A1 has Netbird ahead at 350 ms."""

Values = Mapping[tuple[str, str, str, Where], float]


@pytest.mark.parametrize("name", STUDIES)
def test_claims_agree_with_the_values_that_the_paper_prints(name: str) -> None:
    loaded = study(name)
    values: dict[tuple[str, str, str, Where], float] = {}
    for (
        one
    ) in loaded.published:  # the first of those for one cell: it stands nearest to its section
        values.setdefault((one.vpn, one.measurement, one.metric, one.where), one.value)
    belied, compared = set(), 0
    for claim in loaded.file.claim:
        test = loaded.tests[claim.id]
        for comparison in test.comparisons:
            left, right = _value(comparison.left, test, values), None
            if left is not None:
                right = _value(comparison.right, test, values)
            if left is None or right is None:
                continue
            compared += 1
            if not _holds(comparison, left, right, claim.margin):
                belied.add(claim.id)
    assert belied == BELIED_BY_THE_PAPER & set(loaded.tests)
    assert compared >= COMPARED.get(name, 0)


def _value(side: Side, test: ClaimTest, values: Values) -> float | None:
    if isinstance(side, Quantity):
        return side.value
    if isinstance(side, BestOf):
        found = [_value(one, test, values) for one in side.vpns]
        known = [value for value in found if value is not None]
        best = max if better_of(test.metric) is Better.MORE else min
        return best(known) if len(known) == len(found) else None
    return values.get((side.vpn, test.measurement, test.metric, side.where))


def _holds(one: ClaimComparison, left: float, right: float, margin: float) -> bool:
    match one.relation:
        case Relation.MORE:
            return left > right
        case Relation.LESS:
            return left < right
        case Relation.AT_LEAST:
            return left >= one.factor * right
        case Relation.AT_MOST:
            return left <= one.factor * right
        case Relation.WITHIN:
            return abs(left / right - 1) <= one.share
        case Relation.SAME:
            return abs(left / right - 1) <= margin
