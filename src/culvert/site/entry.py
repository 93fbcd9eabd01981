"""What a site shows of one run, beside its report. Every statement is the report's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import polars as pl

from culvert.analysis.declared import compared_metrics
from culvert.analysis.headline import Headline
from culvert.errors import CulvertError
from culvert.files.names import slug
from culvert.files.target import write
from culvert.history.machine import machine_of
from culvert.history.places import LeftOut, Place
from culvert.history.store import Tables, summarised
from culvert.report.charts import figures, sections
from culvert.report.html.page import SharedFiles, render
from culvert.report.model import read
from culvert.report.sentences import question_scale, verdict
from culvert.report.views.headline import HeadlineView, headline_views
from culvert.study.vpn_id import family_of


@dataclass(frozen=True)
class Figure:
    """One figure of a VPN: as the report's headline shows it, and for sorting in the journal's
    unit. ``absolute`` has its unit and its interval."""

    title: str
    note: str
    below: str
    badge: str
    rank: str
    absolute: str
    value: float
    unit: str
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Line:
    """One VPN in one condition."""

    vpn: str
    version: str
    condition: str
    figures: tuple[Figure, ...]
    verdict: str

    @property
    def family(self) -> str:
        """The VPN without variant and options."""
        return family_of(self.vpn)


@dataclass(frozen=True)
class Card:
    """The leader of a question, and how certain that is."""

    condition: str
    title: str
    vpn: str
    value: str
    standing: str
    certain: bool


@dataclass(frozen=True)
class Entry:
    """One run. ``page`` is the path of its report in the site."""

    study: str
    title: str
    machine: str
    started_at: str
    culvert: str
    trials: int
    ok: int
    page: str
    lines: tuple[Line, ...]
    cards: tuple[Card, ...]
    claims: tuple[tuple[str, str], ...]
    tables: Tables
    """For the series of all runs."""


def entry(place: Place, out: Path) -> Entry | LeftOut:
    """Write the report of a run into the site, and return what other pages show of it. Its page has
    the same name in each build of the site."""
    try:
        data = read(place.directory)
    except CulvertError as error:
        return LeftOut(place.directory, error.why)
    run, machine = data.run, machine_of(data.run)
    begun = run.started_at[:16].replace(":", "").replace("-", "")
    identity = sha256(repr((run.study, run.started_at, machine)).encode()).hexdigest()
    name = f"{slug(run.study)}-{slug(begun)}-{identity[:8]}"
    page = render(data, sections(figures(data)), SharedFiles("../../vega.js", "../../index.html"))
    write(out / "run" / name / "index.html", page.encode("utf-8", "replace"))
    views = headline_views(data)
    lines = [
        line
        for headline, view in zip(data.headlines, views, strict=True)
        for line in _lines(headline, view)
    ]
    cards = [
        Card(view.condition, one.title, one.vpn, one.value, one.standing, one.certain)
        for view in views
        for one in view.winners
    ]
    tables = summarised(place, run, data.rows)
    compared = pl.col("metric").is_in(compared_metrics())
    return Entry(
        study=run.study,
        title=run.title or run.study,
        machine=machine,
        started_at=run.started_at,
        culvert=run.culvert_version,
        trials=data.counts.total,
        ok=data.counts.ok,
        page=f"run/{name}/index.html",
        lines=tuple(lines),
        cards=tuple(cards),
        claims=tuple((str(one.verdict), one.text) for one in data.claims.judged),
        # No path of this machine is published.
        tables=Tables(
            tables.runs.with_columns(run=pl.lit(f"run/{name}/index.html")),
            tables.cells.filter(compared),
        ),
    )


def _lines(headline: Headline, view: HeadlineView) -> Iterator[Line]:
    scales = {one.key: question_scale(headline, one) for one in headline.questions}
    for row in view.rows:
        figures = []
        for question, (title, note), cell in zip(
            headline.questions, view.columns, row.cells, strict=True
        ):
            if cell is None:
                continue
            answer = headline.answers[row.vpn, question.key].absolute
            estimate = answer.value, answer.low, answer.high
            figures.append(
                Figure(
                    title=title,
                    note=note,
                    below=str(cell.below),
                    badge=cell.badge,
                    rank=cell.rank,
                    absolute=scales[question.key].with_unit_and_interval(*estimate),
                    value=answer.value,
                    unit=question.unit,
                    low=answer.low,
                    high=answer.high,
                    n=answer.n,
                )
            )
        said = "" if row.baseline else verdict(headline, row.vpn)
        yield Line(row.vpn, row.version, view.condition, tuple(figures), said)
