"""A paper's own tables and tests next to a full analysis, for an import of its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from culvert.journal.papers.kjorveziroski2024.published import PAPER, PROTOCOLS
from culvert.journal.papers.kjorveziroski2024.runs import BASE_1230, PAPER_CONDITIONS, paper_name
from culvert.report.model import Data, FigureTable
from culvert.report.views.comparisons import p_text
from culvert.study.vpn_id import BASELINE, bare

API = "k8s_api"
_DISTINGUISHED = 0.05
_TITLES = {"tcp": "Table A1: TCP, Mbit/s", "udp": "Table A2: UDP, Mbit/s"}
_COLUMNS = (
    *("test", "condition", "runs", "dropped", "mean", "sd", "cv", "\u00d7 1450", "\u00d7 1230"),
    *("median \u00d7 1230 [95 %]", "effective sample size", "note"),
)


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper; Culvert computed the last three columns."""

    title: str
    table: FigureTable


def paper_tables(data: Data) -> tuple[PaperTable, ...]:
    """Tables A1 and A2 with Culvert's analysis of each row; empty for other data."""
    found = []
    for protocol, name in PROTOCOLS.items():
        printed = data.foreign.get(f"{PAPER}-{name}")
        honest = data.foreign.get(f"{PAPER}-{name}-honest")
        if printed is not None and honest is not None:
            rows = tuple(_rows(printed, honest))
            found.append(PaperTable(_TITLES[protocol], FigureTable(_COLUMNS, "llrrrrrrrrrl", rows)))
    return tuple(found)


def _rows(printed: pl.DataFrame, honest: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    beside = {
        (paper_name(row["name"]), PAPER_CONDITIONS[row["condition"]]): row
        for row in honest.iter_rows(named=True)
        if "native" not in row["name"]
    }
    for row in printed.iter_rows(named=True):
        ours = beside[row["test"], row["condition"]]
        yield (
            *(row["test"], row["condition"], str(row["runs"]), str(row["dropped"] or "")),
            *(_two(row[name]) for name in ("mean", "sd", "cv", "times_1450", "times_1230")),
            _interval(ours, "times_1230"),
            f"{ours['effective_n']:.0f}",
            ours["note"] or "",
        )


def paper_tests(data: Data) -> tuple[str, ...]:
    """The p values of the paper's conclusions, each with its correct interpretation."""
    return tuple(_against_the_baseline(data)) + tuple(_pooled(data))


def _against_the_baseline(data: Data) -> Iterator[str]:
    """For the VPNs for which the paper's test does not reject equality with the baseline."""
    tests = data.foreign.get(f"{PAPER}-mann-whitney")
    if tests is None:
        return
    for row in tests.filter(pl.col("p") > _DISTINGUISHED).iter_rows(named=True):
        if BASE_1230 not in (row["a"], row["b"]):
            continue
        a, b = (name.partition("-")[2] for name in (row["a"], row["b"]))
        yield (
            f"{row['protocol'].upper()} without impairment, {b} and {a}: Mann-Whitney p = "
            f"{p_text(row['p'])}, as published. A test that does not reject does not show "
            f"equality; the interval of the ratio of their medians bounds the difference: "
            f"{_interval(row, 'ratio', 3)}"
        )


def _pooled(data: Data) -> Iterator[str]:
    """Requests from few runs, tested as if they were independent."""
    found = data.pooled.filter(pl.col("effective_n").is_not_null(), measurement=API)
    keys = ("condition", "parameters", "metric", "unit")
    baselines = found.filter(vpn=BASELINE).rows_by_key(keys, named=True, unique=True)
    for row in found.filter(pl.col("pooled_p").is_not_null()).iter_rows(named=True):
        base = baselines.get(tuple(row[key] for key in keys))
        if base is None:
            continue
        requests, effective_n = (
            f"{row[name] + base[name]:,.0f}".replace(",", " ")
            for name in ("pooled_n", "effective_n")
        )
        what = "baselines" if bare(row["vpn"]) else "cells"
        yield (
            f"Kubernetes API, {what} {BASELINE} and {row['vpn']}: Mann-Whitney p = "
            f"{p_text(row['pooled_p'])} over {requests} requests treated as independent, as "
            f"published. They come from {row['trials'] + base['trials']} runs, with an "
            f"effective sample size of {effective_n}; "
            f"over the means of the runs p = {p_text(row['p'])}"
        )


def _interval(row: Mapping[str, Any], name: str, places: int = 2) -> str:
    value, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    if value is None:
        return "\u2013"
    middle = f"{value:.{places}f}"
    return middle if low is None else f"{middle} [{low:.{places}f}, {high:.{places}f}]"


def _two(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:.2f}"
