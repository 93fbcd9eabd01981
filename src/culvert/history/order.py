"""The order of a series: by time, or by version of the VPN."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class Order(StrEnum):
    """How the runs of a series follow each other."""

    TIME = "time"
    VERSION = "version"

    def of(self, points: pl.DataFrame) -> pl.DataFrame:
        """The points of one series, which are in the order of time, in this order."""
        import polars as pl  # noqa: PLC0415 - --help needs the names alone

        from culvert.journal.readers.reading import natural  # noqa: PLC0415 - as above

        if self is Order.TIME:
            return points
        versions = points["version"].unique().to_list()
        ranks = {one: rank for rank, one in enumerate(sorted(versions, key=natural))}
        by_version = pl.col("version").replace_strict(ranks, return_dtype=pl.Int64)
        return points.sort(by_version, maintain_order=True)
