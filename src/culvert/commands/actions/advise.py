"""``culvert advise``: from runs and a requirement to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl
from rich.table import Table

from culvert.analysis.advice import RATE, Advice, Requirement, advise
from culvert.analysis.gateway import KIND, SEARCH
from culvert.console import out, print_json
from culvert.errors import UsageError
from culvert.history.machine import machine_of
from culvert.journal.journal import Journal
from culvert.json_text import read_json
from culvert.report.labels import everything
from culvert.report.numbers import Scale, scale_for
from culvert.report.run_info import RunInfo
from culvert.results import Parameters
from culvert.units import QuantityError, parse_rate_bps, plural

SHOWN = {"direction", "to", "protocol", "packet_size", RATE, "active"}
"""Parameters that distinguish loads for a reader."""


def show_advice(runs: Sequence[Path], rate: str, clients: int, *, as_json: bool) -> None:
    """Print the table. Raises UsageError, JournalError."""
    try:
        rate_bps = parse_rate_bps(rate)
    except QuantityError as error:
        raise UsageError(f"--rate {rate}", error.why, "write 1Gbit/s") from error
    if not rate_bps:
        raise UsageError(f"--rate {rate}", "no gateway is too small for it", "write 1Gbit/s")
    required = Requirement(rate_bps, clients)
    found: list[tuple[Path, Advice]] = []
    machines: dict[Path, str] = {}
    for directory in runs:
        with Journal.open(directory) as journal:
            rows, run = journal.rows(), RunInfo.from_journal(journal.run())
        machines[directory] = machine_of(run)
        if rows.filter(pl.col("measurement").is_in([KIND, SEARCH])).is_empty():
            why = f"it has no trials of {KIND} or {SEARCH}"
            raise UsageError(str(directory), why, "run a study such as gateway")
        found += [(directory, one) for one in advise(rows, required, run.design.looks)]
    if as_json:
        print_json(
            [
                {"run": str(directory), "machine": machines[directory], **asdict(one)}
                for directory, one in found
            ]
        )
        return
    _show(found, required, several=len(runs) > 1)
    for directory, machine in machines.items():
        out.print(f"{directory}: {machine}", markup=False)


def _show(found: Sequence[tuple[Path, Advice]], required: Requirement, *, several: bool) -> None:
    """A table for each condition and kind of load; ``several`` runs are named."""
    groups: dict[tuple[str, str, str], list[tuple[Path, Advice]]] = {}
    for directory, one in found:
        groups.setdefault((one.condition, one.measurement, one.load), []).append((directory, one))
    medians = [one.median_bps for _, one in found]
    scale = scale_for("bit/s", [required.rate_bps, *filter(None, medians)])
    together = "" if required.clients == 1 else " together"
    clients = f"{plural(required.clients, 'client')}{together}"
    for (condition, kind, load), rows in groups.items():
        out.print(
            f"required: {required.rate_bps / scale.factor:g} {scale.name}, {clients}; "
            f"{_in_words(kind, load)}; condition {condition}"
        )
        table = Table(box=None, pad_edge=False)
        figure = "goodput" if kind == KIND else "goodput, PDR"
        for title in ("VPN", "verdict", f"{figure} [95 %]", "gateway's CPU", "basis"):
            table.add_column(title)
        for directory, one in rows:
            where = f" ({directory})" if several else ""
            table.add_row(f"{one.vpn}{where}", one.verdict, *_figures(one, scale), _basis(one))
        out.print(table)
        out.print()
    out.print("CPU: 100 % is one core.")


def _figures(one: Advice, scale: Scale) -> tuple[str, str]:
    goodput = cpu = ""
    if one.median_bps is not None:
        goodput = scale.with_unit_and_interval(one.median_bps, one.low_bps, one.high_bps)
    if one.cpu_percent is not None and one.cpu_clients is not None:
        cpu = f"{one.cpu_percent:.0f} % with {plural(one.cpu_clients, 'client')}"
    return goodput, cpu


def _basis(one: Advice) -> str:
    return one.basis + (f". To tell, measure {one.to_measure}" if one.to_measure else "")


def _in_words(kind: str, load: str) -> str:
    shown, words = SHOWN, "load"
    if kind == SEARCH:
        shown, words = SHOWN - {RATE}, "highest rate with little loss,"
    values = {name: value for name, value in read_json(load).items() if name in shown}
    return f"{words} {everything(kind, Parameters.of(values))}"
