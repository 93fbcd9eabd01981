"""Instruments compared with the probe, as a table of the page."""

from __future__ import annotations

from culvert.analysis.instruments import InstrumentBeside, instruments_beside
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import scale_for


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
