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

_ANALYSE = """
import json, resource, sys, time
from pathlib import Path
begun = time.monotonic()
from culvert.journal.journal import Journal
from culvert.report.model import gather
from culvert.report.run_info import RunInfo
from culvert.report.trial_views import MOST_EVIDENCE
with Journal.open(Path(sys.argv[1])) as journal:
    run, rows = journal.run(), journal.rows()
    trials = journal.trials(checks_until=MOST_EVIDENCE)
    histograms, series = journal.histograms(), journal.series()
gather(RunInfo.from_journal(run), rows, trials, histograms, series)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "s": time.monotonic() - begun,
    "cpu_s": usage.ru_utime + usage.ru_stime,
    "bytes": usage.ru_maxrss * 1024,
}))
"""
"""In a process of its own, so that its memory is its own."""


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
            [sys.executable, "-c", _ANALYSE, directory], check=True, stdout=subprocess.PIPE
        )
    found: dict[str, float] = json.loads(done.stdout)
    return found
