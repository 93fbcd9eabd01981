"""``culvert site`` of 200 runs of 100 cells each."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from bench.long_journal import write

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
            begin = time.monotonic()
            culvert = Path(sys.executable).with_name("culvert")
            out = Path(directory) / "site"
            subprocess.run(
                [culvert, "site", runs, "--out", out], check=True, stdout=subprocess.DEVNULL
            )
            return Samples(ours=[time.monotonic() - begin])
