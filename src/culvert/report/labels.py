"""Short names for cells: only the parameters in which the cells of a study differ."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from culvert.analysis.declared import label_of, measurement_title, parameter_labels
from culvert.results import Parameters

if TYPE_CHECKING:
    import polars as pl


class Labels:
    """Names of the cells of one study."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """``frame`` has the columns condition, measurement, parameters (rows or trials)."""
        names = ("measurement", "parameters")
        cells = frame.select(names).unique().sort(names)
        by_measurement: dict[str, list[Mapping[str, Any]]] = {}
        for measurement, parameters in cells.iter_rows():
            by_measurement.setdefault(measurement, []).append(Parameters(parameters).values)
        self._differing = {
            measurement: _differing(measurement, found)
            for measurement, found in by_measurement.items()
        }
        self._conditions = frame["condition"].n_unique()
        self._cells: dict[tuple[str, str, str], str] = {}

    def parameters(self, measurement: str, parameters: str) -> str:
        """``64 byte packets``, ``streams 4``; empty if the measurement has one cell."""
        values = Parameters(parameters).values
        shown = (
            label_of(measurement, key).among(values, key)
            for key in self._differing.get(measurement, ())
            if key in values
        )
        return ", ".join(filter(None, shown))

    def cell(self, condition: str, measurement: str, parameters: str) -> str:
        """``UDP, 64 byte packets, lossy``: the condition only if there are several."""
        key = (condition, measurement, parameters)
        if key not in self._cells:  # a run has many trials of a cell
            parts = [measurement_title(measurement), self.parameters(measurement, parameters)]
            if self._conditions > 1:
                parts.append(condition)
            self._cells[key] = ", ".join(part for part in parts if part)
        return self._cells[key]


@lru_cache(1024)
def everything(measurement: str, parameters: str) -> str:
    """All parameters in one line: ``over UDP, 84 byte packets, 2000 probes``."""
    values = Parameters(parameters).values
    declared = parameter_labels(measurement)
    names = [*(name for name in declared if name in values), *sorted(values.keys() - declared)]
    texts = (label_of(measurement, name).among(values, name) for name in names)
    return ", ".join(filter(None, texts))


def order(parameters: str) -> tuple[float, str]:
    """Sort key of a measurement's cells: packet size (``max`` last), then the text."""
    size = Parameters(parameters).get("packet_size")
    return (float(size) if isinstance(size, int | float) else float("inf"), parameters)


def cells_of(frame: pl.DataFrame, measurement: str, condition: str) -> list[str]:
    """The parameters of a measurement's cells in a condition, in the order of charts."""
    found = frame.filter(measurement=measurement, condition=condition)["parameters"].unique()
    return sorted(map(str, found.to_list()), key=order)


def _differing(measurement: str, found: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    always = [name for name, label in parameter_labels(measurement).items() if label.always]
    keys = sorted({key for values in found for key in values})
    differing = [key for key in keys if len({json.dumps(v.get(key)) for v in found}) > 1]
    return tuple(dict.fromkeys([*always, *differing]))


_PSEUDO = re.compile(r"(v\d+\.\d+\.\d+-(?:[\w.]+\.)?\d{8})\d{6}-[0-9a-f]{12}\b.*")
"""Go's pseudo-versions (https://go.dev/ref/mod#pseudo-versions): base, UTC time, commit."""


def short_version(version: str) -> str:
    """``2.6.14, package 2.6.14-0+deb12u2`` as ``2.6.14``; a Go pseudo-version up to its date."""
    return _PSEUDO.sub(r"\1", version.partition(",")[0].strip())
