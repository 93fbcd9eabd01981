"""A study without root beside the same with root: the figures must be equal."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import polars as pl

from bench.goal import Goal, Samples
from bench.study_run import run_study
from culvert import tools
from culvert.journal.journal import Journal

TOLERANCE = 0.03
ROUNDS = 12
BLOCKS = 1
STUDY = f"""\
name = "rootless"
title = "Without root and with it"
vpns = ["none", "wireguard/go"]

[lab]
link = {{ kind = "veth", mtu = 1500, offloads = false }}
cpus = "split"

[[measurement]]
kind = "tcp"
duration = "1s"
warmup = "300ms"

[[measurement]]
kind = "rtt"
rate = "1000/s"
probes = 1000

[plan]
order = "random"
blocks = {BLOCKS}
"""
METRICS = (("tcp", "goodput_bps"), ("rtt", "rtt_p50_us"))

Figure = tuple[str, str, str]
"""VPN, measurement, metric."""


class RootlessEqualsRoot(Goal):
    """The figure whose ratio is furthest from 1; all of them are in the details."""

    name: ClassVar[str] = "rootless-equals-root"
    what: ClassVar[str] = "TCP goodput and median RTT of none and wireguard/go, without root"
    peer: ClassVar[str] = "with root"
    unit: ClassVar[str] = "the figure's"
    goal: ClassVar[str] = "each ratio within 3 % of 1"
    vpns: ClassVar[tuple[str, ...]] = ("wireguard/go",)

    def measure(self) -> Samples:
        """Runs of the study by turns; a sample is the median of a run's trials."""
        probe = tools.require("culvert-probe", "run `make setup`")
        without = (str(probe), "rootless", "--")
        ours: dict[Figure, list[float]] = {}
        peer: dict[Figure, list[float]] = {}
        for number in range(ROUNDS):
            for mine in (number % 2 == 0, number % 2 == 1):
                for figure, value in _figures(without if mine else ()).items():
                    (ours if mine else peer).setdefault(figure, []).append(value)
        return worst(ours, peer)

    def met(self, samples: Samples) -> bool:
        """The one that is furthest from 1."""
        return samples.ratio is not None and abs(samples.ratio - 1) <= TOLERANCE


def worst(ours: Mapping[Figure, list[float]], peer: Mapping[Figure, list[float]]) -> Samples:
    """Samples of the figure whose ratio is furthest from 1; details of all."""
    pairs = {figure: Samples(values, peer[figure]) for figure, values in ours.items()}
    furthest = max(pairs.values(), key=lambda pair: abs((pair.ratio or 0.0) - 1))
    furthest.details = [
        {
            "vpn": vpn,
            "metric": metric,
            "without_root": statistics.median(pair.ours),
            "with_root": statistics.median(pair.peer),
            "ratio": pair.ratio,
            "interval": pair.interval,
        }
        for (vpn, _, metric), pair in pairs.items()
    ]
    return furthest


def _figures(before: Sequence[str]) -> dict[Figure, float]:
    """Each figure's median over the trials of a run."""
    with _journal(before) as rows:
        found: dict[Figure, float] = {}
        for measurement, metric in METRICS:
            chosen = rows.filter(
                pl.col("measurement") == measurement,
                pl.col("metric") == metric,
                pl.col("status") == "ok",
            )
            for (vpn,), group in chosen.group_by("vpn"):
                found[str(vpn), measurement, metric] = statistics.median(group["value"])
        return found


@contextmanager
def _journal(before: Sequence[str]) -> Iterator[pl.DataFrame]:
    with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
        study = Path(directory) / "rootless.toml"
        study.write_text(STUDY, "utf-8")
        run_study(study, Path(directory) / "run", before=before)
        with Journal.open(Path(directory) / "run") as journal:
            yield journal.rows()
