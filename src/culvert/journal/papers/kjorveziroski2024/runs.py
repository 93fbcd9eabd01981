"""The runs behind the paper's tables, from a journal's frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from culvert.journal.papers.kjorveziroski2024.order import CONFIGURATIONS
from culvert.json_text import read_json
from culvert.statistics.values import Array

BASE_1450, BASE_1230 = CONFIGURATIONS[:2]
CONDITIONS = (
    "clean",
    "loss-1",
    "loss-5",
    "loss-10",
    "delay-50ms",
    "delay-250ms",
    "delay-350ms",
)
PAPER_CONDITIONS = dict(
    zip(
        CONDITIONS,
        ("Native", "L: 1%", "L: 5%", "L: 10%", "D: 50 ms", "D: 250 ms", "D: 350 ms"),
        strict=True,
    )
)
"""Their names in tables A1 and A2."""


@dataclass(frozen=True)
class PaperCell:
    """Pod to pod: the goodput of the runs that count, Mbit/s, in the order of time."""

    values: Array
    numbers: tuple[int, ...]
    """The number of each run in its cell."""
    dropped: int


Key = tuple[str, str, str]
"""Configuration (name in the data), protocol, condition."""


def cells(trials: pl.DataFrame, rows: pl.DataFrame) -> dict[Key, PaperCell]:
    """Every cell of the paper; empty for a journal without its data."""
    wanted = trials.filter(
        pl.col("measurement").is_in(["tcp", "udp"]),
        pl.col("parameters").str.contains('"path":"pod2pod"', literal=True),
    )
    goodput = rows.filter(pl.col("metric") == "goodput_bps").select("trial", "value")
    names = pl.Series("name", [_name(text) for text in wanted["evidence"]], pl.String)
    found: dict[Key, PaperCell] = {}
    if not set(names) <= set(CONFIGURATIONS):
        return found
    runs = wanted.with_columns(names).join(goodput, on="trial", how="left").sort("block")
    for key, group in runs.group_by("name", "measurement", "condition", maintain_order=True):
        counted = group.filter(pl.col("status") == "ok", pl.col("value").is_not_null())
        values = np.asarray(counted["value"].to_numpy() / 1e6, dtype=np.float64)
        name, protocol, condition = map(str, key)
        numbers = tuple(counted["block"].to_list())
        found[name, protocol, condition] = PaperCell(values, numbers, group.height - counted.height)
    return found


def _name(evidence: str) -> str:
    try:
        return str(read_json(evidence)["imported"]["name"])
    except (ValueError, KeyError, TypeError):
        return ""


def paper_name(configuration: str) -> str:
    """``Headscale direct`` from ``21-headscale-direct``."""
    known = {"headscale": "Headscale", "netbird": "Netbird", "zerotier": "ZeroTier"}
    _, vpn, way = configuration.split("-")
    return f"{known[vpn]} {way}"
