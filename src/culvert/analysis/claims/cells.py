"""The cells that a claim speaks of: which the study plans, and what became of each."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from culvert.analysis.observations import BASELINE, observations
from culvert.study.claim_test import VpnSide, Where
from culvert.study.parameters import canonical_json
from culvert.study.study import Study

Series = Mapping[int, float]
"""Values by block, in the blocks' order."""


@dataclass(frozen=True)
class Context:
    """What a cell is apart from its VPN and measurement."""

    condition: str
    parameters: str

    def agrees(self, other: Context, left: Where, right: Where) -> bool:
        """Whether both differ only in what the sides of a comparison name."""
        named = {key for where in (left, right) for key, _ in where.parameters}
        free = left.condition is None and right.condition is None
        return (not free or self.condition == other.condition) and _without(
            self.parameters, named
        ) == _without(other.parameters, named)


class Cells:
    """What was planned and what was seen. ``rows`` are the journal's; only ``metrics`` are kept."""

    def __init__(self, study: Study, rows: pl.DataFrame, metrics: Collection[str]) -> None:
        self._study = study
        self._series = _series(rows.filter(pl.col("metric").is_in(list(metrics))))
        self._counted, self._reasons = _outcomes(rows)

    def contexts(self, side: VpnSide, measurement: str) -> list[Context]:
        """Where the study plans the measurement for this side."""
        return [
            Context(condition, one.parameters)
            for condition, requested in self._study.requested.items()
            if side.where.condition in (None, condition)
            for one in requested
            if one.kind == measurement
            and _has(one.parameters, side.where)
            and not self._study.excludes(side.vpn, condition, one)
        ]

    def beside(self, side: VpnSide, measurement: str, context: Context, where: Where) -> Context:
        """The context of a side that belongs to one that was found by ``where``."""
        found = (
            one
            for one in self.contexts(side, measurement)
            if one.agrees(context, side.where, where)
        )
        return next(found, context)

    def series(self, side: VpnSide, context: Context, measurement: str, metric: str) -> Series:
        """The trials that count; empty where there are none, or where labels name several series.

        Labels that are not named may be anything, if there is one series only.
        """
        cell = (side.vpn, context.condition, measurement, context.parameters)
        found = self._series.get((*cell, metric), {})
        wanted = set(side.where.labels)
        exact = [series for labels, series in found.items() if labels == wanted]
        wider = [series for labels, series in found.items() if wanted and labels >= wanted]
        return next(iter(exact or (wider if len(wider) == 1 else ())), {})

    def lacking(self, side: VpnSide, context: Context, measurement: str, metric: str) -> str:
        """Why a cell has no figure; empty if it may still get one."""
        vpn = side.vpn
        cell = (vpn, context.condition, measurement, context.parameters)
        if vpn not in (*self._study.vpns, BASELINE):
            return f"{vpn} is not in this scale of the study"
        reason = self._study.lacking.reason(vpn, context.condition, measurement)
        if reason:
            return reason
        if cell in self._counted:
            labels = ", ".join(f"{key}={value}" for key, value in side.where.labels)
            return f"{vpn}: its trials have no single {metric}{f' with {labels}' if labels else ''}"
        told = self._reasons.get(cell)
        return f"{vpn}: {told}" if told else ""


Labels = frozenset[tuple[str, str]]


def _series(rows: pl.DataFrame) -> dict[tuple[str, ...], dict[Labels, Series]]:
    keys = ["vpn", "condition", "measurement", "parameters", "metric"]
    grouped = (
        observations(rows)
        # A block holds a cell once; were it there twice, the middle stands for both.
        .group_by([*keys, "labels", "block"])
        .agg(pl.col("value").median())
        .sort([*keys, "labels", "block"])
        .group_by([*keys, "labels"], maintain_order=True)
        .agg("block", "value")
    )
    found: dict[tuple[str, ...], dict[Labels, Series]] = {}
    for *key, labels, blocks, values in grouped.iter_rows():
        named = frozenset((name, str(value)) for name, value in json.loads(labels).items())
        found.setdefault(tuple(key), {})[named] = dict(zip(blocks, values, strict=True))
    return found


def _outcomes(rows: pl.DataFrame) -> tuple[set[tuple[str, ...]], dict[tuple[str, ...], str]]:
    """Cells with a trial that is ok; of the others the status and reason of the first."""
    keys = ["vpn", "condition", "measurement", "parameters"]
    told = rows.group_by(keys, maintain_order=True).agg(
        good=(pl.col("status") == "ok").any(),
        status=pl.col("status").first(),
        reason=pl.col("reason").first(),
    )
    counted: set[tuple[str, ...]] = set()
    reasons: dict[tuple[str, ...], str] = {}
    for *key, good, status, reason in told.iter_rows():
        if good:
            counted.add(tuple(key))
        else:
            reasons[tuple(key)] = f"{status}, {reason}" if reason else str(status)
    return counted, reasons


def _has(parameters: str, where: Where) -> bool:
    given = json.loads(parameters)
    return all(
        key in given and canonical_json(given[key]) == value for key, value in where.parameters
    )


def _without(parameters: str, keys: set[str]) -> str:
    return canonical_json({k: v for k, v in json.loads(parameters).items() if k not in keys})


def matching(
    left: Sequence[Context], right: Sequence[Context], one: Where, other: Where
) -> list[tuple[Context, Context]]:
    """Contexts of both sides that belong together: equal but for what the sides name.

    Where there are none, but what is named leaves one cell on each side, it is these two.
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
