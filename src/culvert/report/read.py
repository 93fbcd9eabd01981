"""From a run's directory to the data of its report."""

from __future__ import annotations

from pathlib import Path

from culvert.journal.journal import Journal
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo
from culvert.report.views.trials import MOST_EVIDENCE


def read(directory: Path) -> Data:
    """Read and analyse the run in a directory. Raises JournalError."""
    with Journal.open(directory) as journal:
        run, rows = journal.run(), journal.rows()
        trials = journal.trials(checks_until=MOST_EVIDENCE)
        histograms, series = journal.histograms(), journal.series()
    return gather(RunInfo.from_journal(run), rows, trials, histograms, series)
