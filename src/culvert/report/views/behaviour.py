"""Cells whose trials are correlated, drift or jump: one sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from culvert.analysis.declared import figures
from culvert.report.labels import Labels
from culvert.report.model import Data
from culvert.report.numbers import grouped
from culvert.report.sentences import joined


def behaviour_sentences(data: Data) -> tuple[str, ...]:
    """For each cell and figure that is correlated, drifts or jumps; empty where none does.

    Figures are those of ``figures()``; of a measurement that has none of them, every metric without
    labels.
    ``wireguard/go, TCP, goodput_bps: not independent: 20 trials, effective sample size 6; ...``
    """
    plain = data.summary.filter(pl.col("labels") == "{}")
    figure = pl.col("metric").is_in(sorted(figures()))
    flagged = plain.filter(
        figure | ~figure.any().over("measurement"),
        pl.col("correlated") | pl.col("drifts") | (pl.col("jumps") != ""),
    )
    return tuple(_sentence(row, data.labels) for row in flagged.iter_rows(named=True))


def _sentence(row: Mapping[str, Any], labels: Labels) -> str:
    cell = labels.cell(row["condition"], row["measurement"], row["parameters"])
    parts = []
    if row["correlated"]:
        effective_n = grouped(max(1, round(row["effective_n"])), 0)
        parts.append(f"not independent: {row['n']} trials, effective sample size {effective_n}")
    if row["drifts"]:
        parts.append(f"it drifts {'upwards' if row['tau'] > 0 else 'downwards'}")
    if row["jumps"]:
        parts.append(f"it jumps at trial {_numbers(row['jumps'].split())}")
    return f"{row['vpn']}, {cell}, {row['metric']}: {'; '.join(parts)}"


def _numbers(jumps: Sequence[str]) -> str:
    if len(jumps) > 4:
        return f"{', '.join(jumps[:3])} and {len(jumps) - 3} more"
    return joined(jumps)
