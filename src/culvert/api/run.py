"""A run: its trials, figures, statistics, verdicts and charts."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import altair as alt
import polars as pl

from culvert.analysis.compare.comparison import ALPHA, MOST_ALPHA, MOST_TOLERANCE, TOLERANCE
from culvert.analysis.status import status_counts
from culvert.api.comparison import Comparison
from culvert.api.shown import as_html
from culvert.compare.outcome import compare
from culvert.compare.side import sides
from culvert.errors import UsageError
from culvert.journal.journal import Journal
from culvert.report.charts import figures
from culvert.report.claims import claims_table
from culvert.report.exported import exported
from culvert.report.html.write import printed, write_data
from culvert.report.model import Data, Figure, Recorded, shown_trials
from culvert.report.terminal.summary import summary_of
from culvert.study.table import near


class Run:
    """The journal in a directory, read when it is opened, analysed when something needs that.
    Frames are Polars'; ``.to_pandas()`` converts one."""

    def __init__(self, directory: Path) -> None:
        """Raises JournalError if there is no journal, or it cannot be read."""
        self._directory = directory
        self._recorded = Recorded.of(directory)

    @property
    def directory(self) -> Path:
        """Where the journal is."""
        return self._directory

    @property
    def study(self) -> str:
        """The study's name."""
        return self._recorded.run.study

    @property
    def vpns(self) -> tuple[str, ...]:
        """All VPNs of the study, the baseline ``none`` among them, in the order of the charts."""
        return tuple(self._data.vpns)

    @cached_property
    def trials(self) -> pl.DataFrame:
        """One row per trial, with status, reason and remedy. Warm-up blocks are below 1."""
        return shown_trials(self._recorded.trials).drop("evidence")

    def metrics(self, measurement: str | None = None) -> pl.DataFrame:
        """One row per metric of each trial that counts, of one measurement or of all.

        Columns as in docs/export.md, values in the journal's units. Raises UsageError if the run
        has no such measurement.
        """
        rows = self._rows
        if measurement is not None:
            known = rows["measurement"].unique().sort().to_list()
            if measurement not in known:
                what = f'measurement "{measurement}"'
                raise UsageError(what, f"it is not in {self.directory}", near(measurement, known))
            rows = rows.filter(measurement=measurement)
        return rows.filter(pl.col("status") == "ok", pl.col("metric").is_not_null())

    def summary(self) -> pl.DataFrame:
        """One row per cell and metric: n, median, its 95 % interval (low, high), spread."""
        return self._data.summary

    def comparisons(self) -> pl.DataFrame:
        """Each pair of VPNs of this run, cell by cell, with one error rate per column."""
        return self._data.comparisons

    def claims(self) -> pl.DataFrame:
        """One row per claim of the study, with its verdict and the comparison that decides it."""
        return claims_table(self._data.claims)

    def compare(
        self, other: Run | Path | str, *, tolerance: float = TOLERANCE, alpha: float = ALPHA
    ) -> Comparison:
        """``other`` with this run, which is the one before. ``tolerance``: differences up to this
        share count as equal. ``alpha``: the probability of any false alarm. Raises UsageError."""
        after = other.directory if isinstance(other, Run) else Path(other)
        return _compared([str(self.directory), str(after)], [], tolerance, alpha)

    def compare_vpns(
        self, before: str, after: str, *, tolerance: float = TOLERANCE, alpha: float = ALPHA
    ) -> Comparison:
        """Two VPNs of this run, block by block. Raises UsageError."""
        return _compared([str(self.directory)], [before, after], tolerance, alpha)

    @property
    def charts(self) -> tuple[str, ...]:
        """The names that ``chart`` takes."""
        return tuple(self._figures)

    def chart(self, name: str) -> alt.HConcatChart:
        """A chart of the report, as Altair's. Raises UsageError if no chart has that name."""
        if name not in self._figures:
            remedy = near(name, list(self._figures))
            raise UsageError(f'chart "{name}"', f"it is not in {self.directory}", remedy)
        chart: alt.HConcatChart = alt.HConcatChart.from_dict(printed(self._figures[name]))
        return chart

    def report(self, directory: Path | str | None = None) -> Path:
        """Write report.html, tables and figures; the path of the page. Raises UsageError."""
        return write_data(self._data, Path(directory or self.directory))

    @cached_property
    def _data(self) -> Data:
        return self._recorded.analysed(self.directory)

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        return {figure.name: figure for _, figure in figures(self._data)}

    @cached_property
    def _rows(self) -> pl.DataFrame:
        with Journal.open(self.directory) as journal:
            return exported(journal)

    def __repr__(self) -> str:
        counts = status_counts(self.trials.filter(pl.col("block") > 0))
        return f"<Run of {self.study} in {self.directory}: {counts.ok} of {counts.total} trials ok>"

    def _repr_html_(self) -> str:
        return as_html(summary_of(self._data))


def _compared(words: list[str], vpns: list[str], tolerance: float, alpha: float) -> Comparison:
    if not 0 <= tolerance <= MOST_TOLERANCE:
        why = f"it must be from 0 to {MOST_TOLERANCE}"
        raise UsageError(f"tolerance={tolerance}", why, f"write {TOLERANCE}")
    if not 0 < alpha <= MOST_ALPHA:
        why = f"it must be above 0, and at most {MOST_ALPHA}"
        raise UsageError(f"alpha={alpha}", why, f"write {ALPHA}")
    a, b = sides(words, vpns)
    return Comparison(compare(a, b, tolerance=tolerance, alpha=alpha))
