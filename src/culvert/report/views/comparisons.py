"""Pairwise comparisons, and instruments beside each other, as tables of the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from culvert.analysis.declared import title_of
from culvert.analysis.instruments import InstrumentBeside, instruments_beside
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import scale_for
from culvert.report.sentences import CORRELATED, times
from culvert.units import plural

MOST = 200
"""Rows of a table in the page; tables/ has all."""


def comparison_table(data: Data) -> FigureTable:
    """Every pair of VPNs for the metrics of the headline."""
    found = data.main_comparisons
    columns = (
        *("Cell", "Metric", "A", "B", "A / B [95 %]", "p, all pairs of the column", ""),
        *("A less B", "95 %", "Cliff's delta", "p, Mann-Whitney, unpaired, Holm"),
    )
    rows = tuple(_comparison(data, row) for row in found.head(MOST).iter_rows(named=True))
    return FigureTable(columns, "llllrrlrrrr", rows)


def _comparison(data: Data, row: Mapping[str, Any]) -> tuple[str, ...]:
    shift, low, high = row["shift"], row["shift_low"], row["shift_high"]
    scale = scale_for(row["unit"], [abs(shift)])
    ratio = ""
    if row["ratio"] is not None:
        ratio = str(times(row["ratio"], row["ratio_low"], row["ratio_high"]))
    return (
        data.labels.cell(row["condition"], row["measurement"], row["parameters"]),
        title_of(row["metric"], row["measurement"]),
        row["a"],
        row["b"],
        ratio or "\u2013",
        p_text(row["p_column"]) if row["decidable"] else "\u2013",
        decision(row),
        scale.text(shift, low, high),
        scale.ends(shift, low, high),
        f"{row['cliffs_delta']:+.2f} {row['size']}".replace("-", "\u2212"),
        p_text(row["p_holm"]) if row["p_possible"] else f"too few: {_trials(row)}",
    )


def decision(row: Mapping[str, Any]) -> str:
    """The decision of the column on a pair, and how many repetitions would decide."""
    caveat = f"; {CORRELATED}" if row["correlated"] else ""
    if row["differ"]:
        return f"differ{caveat}"
    unit = "block" if row["paired"] else "trial"
    n, more = row["blocks"] or 0, row["more"]
    needed = "over 10\u202f000 more" if more is None else f"about {more} more"
    if not row["decidable"]:
        return f"cannot decide with {plural(n, unit)}, {needed}"
    return f"no difference shown, {needed}{caveat}"


def _trials(row: Mapping[str, Any]) -> str:
    return f"{row['n_a']} and {row['n_b']} trials"


def p_text(p_value: float | None) -> str:
    """Two digits; a power of ten below 0.001; an en dash without a value."""
    if p_value is None:
        return "\u2013"
    if p_value >= 0.001:
        return f"{p_value:.2g}"
    if p_value < 1e-300:
        return "< 1e-300"
    return f"< 1e{math.ceil(math.log10(p_value))}"


def instruments_table(data: Data) -> FigureTable:
    """A row per instrument, for each cell measured by several instruments."""
    columns = ("VPN", "Cell", "Metric", "Instrument", "median", "of the probe's", "95 %", "trials")
    found = instruments_beside(data.observed, seed=data.run.seed or 0)
    return FigureTable(columns, "llllrrrr", tuple(_row(data, one) for one in found))


def _row(data: Data, one: InstrumentBeside) -> tuple[str, ...]:
    scale = scale_for(one.unit, [one.median])
    low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
    ends = "\u2013" if low is None or high is None else f"{low:.2f} to {high:.2f}"
    return (
        one.vpn,
        data.labels.cell(one.condition, one.measurement, one.parameters),
        one.metric,
        one.instrument,
        scale.text(one.median, None, None),
        "\u2013" if one.ratio is None else f"{one.ratio:.2f} x",
        ends,
        str(one.n),
    )
