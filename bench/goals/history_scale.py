"""``culvert history`` of 10,000 runs of 100 cells, whose summaries are in the store."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import ROUNDS, Samples
from bench.many_runs import write_runs
from bench.timed import culvert_s

RUNS = 10_000


class HistoryScale(MedianBelow):
    """The whole command, Python's start included, for the series of one VPN in one condition."""

    name: ClassVar[str] = "history-10000"
    what: ClassVar[str] = "history of 10,000 runs"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 2 s"
    limit: ClassVar[float] = 2

    def measure(self) -> Samples:
        """As a user runs it."""
        with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
            write_runs(Path(directory), RUNS)
            return Samples(ours=[culvert_s("history", directory) for _ in range(ROUNDS)])
