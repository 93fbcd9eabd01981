"""Published values next to those measured here."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from culvert.analysis.claims.cells import Cells
from culvert.analysis.observations import CELL
from culvert.study.claims.claim import PublishedValue
from culvert.study.claims.test import VpnSide
from culvert.study.study import Study


@dataclass(frozen=True)
class PublishedFigure:
    """One published value and one matching cell.

    ``measured`` is the median over ``n`` trials in the unit of the published value, with its 95 %
    interval; None, with the reason in ``why``, if nothing was measured. ``ratio`` is measured
    over published.
    """

    published: PublishedValue
    condition: str
    parameters: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    ratio: float | None = None
    why: str = ""


def beside(
    study: Study, rows: pl.DataFrame, summary: pl.DataFrame, *, imported: bool = False
) -> list[PublishedFigure]:
    """Every published value of the study with the measured value, in the study's order.

    ``rows`` are the journal's, ``summary`` as ``summarise`` returns it, ``imported`` as in
    ``judge``.
    """
    if not study.published:
        return []
    cells = Cells(study, rows, (), imported=imported)
    figures = {
        row[:5]: row[5:]
        for row in summary.filter(pl.col("labels") == "{}")
        .select(*CELL, "metric", "median", "low", "high", "n")
        .iter_rows()
    }
    found = []
    for value in study.published:
        side = VpnSide(value.vpn, value.where)
        contexts = cells.contexts(side, value.measurement)
        if not contexts:
            why = "this study plans no such cell"
            found.append(PublishedFigure(value, value.where.condition or "", "{}", why=why))
        for context in contexts:
            key = cells.cell(value.vpn, context, value.measurement)
            figure = figures.get((*key, value.metric))
            if figure is None:
                lack = cells.lack(side, context, value.measurement, value.metric)
                reason = str(lack) if lack else "not measured yet"
                found.append(
                    PublishedFigure(value, context.condition, context.parameters, why=reason)
                )
                continue
            median, low, high, n = figure
            ratio = median / value.value if value.value else None
            found.append(
                PublishedFigure(
                    value, context.condition, context.parameters, median, low, high, n, ratio
                )
            )
    return found
