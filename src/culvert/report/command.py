"""``culvert report``: from a run's directory to its report."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from culvert.journal.journal import Journal
from culvert.report.html.drawing import Drawing
from culvert.report.html.write import write_data
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo
from culvert.report.terminal import summary as terminal
from culvert.report.views.trials import MOST_EVIDENCE


def report_on(
    directory: Path,
    out: Console,
    drawing: Drawing,
    *,
    target: Path | None = None,
    show: bool,
) -> tuple[Path, Data]:
    """Write the report into the run's directory, or into ``target``; ``show`` prints the summary
    as well.

    Returns the path of the page and the analysed run.
    """
    data = read(directory)
    page = write_data(data, target or directory, drawing)
    if show:
        out.print(terminal.summary_of(data))
        out.print(f"report: {page.absolute()}", markup=False)
    return page, data


def read(directory: Path) -> Data:
    """Read and analyse the run in a directory. Raises JournalError."""
    with Journal.open(directory) as journal:
        run, rows = journal.run(), journal.rows()
        trials = journal.trials(checks_until=MOST_EVIDENCE)
        histograms, series = journal.histograms(), journal.series()
    return gather(RunInfo.from_journal(run), rows, trials, histograms, series)
