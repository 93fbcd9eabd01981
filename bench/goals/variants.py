"""Every variant that runs here beside the bare link: one study, one run, one table."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl
from rich.console import Console
from rich.table import Table

from bench.goal import Goal, Samples
from bench.study_run import run_study
from culvert.analysis.summary import summarise
from culvert.journal.journal import Journal
from culvert.labs.this_machine import ThisMachine
from culvert.report.numbers import scale_for
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.listing import Row, list_vpns

MOST_S_PER_VPN = 30.0
"""20 in 10 minutes: how many are installed differs by machine."""
STUDY = """\
name = "variants"
title = "Every variant that runs here"
vpns = {vpns}

[lab]
topology = "pair"
link = {{ kind = "veth", mtu = 1500, offloads = false }}
cpus = "split"

[[measurement]]
kind = "tcp"
duration = "300ms"
warmup = "200ms"

[[measurement]]
kind = "udp"
packet_size = 64
duration = "300ms"

[[measurement]]
kind = "rtt"
rate = "1000/s"
probes = 300

[[measurement]]
kind = "initiation"
cycles = 1

[plan]
order = "random"
seed = 1
blocks = {blocks}
"""
WIDTH = 160
"""Characters of a line where nobody looks at a terminal."""
BLOCKS = 6
"""One more than an interval needs."""


@dataclass(frozen=True)
class Figure:
    """A column of the table."""

    title: str
    measurement: str
    metric: str


FIGURES = (
    Figure("goodput", "tcp", "goodput_bps"),
    Figure("packets of 64 bytes", "udp", "received_pps"),
    Figure("CPU", "tcp", "cpu_s_per_gb"),
    Figure("RTT median", "rtt", "rtt_p50_us"),
    Figure("RTT p99", "rtt", "rtt_p99_us"),
    Figure("initiation", "initiation", "total_ms"),
)


@dataclass(frozen=True)
class Found:
    """A median over ``n`` trials that count, and its 95 % interval, if there is one."""

    vpn: str
    figure: str
    unit: str
    n: int
    median: float
    low: float | None
    high: float | None


class Variants(Goal):
    """Share of all figures that have an interval, without initiations that a driver declares not to
    be measurable; the table holds the figures themselves."""

    name: ClassVar[str] = "variants"
    what: ClassVar[str] = "figures of each variant that runs here that have an interval"
    unit: ClassVar[str] = "1"
    goal: ClassVar[str] = f"all, from one run, in {MOST_S_PER_VPN:.0f} s a VPN"

    def __init__(self) -> None:
        self._elapsed_s = self._most_s = 0.0

    def measure(self) -> Samples:
        """One run of everything."""
        out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
        rows = list_vpns(ThisMachine())
        measured = [row for row in rows if row.ready and _is_measured(row)]
        vpns = [row.vpn for row in measured]
        for reason, left_out in _left_out(rows).items():
            out.print(f"  not measured, {reason}: {', '.join(left_out)}", markup=False)
        self._most_s = MOST_S_PER_VPN * len(vpns)
        found = self._run(vpns, out)
        out.print(table(vpns, found))
        out.print(
            f"  medians of {BLOCKS} blocks with 95 % intervals, {self._elapsed_s:.0f} s in all, "
            f"{self._elapsed_s / len(vpns):.1f} s a VPN"
        )
        with_interval = sum(one.low is not None for one in found)
        lacking = sum(bool(_vpn(row).no_initiation) for row in measured)
        return Samples(
            ours=[with_interval / (len(vpns) * len(FIGURES) - lacking)],
            details=[asdict(one) for one in found],
        )

    def met(self, samples: Samples) -> bool:
        """All of it, in time."""
        return samples.ours == [1.0] and self._elapsed_s < self._most_s

    def _run(self, vpns: Sequence[str], out: Console) -> list[Found]:
        with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
            study = Path(directory) / "variants.toml"
            study.write_text(STUDY.format(vpns=json.dumps(list(vpns)), blocks=BLOCKS), "utf-8")
            outcome = run_study(study, Path(directory) / "run")
            self._elapsed_s = outcome["elapsed_s"]
            for problem in outcome["problems"]:
                out.print(f"  {problem['vpn']}: {problem['reason']}", markup=False)
            with Journal.open(Path(directory) / "run") as journal:
                return figures(journal.rows())


def figures(rows: pl.DataFrame) -> list[Found]:
    """The figures of the table, by VPN, from a journal's rows."""
    summary = summarise(rows).filter(pl.col("labels") == "{}")
    return [
        Found(
            one["vpn"], figure.title, *(one[key] for key in ("unit", "n", "median", "low", "high"))
        )
        for figure in FIGURES
        for one in summary.filter(
            pl.col("measurement") == figure.measurement, pl.col("metric") == figure.metric
        ).iter_rows(named=True)
    ]


def table(vpns: Sequence[str], found: Sequence[Found]) -> Table:
    """A row a VPN, a column a figure in one unit."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    shown.add_column("VPN")
    by_place = {(one.vpn, one.figure): one for one in found}
    scales = {}
    for figure in FIGURES:
        column = [one for one in found if one.figure == figure.title]
        scales[figure] = scale_for(column[0].unit if column else "1", [o.median for o in column])
        shown.add_column(f"{figure.title}, {scales[figure].name}", justify="right")
    for vpn in vpns:
        cells = []
        for figure, scale in scales.items():
            one = by_place.get((vpn, figure.title))
            cells.append(scale.with_interval(one.median, one.low, one.high) if one else "none")
        shown.add_row(vpn, *cells)
    return shown


def _left_out(rows: Sequence[Row]) -> dict[str, list[str]]:
    """VPNs by the reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if not row.ready:
            missing = ", ".join(f"{each['what']} ({each['remedy']})" for each in row.missing)
            found.setdefault(f"as this machine has no {missing}", []).append(row.vpn)
        elif _vpn(row).needs:
            found.setdefault("as a pair has no place for its servers", []).append(row.vpn)
        elif _vpn(row).variant.of_clusters:
            found.setdefault("as only a cluster has it", []).append(row.vpn)
        elif not _can_be_proved(_vpn(row)):
            found.setdefault("as every proof fails on it, and should", []).append(row.vpn)
    return found


def _is_measured(row: Row) -> bool:
    vpn = _vpn(row)
    return not vpn.needs and not vpn.variant.of_clusters and _can_be_proved(vpn)


def _can_be_proved(vpn: Vpn) -> bool:
    return vpn.variant.encrypts or vpn.variant.integrity_only or vpn.outer_flow is None


def _vpn(row: Row) -> Vpn:
    return registry.create(registry.parse(row.vpn))
