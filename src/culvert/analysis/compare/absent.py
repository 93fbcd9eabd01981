"""Cells that only one side has."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from culvert.analysis.observations import CELL


@dataclass(frozen=True)
class Absent:
    """A cell without a counterpart; ``side`` is the one on which it is missing, A or B."""

    vpn: str
    condition: str
    measurement: str
    parameters: str
    side: str
    why: str


def absent(a: pl.DataFrame, b: pl.DataFrame) -> list[Absent]:
    """Cells with trials that count on only one side. Frames are the journal's rows."""
    found = []
    for side, here, there in (("A", a, b), ("B", b, a)):
        counted = there.filter(pl.col("status") == "ok").select(CELL).unique()
        missing = counted.join(
            here.filter(pl.col("status") == "ok").select(CELL).unique(), on=list(CELL), how="anti"
        )
        reasons = here.group_by(CELL).agg(
            status=pl.col("status").first(), reason=pl.col("reason").first()
        )
        explained = missing.join(reasons, on=list(CELL), how="left").sort(CELL)
        for vpn, condition, measurement, parameters, status, reason in explained.iter_rows():
            why = "it was not measured" if status is None else f"{status}: {reason or 'no reason'}"
            found.append(Absent(vpn, condition, measurement, parameters, side, why))
    return found
