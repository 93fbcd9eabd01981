"""An imported run as the report reads it."""

from __future__ import annotations

from pathlib import Path

from culvert.journal.journal import Journal
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo


def gathered(directory: Path) -> Data:
    """The analysed run of a directory."""
    with Journal.open(directory) as journal:
        return gather(
            RunInfo.from_journal(journal.run()),
            journal.rows(),
            journal.trials(),
            journal.histograms(),
            journal.series(),
        )
