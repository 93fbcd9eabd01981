"""Analysing a journal of 100,000 trials: 100 cells, 1,000 blocks, four metrics each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from bench.long_journal import write

BLOCKS = 1000


class AnalysisTime(MedianBelow):
    """Reading, checking every checksum, summaries, comparisons, headline."""

    name: ClassVar[str] = "analysis-time"
    what: ClassVar[str] = "analysing a journal of 100,000 trials"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 30 s"
    limit: ClassVar[float] = 30

    def measure(self) -> Samples:
        """Once: writing the journal takes longer than reading it."""
        return Samples(ours=[_analysed()["s"]])


class AnalysisMemory(MedianBelow):
    """The same run's greatest resident set."""

    name: ClassVar[str] = "analysis-memory"
    what: ClassVar[str] = "memory for analysing a journal of 100,000 trials"
    unit: ClassVar[str] = "bytes"
    goal: ClassVar[str] = "under 1 GB"
    limit: ClassVar[float] = 1e9

    def measure(self) -> Samples:
        """From the same run."""
        return Samples(ours=[_analysed()["bytes"]])


@cache
def _analysed() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
        write(Path(directory), BLOCKS)
        done = subprocess.run(
            [sys.executable, "-m", "bench.analysing", directory], check=True, stdout=subprocess.PIPE
        )
    found: dict[str, float] = json.loads(done.stdout)
    return found
