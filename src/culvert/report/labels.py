"""Short names for cells: only the parameters that tell the cells of a study apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

MEASUREMENTS = {
    "tcp": "TCP",
    "udp": "UDP",
    "rtt": "Round trip",
    "initiation": "Initiation",
}

_UNITS = {"duration": " s", "warmup": " s", "write_size": " bytes", "rate_pps": "/s"}
_ALWAYS = {"udp": ("packet_size",)}


class Labels:
    """Names of the cells of one study."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """``frame`` has the columns condition, measurement, parameters (rows or trials)."""
        cells = frame.select("measurement", "parameters").drop_nulls().unique().sort(pl.all())
        by_measurement: dict[str, list[dict[str, Any]]] = {}
        for measurement, parameters in cells.iter_rows():
            by_measurement.setdefault(measurement, []).append(parsed(parameters))
        self._telling = {
            measurement: _telling(measurement, found)
            for measurement, found in by_measurement.items()
        }
        self._conditions = frame["condition"].drop_nulls().n_unique()

    def parameters(self, measurement: str, parameters: str) -> str:
        """``64 byte packets``, ``streams 4``; empty where the study has one cell of the kind."""
        values = parsed(parameters)
        shown = [
            _one(key, values[key]) for key in self._telling.get(measurement, ()) if key in values
        ]
        return ", ".join(shown)

    def cell(self, condition: str, measurement: str, parameters: str) -> str:
        """``UDP, 64 byte packets, lossy``: the condition only where there are several."""
        name = MEASUREMENTS.get(measurement, measurement)
        parts = [name, self.parameters(measurement, parameters)]
        if self._conditions > 1:
            parts.append(condition)
        return ", ".join(part for part in parts if part)


def parsed(parameters: str | None) -> dict[str, Any]:
    """Parameters as a dictionary; what is no JSON object counts as none."""
    try:
        values = json.loads(parameters or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def everything(parameters: str) -> str:
    """All parameters in one line."""
    told = [_one(key, value) for key, value in parsed(parameters).items()]
    return ", ".join(told)


def order(parameters: str) -> tuple[float, str]:
    """Sorts cells of a measurement by packet size, the largest last, then by their text."""
    size = parsed(parameters).get("packet_size")
    return (float(size) if isinstance(size, int | float) else float("inf"), parameters)


def slug(text: str) -> str:
    """A file name's part: ASCII letters, digits and dashes, never empty."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "unnamed"


def _telling(measurement: str, found: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    always = _ALWAYS.get(measurement, ())
    keys = sorted({key for values in found for key in values})
    differing = [key for key in keys if len({json.dumps(v.get(key)) for v in found}) > 1]
    return tuple(dict.fromkeys([*always, *differing]))


def _one(key: str, value: object) -> str:
    if key == "packet_size":
        return "largest packets" if value == "max" else f"{value} byte packets"
    name = key.replace("_", " ")
    if value is None:
        return f"{name} unlimited" if key == "rate" else f"{name} not set"
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if isinstance(value, int | float):
        return (
            f"{name} {value:g}{_UNITS.get(key, '')}"
            if abs(value) < 1e5
            else (f"{name} {value:.0f}{_UNITS.get(key, '')}")
        )
    return f"{name} {value}"  # a text has its unit within
