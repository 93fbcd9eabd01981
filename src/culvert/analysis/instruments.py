"""Instruments compared: the results of other instruments for the same cell, and the probe's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from culvert.analysis.declared import main_metrics
from culvert.analysis.observations import pick
from culvert.results import Parameters
from culvert.statistics.intervals import Interval
from culvert.statistics.ratio import ratio_of_medians

PROBE = "probe"


@dataclass(frozen=True)
class InstrumentBeside:
    """One instrument in one cell. ``ratio`` is its median over the probe's, None if the probe
    has no trials there; ``parameters`` are the cell's, without the instrument."""

    vpn: str
    condition: str
    measurement: str
    parameters: str
    metric: str
    unit: str
    instrument: str
    median: float
    n: int
    ratio: float | None
    interval: Interval | None


_Cell = tuple[str, str, str, str, str, str]
"""The first six fields: all that instruments of one cell have in common."""


def instruments_beside(observed: pl.DataFrame, *, seed: int = 0) -> list[InstrumentBeside]:
    """Every cell that more than one instrument measured, the probe first.

    ``observed`` as ``observations`` returns it.
    """
    cells: dict[_Cell, dict[str, list[float]]] = {}
    for measurement, metric in main_metrics().items():
        series = (
            pick(observed, metric, measurement=measurement)
            .group_by("vpn", "condition", "parameters", "unit", maintain_order=True)
            .agg(pl.col("value").sort_by("trial"))
        )
        for vpn, condition, parameters, unit, values in series.iter_rows():
            given = Parameters(parameters)
            cell = (vpn, condition, measurement, given.without({"instrument"}), metric, unit)
            cells.setdefault(cell, {})[str(given.values.get("instrument", PROBE))] = values
    return [
        _beside(cell, instrument, found, seed)
        for cell, found in cells.items()
        if len(found) > 1
        for instrument in sorted(found, key=lambda name: (name != PROBE, name))
    ]


def _beside(
    cell: _Cell, instrument: str, found: Mapping[str, list[float]], seed: int
) -> InstrumentBeside:
    own, values = found.get(PROBE), found[instrument]
    median = float(np.median(values))
    ratio = interval = None
    if own is not None and instrument != PROBE:
        base = float(np.median(own))
        ratio = median / base if base else None
        interval = ratio_of_medians(values, own, seed=seed)
    return InstrumentBeside(*cell, instrument, median, len(values), ratio, interval)
