"""The cells of a claim: which of them the study plans, and their results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from culvert.analysis.claims.verdict import Lack
from culvert.analysis.declared import competes
from culvert.analysis.observations import observations
from culvert.json_text import read_json
from culvert.results import Parameters
from culvert.study.claims.test import VpnSide, Where
from culvert.study.conditions.processors import PROCESSOR_KEYS
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE

Series = Mapping[int, float]
"""Values by block, in the blocks' order."""


@dataclass(frozen=True)
class Context:
    """The condition and parameters of a cell, without VPN and measurement."""

    condition: str
    parameters: str

    def agrees(self, other: Context, left: Where, right: Where) -> bool:
        """Whether both differ only in keys that the sides of a comparison name."""
        named = {key for where in (left, right) for key, _ in where.parameters}
        free = left.condition is None and right.condition is None
        mine, theirs = (Parameters(one.parameters).without(named) for one in (self, other))
        return (not free or self.condition == other.condition) and mine == theirs


class Cells:
    """The planned and the measured cells. ``rows`` are the journal's; only ``metrics`` are kept.

    ``imported``, ``ended``: missing cells will not be measured later.
    """

    def __init__(
        self,
        study: Study,
        rows: pl.DataFrame,
        metrics: Collection[str],
        *,
        imported: bool = False,
        ended: bool = False,
    ) -> None:
        self._study = study
        self._imported = imported
        self._ended = ended
        self._series = _series(rows.filter(pl.col("metric").is_in(list(metrics))))
        self._counted, self._reasons = _outcomes(rows)
        self._unplanned = _unplanned(study, {*self._counted, *self._reasons})

    def contexts(self, side: VpnSide, measurement: str) -> list[Context]:
        """The contexts in which the study plans the measurement for this side."""
        return [
            Context(condition, one.parameters)
            for condition, requested in self._study.requested.items()
            if side.where.condition in (None, condition)
            for one in requested
            if one.kind == measurement
            and all(Parameters(one.parameters).has(*given) for given in side.where.parameters)
            and not self._study.excludes(side.vpn, condition, one)
        ]

    def beside(self, side: VpnSide, measurement: str, context: Context, where: Where) -> Context:
        """The context of this side that corresponds to one found by ``where``."""
        found = (
            one
            for one in self.contexts(side, measurement)
            if one.agrees(context, side.where, where)
        )
        return next(found, context)

    def one_processor(self, left: Context, right: Context) -> bool:
        """Whether both conditions set the processors equally."""
        return len({_processors(self._study, one.condition) for one in (left, right)}) == 1

    def series(self, side: VpnSide, context: Context, measurement: str, metric: str) -> Series:
        """The trials that count; empty if there are none, or if labels leave several series.

        Labels that are not named may have any value, if there is only one series.
        """
        found = self._series.get((*self.cell(side.vpn, context, measurement), metric), {})
        wanted = set(side.where.labels)
        exact = [series for labels, series in found.items() if labels == wanted]
        wider = [series for labels, series in found.items() if wanted and labels >= wanted]
        return next(iter(exact or (wider if len(wider) == 1 else ())), {})

    def beside_all(
        self, side: VpnSide, context: Context, measurement: str, metric: str
    ) -> dict[str, Series]:
        """The column of a side: the series of every VPN in the same cell, by VPN."""
        _, *where = self.cell(side.vpn, context, measurement)
        labels = frozenset(side.where.labels)
        return {
            vpn: found[labels]
            for (vpn, *key), found in self._series.items()
            if key == [*where, metric] and labels in found and competes(vpn, metric, measurement)
        }

    def cell(self, vpn: str, context: Context, measurement: str) -> Cell:
        """The cell in the rows: the study's, or the only cell of an import that matches it.

        Results of other tools rarely include all parameters of a study: common ones must be equal.
        """
        planned = (vpn, context.condition, measurement, context.parameters)
        others = self._unplanned.get(planned[:3], ())
        if planned in self._counted or planned in self._reasons or not others:
            return planned
        fitting = [one for one in others if _fits(one, context.parameters)]
        return (*planned[:3], fitting[0]) if len(fitting) == 1 else planned

    def lack(self, side: VpnSide, context: Context, measurement: str, metric: str) -> Lack | None:
        """Why a cell has no value; None if it may still get one."""
        vpn = side.vpn
        cell = self.cell(vpn, context, measurement)
        if vpn not in (*self._study.vpns, BASELINE):
            return Lack(f"{vpn} is not in this scale of the study")
        if cell in self._counted:
            labels = ", ".join(f"{key}={value}" for key, value in side.where.labels)
            where = f" with {labels}" if labels else ""
            return Lack(f"its trials have no single {metric}{where}", vpn)
        recorded = self._reasons.get(cell)
        if self._imported and not recorded:
            return Lack(f"the imported files have no {measurement} of {vpn}, {context.condition}")
        reason = self._study.lacking.reason(vpn, context.condition, measurement)
        if reason or recorded:
            return Lack(reason) if reason else Lack(recorded or "", vpn)
        why = f"the run has no trial of {measurement}, {context.condition}"
        return Lack(why, vpn, unmeasured=True) if self._ended else None


