"""The order of a series: by time, or by version of the VPN."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_NUMBER = re.compile(r"(\d+)")


class Order(StrEnum):
    """How the runs of a series follow each other."""

    TIME = "time"
    VERSION = "version"

    def of(self, points: pl.DataFrame) -> pl.DataFrame:
        """The points of one series, which are in the order of time, in this order."""
        import polars as pl  # noqa: PLC0415 - --help needs the names alone

        if self is Order.TIME:
            return points
        versions = points["version"].unique().to_list()
        ranks = {one: rank for rank, one in enumerate(sorted(versions, key=_natural))}
        by_version = pl.col("version").replace_strict(ranks, return_dtype=pl.Int64)
        return points.sort(by_version, maintain_order=True)


def _natural(version: str) -> list[tuple[int, str]]:
    """1.9 is before 1.10."""
    parts = _NUMBER.split(version)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
