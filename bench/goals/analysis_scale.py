"""Analysing a journal of 100,000 trials: 100 cells, 1,000 blocks, four metrics each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import ClassVar

from bench.goal import Goal, Samples
from bench.long_journal import write

BLOCKS = 1000


class AnalysisTime(Goal):
    """Reading, checking every checksum, summaries, comparisons, headline."""

    name: ClassVar[str] = "analysis-time"
    what: ClassVar[str] = "analysing a journal of 100,000 trials"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 30 s"

    def measure(self) -> Samples:
        """Once: writing the journal takes longer than reading it."""
        return Samples(ours=[_analysed()["s"]])

    def met(self, samples: Samples) -> bool:
        """Directly."""
        return samples.ours[0] < 30


class AnalysisMemory(Goal):
    """The same run's greatest resident set."""

    name: ClassVar[str] = "analysis-memory"
    what: ClassVar[str] = "memory for analysing a journal of 100,000 trials"
    unit: ClassVar[str] = "bytes"
    goal: ClassVar[str] = "under 1 GB"

    def measure(self) -> Samples:
        """From the same run."""
        return Samples(ours=[_analysed()["bytes"]])

    def met(self, samples: Samples) -> bool:
        """Directly."""
        return samples.ours[0] < 1e9


@cache
def _analysed() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
        write(Path(directory), BLOCKS)
        done = subprocess.run(
            [sys.executable, "-m", "bench.analysing", directory], check=True, stdout=subprocess.PIPE
        )
    found: dict[str, float] = json.loads(done.stdout)
    return found
