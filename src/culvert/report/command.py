"""``culvert report``: from a run's directory to its report."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from culvert.journal.journal import Journal
from culvert.report import terminal
from culvert.report.write import write_report


def report_on(directory: Path, out: Console, *, show: bool) -> Path:
    """Write the report into the run's directory; ``show`` prints the summary as well."""
    with Journal.open(directory) as journal:
        run, rows, trials = journal.run(), journal.rows(), journal.trials()
        histograms, series = journal.histograms(), journal.series()
    page = write_report(run, rows, trials, histograms, series, directory)
    if show:
        out.print(terminal.summary(run, rows, trials, histograms, series))
        out.print(f"report: {page.absolute()}", markup=False)
    return page
