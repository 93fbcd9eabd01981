"""``culvert advise``: from runs and a requirement to a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.table import Table

from culvert.analysis.advice import Advice, Requirement, advise
from culvert.analysis.gateway import KIND
from culvert.console import out, print_json
from culvert.errors import UsageError
from culvert.journal.journal import Journal
from culvert.units import QuantityError, parse_rate_bps

SHOWN = {"direction", "to", "protocol", "packet_size", "rate", "active"}
"""Parameters that distinguish loads in the table."""


def show_advice(runs: Sequence[Path], rate: str, clients: int, *, as_json: bool) -> None:
    """Print the table. Raises UsageError, JournalError."""
    try:
        rate_bps = parse_rate_bps(rate)
    except QuantityError as error:
        raise UsageError(f"--rate {rate}", error.why, "write 1Gbit/s") from error
    required = Requirement(rate_bps, clients)
    found: list[tuple[Path, Advice]] = []
    for directory in runs:
        with Journal.open(directory) as journal:
            rows = journal.rows()
        if rows.filter(pl.col("measurement") == KIND).is_empty():
            raise UsageError(
                str(directory), f"it has no trials of {KIND}", "run a study such as gateway"
            )
        found += [(directory, one) for one in advise(rows, required)]
    if as_json:
        print_json([{"run": str(directory), **one.as_json()} for directory, one in found])
        return
    table = Table(box=None, pad_edge=False)
    for title in ("VPN", "verdict", "goodput", "95 % interval", "CPU", "by"):
        table.add_column(title)
    for directory, one in found:
        by = one.basis + (f"; measure {one.to_measure}" if one.to_measure else "")
        where = f" ({directory})" if len(runs) > 1 else ""
        table.add_row(
            f"{one.vpn}{where}, {one.condition}{_load(one)}",
            one.verdict,
            _mbit(one.median_bps),
            f"{_mbit(one.low_bps)} to {_mbit(one.high_bps)}" if one.low_bps is not None else "",
            "" if one.cpu_percent is None else f"{one.cpu_percent:.0f} %",
            by,
        )
    out.print(table)


def _load(one: Advice) -> str:
    given = {key: value for key, value in json.loads(one.load).items() if value is not None}
    return "".join(f", {key} {given[key]}" for key in sorted(SHOWN & given.keys()))


def _mbit(bps: float | None) -> str:
    return "" if bps is None else f"{bps / 1e6:.4g} Mbit/s"
