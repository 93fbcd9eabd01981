"""The analysed run, from which charts and page are drawn, from its directory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.comparisons import comparisons
from culvert.analysis.cpu import busiest_threads, cpu_split
from culvert.analysis.declared import figures
from culvert.analysis.headline import Headline, Medians, compared, medians
from culvert.analysis.initiation import cycles
from culvert.analysis.losses import loss_shares
from culvert.analysis.observations import observations
from culvert.analysis.status import StatusCounts, counts_by_vpn, status_counts
from culvert.analysis.summary import summarise_observed
from culvert.journal.frames import TRIALS_SCHEMA
from culvert.journal.journal import Journal
from culvert.journal.marks import Mark, marks_of
from culvert.journal.papers.kjorveziroski2024.published import published_tables
from culvert.report.claims import Claims, claims_of
from culvert.report.labels import Labels
from culvert.report.leaves import evidence
from culvert.report.palette import colours, shapes
from culvert.report.run_info import RunInfo
from culvert.report.views.profiles import Profile, profiles

MOST_EVIDENCE = 1000
"""So many trials that count have their evidence in the page; the journal has all."""
LONGEST_NAME = 200
"""Characters; measuring the text of a longer one for charts takes minutes."""
_TRIALS = [name for name in TRIALS_SCHEMA if name not in ("study", "session", "cell")]
"""What a report shows of a trial."""

Panel = dict[str, Any]
"""A Vega-Lite specification, its data inlined, without schema address and theme."""


@dataclass(frozen=True)
class FigureTable:
    """The numbers behind a figure. ``align`` has l or r for each column."""

    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """One figure: panels side by side (one above the other where narrow), and its table."""

    name: str
    title: str
    caption: str
    alt_text: str
    panels: tuple[Panel, ...]
    table: FigureTable


@dataclass(frozen=True)
class Data:
    """A run, analysed."""

    run: RunInfo
    rows: pl.DataFrame
    trials: pl.DataFrame
    """Without warm-up blocks (block 0 and below), which never count."""
    every_trial: pl.DataFrame
    histograms: pl.DataFrame
    series: pl.DataFrame
    observed: pl.DataFrame
    summary: pl.DataFrame
    columns: Columns
    medians: list[Medians]
    """One per condition, in the study's order."""
    counts: StatusCounts
    counts_by_vpn: dict[str, StatusCounts]
    labels: Labels
    vpns: list[str]
    """All VPNs of the study, in the order of every chart."""
    colours: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    profiles: tuple[Profile, ...] = ()
    foreign: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Of an import: the tables of the paper that published the data, by file name."""

    # Each is of all conditions and VPNs; a figure takes its part.

    @cached_property
    def cycles(self) -> pl.DataFrame:
        return cycles(self.rows, self.trials, self.series)

    @cached_property
    def losses(self) -> pl.DataFrame:
        return loss_shares(self.observed)

    @cached_property
    def cpu_split(self) -> pl.DataFrame:
        return cpu_split(self.observed)

    @cached_property
    def threads(self) -> pl.DataFrame:
        """The busiest three of each cell, as ``analysis.cpu``."""
        return busiest_threads(self.rows, most=3)

    @cached_property
    def marks(self) -> dict[int, tuple[Mark, ...]]:
        """What disturbed each trial that counts, if anything did."""
        counting = self.trials.filter(pl.col("status") == "ok")
        found = {
            int(trial): marks_of(evidence(text))
            for trial, text in counting.select("trial", "evidence").iter_rows()
        }
        return {trial: marks for trial, marks in found.items() if marks}

    # Charts do not need these: figures are being drawn while they are computed.

    @cached_property
    def headlines(self) -> list[Headline]:
        """One per condition, in the order of ``medians``."""
        return compared(self.medians, self.observed, self.columns)

    @cached_property
    def claims(self) -> Claims:
        return claims_of(self.run, self.rows, self.summary)

    @cached_property
    def comparisons(self) -> pl.DataFrame:
        return comparisons(self.observed, self.columns)

    @cached_property
    def main_comparisons(self) -> pl.DataFrame:
        """Those of the headline's metrics, each as in ``comparisons``: a page needs no others."""
        main = pl.col("metric").is_in(sorted(figures()))
        if "comparisons" in vars(self):
            return self.comparisons.filter(main)
        return comparisons(self.observed.filter(main), self.columns)


class Recorded(NamedTuple):
    """A run before it is analysed: frames as the journal returns them."""

    run: RunInfo
    rows: pl.DataFrame
    trials: pl.DataFrame
    histograms: pl.DataFrame
    series: pl.DataFrame

    @classmethod
    def of(cls, directory: Path) -> Self:
        """All of the journal in a directory, but the checks of trials after the first
        MOST_EVIDENCE. Raises JournalError."""
        with Journal.open(directory) as journal:
            return cls(
                RunInfo.from_journal(journal.run()),
                journal.rows(),
                journal.trials(checks_until=MOST_EVIDENCE),
                journal.histograms(),
                journal.series(),
            )

    def analysed(self, directory: Path) -> Data:
        """With the profiles of the run's directory."""
        return replace(gather(*self), profiles=profiles(directory))


def read(directory: Path) -> Data:
    """Read and analyse the run in a directory. Raises JournalError."""
    return Recorded.of(directory).analysed(directory)


def gather(
    run: RunInfo,
    rows: pl.DataFrame,
    trials: pl.DataFrame,
    histograms: pl.DataFrame,
    series: pl.DataFrame,
) -> Data:
    """Analyse a run. Frames as the journal returns them."""
    rows, every = printable(rows), shown_trials(trials)
    trials = every.filter(pl.col("block") > 0)
    vpns = sorted(trials["vpn"].unique())
    observed = observations(rows)
    columns = Columns(observed, run.design, run.line)
    summary = summarise_observed(observed, looks=columns.design.looks)
    found = medians(rows, vpns, summary)
    places = {name: place for place, name in enumerate(run.conditions)}
    found.sort(key=lambda one: places.get(one.condition, len(places)))
    ordered = list(found[0].vpns) if found else vpns
    return Data(
        run=run,
        rows=rows,
        trials=trials,
        every_trial=every,
        histograms=histograms,
        series=series,
        observed=observed,
        summary=summary,
        columns=columns,
        medians=found,
        counts=status_counts(trials),
        counts_by_vpn=counts_by_vpn(trials),
        labels=Labels(trials),
        vpns=ordered,
        colours=colours(ordered),
        shapes=shapes(ordered),
        foreign=published_tables(trials, rows) if run.imported else {},
    )


def shown_trials(trials: pl.DataFrame) -> pl.DataFrame:
    """Trials as the journal returns them, as a report and notebooks show them."""
    return printable(trials.select(_TRIALS)).sort("trial")


def printable(frame: pl.DataFrame) -> pl.DataFrame:
    """Names without control characters and line separators, and of a length that charts and
    terminals can show; a long one ends in its checksum.

    A study cannot contain others; an imported or damaged journal can.
    """
    columns = ("vpn", "condition", "measurement")
    shown = frame.with_columns(
        pl.col(name).str.replace_all(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]", "\ufffd") for name in columns
    )
    long = {
        text: f"{text[:LONGEST_NAME]}\u2026 {hashlib.sha256(text.encode()).hexdigest()[:8]}"
        for name in columns
        for text in shown[name].unique()
        if len(text) > LONGEST_NAME
    }
    return shown.with_columns(pl.col(columns).replace(long)) if long else shown
