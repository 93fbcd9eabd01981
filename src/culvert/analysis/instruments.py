"""Instruments compared: the results of other instruments for the same cell, and the probe's."""

from __future__ import annotations

from collections.abc import Iterator
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
    instrument: str
    metric: str
    unit: str
    median: float
    n: int
    ratio: float | None
    interval: Interval | None


def instruments_beside(observed: pl.DataFrame, *, seed: int = 0) -> list[InstrumentBeside]:
    """Every cell that more than one instrument measured, the probe first.

    ``observed`` as ``observations`` returns it.
    """
    found: list[InstrumentBeside] = []
    for measurement, metric in main_metrics().items():
        cells: dict[tuple[str, str, str], dict[str, pl.DataFrame]] = {}
        rows = pick(observed, metric, measurement=measurement)
        for (vpn, condition, parameters), frame in rows.group_by(
            "vpn", "condition", "parameters", maintain_order=True
        ):
            given = Parameters(parameters)
            instrument = str(given.values.get("instrument", PROBE))
            rest = given.without({"instrument"})
            cells.setdefault((str(vpn), str(condition), rest), {})[instrument] = frame
        for cell, frames in cells.items():
            if len(frames) > 1:
                found += _compared(cell, measurement, metric, frames, seed)
    return found


def _compared(
    cell: tuple[str, str, str],
    measurement: str,
    metric: str,
    frames: dict[str, pl.DataFrame],
    seed: int,
) -> Iterator[InstrumentBeside]:
    vpn, condition, parameters = cell
    own = frames[PROBE].sort("trial")["value"].to_list() if PROBE in frames else None
    for instrument in sorted(frames, key=lambda name: (name != PROBE, name)):
        frame = frames[instrument].sort("trial")
        values = frame["value"].to_list()
        median = float(np.median(values))
        ratio = interval = None
        if own is not None and instrument != PROBE:
            base = float(np.median(own))
            ratio = median / base if base else None
            interval = ratio_of_medians(values, own, seed=seed)
        yield InstrumentBeside(
            vpn,
            condition,
            measurement,
            parameters,
            instrument,
            metric,
            str(frame["unit"][0]),
            median,
            len(values),
            ratio,
            interval,
        )
