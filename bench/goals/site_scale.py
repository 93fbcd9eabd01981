"""``culvert site`` of 200 runs of 100 cells each."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from bench.long_journal import write
from bench.timed import culvert_s

RUNS = 200
BLOCKS = 6


class SiteScale(MedianBelow):
    """The whole command, Python's start and the reading of all journals included."""

    name: ClassVar[str] = "site-200"
    what: ClassVar[str] = "site of 200 runs"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 60 s"
    limit: ClassVar[float] = 60

    def measure(self) -> Samples:
        """Once: it takes most of a minute."""
        with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
            runs = Path(directory) / "runs"
            for number in range(RUNS):
                write(runs / f"run-{number:03}", BLOCKS)
            out = Path(directory) / "site"
            return Samples(ours=[culvert_s("site", runs, "--out", out)])
