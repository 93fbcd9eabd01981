"""The tables of a paper, for an import of its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from culvert.journal.papers.kjorveziroski2024.published import PAPER, PROTOCOLS
from culvert.report.model import Data, FigureTable

_TITLES = {"tcp": "Table A1: TCP, Mbit/s", "udp": "Table A2: UDP, Mbit/s"}
_COLUMNS = (
    *("test", "condition", "runs", "dropped"),
    *("mean", "sd", "cv", "\u00d7 1450", "\u00d7 1230"),
)
_FIGURES = ("mean", "sd", "cv", "times_1450", "times_1230")


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper, computed from its data."""

    title: str
    table: FigureTable


def paper_tables(data: Data) -> tuple[PaperTable, ...]:
    """Tables A1 and A2; empty for other data."""
    found = []
    for protocol, name in PROTOCOLS.items():
        printed = data.foreign.get(f"{PAPER}-{name}")
        if printed is not None:
            rows = tuple(_row(row) for row in printed.iter_rows(named=True))
            found.append(PaperTable(_TITLES[protocol], FigureTable(_COLUMNS, "llrrrrrrr", rows)))
    return tuple(found)


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    figures = ("\u2013" if row[one] is None else f"{row[one]:.2f}" for one in _FIGURES)
    return (row["test"], row["condition"], str(row["runs"]), str(row["dropped"] or ""), *figures)
