"""Columns: one metric in one context, every VPN against every other, decided together.

Card, badge, rank, pair table, claims and ``culvert compare`` all use this decision (``decide``):
whether two differ has one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import polars as pl

from culvert.analysis.declared import better_of, competes
from culvert.analysis.design import Design
from culvert.analysis.line import NO_LINE, Line
from culvert.analysis.observations import CONTEXT, METRIC
from culvert.decide.decision import Decision, decide
from culvert.metrics import Better
from culvert.study.vpn_id import bare

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
        self._found: dict[Key, Decision] = {}

    def of(self, key: Sequence[str]) -> Decision:
        """The column of (condition, measurement, parameters, metric, labels, unit)."""
        wanted = tuple(key)
        if wanted not in self._found:
            _, measurement, _, metric, *_ = wanted
            series = self._parts.get(wanted, {})
            better = better_of(metric, measurement)
            self._found[wanted] = column(series, self.design, better, self.line)
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
    series: Mapping[str, Mapping[int, float]],
    design: Design,
    better: Better,
    line: Line = NO_LINE,
) -> Decision:
    """Decide a column. ``series``: for each VPN its value by block."""
    return decide(
        series,
        blocking=design.blocking,
        looks=design.looks,
        better=better,
        beside=[vpn for vpn in series if bare(vpn)],
        comparable=lambda pair: not line.crossed(pair),
    )
