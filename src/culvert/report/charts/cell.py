"""One cell of the study in the figures of a condition."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from culvert.analysis.observations import pick
from culvert.report.labels import cells_of, everything
from culvert.report.model import Data
from culvert.report.numbers import Scale

NOTHING = "\u2013"
"""In a table."""


@dataclass(frozen=True)
class Cell:
    """All VPNs under one measurement with its parameters."""

    data: Data
    condition: str
    measurement: str
    parameters: str

    @classmethod
    def all(cls, data: Data, frame: pl.DataFrame, measurement: str, condition: str) -> list[Cell]:
        """Those with rows in ``frame``, in the order of charts."""
        every = cells_of(frame, measurement, condition)
        return [cls(data, condition, measurement, parameters) for parameters in every]

    @property
    def name(self) -> str:
        return self.data.labels.cell(self.condition, self.measurement, self.parameters)

    @property
    def everything(self) -> str:
        """All its parameters, for a caption."""
        return everything(self.measurement, self.parameters)

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(
            measurement=self.measurement, condition=self.condition, parameters=self.parameters
        )

    def summary(self, metric: str) -> pl.DataFrame:
        """A row for each VPN: the median of its trials with its interval."""
        return pick(self.rows(self.data.summary), metric)

    def observed(self, metric: str) -> pl.DataFrame:
        """A row for each trial that counts."""
        return pick(self.rows(self.data.observed), metric)


def median_text(summary: pl.DataFrame, vpn: str, scale: Scale) -> str:
    """A VPN's median and interval, for a table."""
    for row in summary.filter(vpn=vpn).iter_rows(named=True):
        return scale.with_interval(row["median"], row["low"], row["high"])
    return NOTHING