Labels = frozenset[tuple[str, str]]

Cell = tuple[str, str, str, str]
"""VPN, condition, measurement, parameters."""


def _series(rows: pl.DataFrame) -> dict[tuple[str, ...], dict[Labels, Series]]:
    keys = ["vpn", "condition", "measurement", "parameters", "metric"]
    grouped = (
        observations(rows)
        # A block has each cell once; if it is there twice, the median is used.
        .group_by([*keys, "labels", "block"])
        .agg(pl.col("value").median())
        .sort([*keys, "labels", "block"])
        .group_by([*keys, "labels"], maintain_order=True)
        .agg("block", "value")
    )
    found: dict[tuple[str, ...], dict[Labels, Series]] = {}
    for *key, labels, blocks, values in grouped.iter_rows():
        named = frozenset((name, str(value)) for name, value in read_json(labels).items())
        found.setdefault(tuple(key), {})[named] = dict(zip(blocks, values, strict=True))
    return found


def _unplanned(study: Study, cells: Iterable[Cell]) -> dict[tuple[str, str, str], list[str]]:
    """Parameters of unplanned cells, by VPN, condition and measurement."""
    planned = {
        (condition, one.kind, one.parameters)
        for condition, requested in study.requested.items()
        for one in requested
    }
    found: dict[tuple[str, str, str], list[str]] = {}
    for *where, parameters in sorted(cells):
        vpn, condition, measurement = where
        if (condition, measurement, parameters) not in planned:
            found.setdefault((vpn, condition, measurement), []).append(parameters)
    return found


def _fits(parameters: str, planned: str) -> bool:
    found, wanted = Parameters(parameters).values, Parameters(planned).values
    return all(value == wanted[key] for key, value in found.items() if key in wanted)


def _outcomes(rows: pl.DataFrame) -> tuple[set[Cell], dict[Cell, str]]:
    """Cells with a trial that is ok; of the others the status and reason of the first."""
    keys = ["vpn", "condition", "measurement", "parameters"]
    recorded = rows.group_by(keys, maintain_order=True).agg(
        good=(pl.col("status") == "ok").any(),
        status=pl.col("status").first(),
        reason=pl.col("reason").first(),
    )
    counted: set[Cell] = set()
    reasons: dict[Cell, str] = {}
    for vpn, condition, measurement, parameters, good, status, reason in recorded.iter_rows():
        cell = (vpn, condition, measurement, parameters)
        if good:
            counted.add(cell)
        else:
            reasons[cell] = f"{status}, {reason}" if reason else str(status)
    return counted, reasons


def _processors(study: Study, condition: str) -> str:
    keys = set(PROCESSOR_KEYS)
    return study.condition(condition).model_dump_json(include=keys)


def matching(
    left: Sequence[Context], right: Sequence[Context], one: Where, other: Where
) -> list[tuple[Context, Context]]:
    """Corresponding contexts of both sides: equal except for the keys that the sides name.

    If there are none, but the named keys leave one cell on each side, these two correspond.
    """
    found = [(mine, theirs) for mine in left for theirs in right if mine.agrees(theirs, one, other)]
    if found:
        return found
    if one.condition is not None or other.condition is not None:
        return [(left[0], right[0])] if len(left) == len(right) == 1 else []
    for condition in dict.fromkeys(context.condition for context in left):
        sides = [[c for c in side if c.condition == condition] for side in (left, right)]
        if len(sides[0]) == len(sides[1]) == 1:
            found.append((sides[0][0], sides[1][0]))
    return found
