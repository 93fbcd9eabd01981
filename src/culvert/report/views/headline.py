"""The headline as the page and the terminal show it: texts, and bar lengths as fractions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from culvert.analysis.headline import Answer, Estimate, Headline, Question, Winner
from culvert.analysis.status import StatusCounts
from culvert.metrics import Effect
from culvert.report.labels import short_version
from culvert.report.model import Data
from culvert.report.numbers import Scale
from culvert.report.sentences import (
    FigureText,
    difference,
    joined,
    kept_together,
    place,
    question_scale,
    share,
    standing,
    times,
    verdict,
)
from culvert.statistics.ranks import leads
from culvert.study.vpn_id import BASELINE
from culvert.units import plural

QUIET = "#888888"
"""The colour of lines that belong to no VPN."""


@dataclass(frozen=True)
class Bar:
    """Fractions of the column's width, 0 to 1; the interval's ends if there is one."""

    length: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class HeadlineCell:
    """One answer: the figure with its interval, how it relates to the baseline, a bar."""

    main: str
    interval: str
    below: FigureText
    """``19 % of none [15, 25]``, ``+1.9 ms [0.1, 17]``, ``no difference shown [-5, 19] ms``."""
    bar: Bar | None
    badge: str
    """``best``, ``may be best`` or nothing."""
    trials: str
    rank: str
    """``1st``, ``2nd or 3rd``; empty for the baseline, and if every rank is possible."""


@dataclass(frozen=True)
class HeadlineRow:
    """One VPN."""

    vpn: str
    version: str
    colour: str
    baseline: bool
    counts: StatusCounts
    cells: tuple[HeadlineCell | None, ...]


@dataclass(frozen=True)
class WinnerCard:
    """The leading VPN of a question, and how certain that is."""

    title: str
    vpn: str
    colour: str
    value: str
    standing: str
    certain: bool


@dataclass(frozen=True)
class HeadlineView:
    """One condition."""

    condition: str
    columns: tuple[tuple[str, str], ...]
    """Title, and its cell with the better direction."""
    rows: tuple[HeadlineRow, ...]
    winners: tuple[WinnerCard, ...]
    verdicts: tuple[tuple[str, str], ...]
    """Colour and sentence."""


def headline_views(data: Data) -> list[HeadlineView]:
    """Every condition's headline."""
    versions = dict(data.trials.select("vpn", "version").iter_rows())
    return [_headline(data, headline, versions) for headline in data.headlines]


def _headline(data: Data, headline: Headline, versions: Mapping[str, str]) -> HeadlineView:
    scales = {question.key: question_scale(headline, question) for question in headline.questions}
    impossible = [vpn for vpn in headline.vpns if _impossible(data, vpn)]
    rows = tuple(
        HeadlineRow(
            vpn=vpn,
            version=short_version(version) if (version := versions.get(vpn, "")) != vpn else "",
            colour=data.colours[vpn],
            baseline=vpn == BASELINE,
            counts=data.counts_by_vpn.get(vpn, StatusCounts()),
            cells=tuple(
                _cell(headline, question, vpn, scales[question.key])
                for question in headline.questions
            ),
        )
        for vpn in headline.vpns
        if vpn not in impossible
    )
    unit = "block" if data.run.design.paired else "trial"
    winners = tuple(
        WinnerCard(
            title=question.column.superlative,
            vpn=winner.vpn,
            colour=data.colours[winner.vpn],
            value=scales[question.key].text(best.value, best.low, best.high),
            standing=standing(winner, unit),
            certain=winner.certain,
        )
        for question in headline.questions
        if question.column.superlative
        and (winner := headline.winners.get(question.key)) is not None
        and (best := winner.absolute)
    )
    # A VPN with trials that count, but none of these measurements, has no verdict here.
    verdicts = tuple(
        (data.colours[row.vpn], kept_together(verdict(headline, row.vpn)))
        for row in rows
        if not row.baseline and (any(row.cells) or not row.counts.ok)
    )
    if impossible:
        sentence = f"Not possible here: {joined(impossible)}. The list of trials gives the reasons."
        verdicts += ((QUIET, sentence),)
    columns = tuple(
        (question.column.title, _column_note(data, question)) for question in headline.questions
    )
    return HeadlineView(headline.condition, columns, rows, winners, verdicts)


def _impossible(data: Data, vpn: str) -> bool:
    """Whether none of its trials was tried: its row would be empty."""
    counts = data.counts_by_vpn.get(vpn, StatusCounts())
    return 0 < counts.unsupported == counts.total


def _column_note(data: Data, question: Question) -> str:
    cell = data.labels.parameters(question.measurement, question.parameters)
    direction = "more is better" if question.more_is_better else "less is better"
    return ", ".join(part for part in (cell, direction) if part)


def _cell(headline: Headline, question: Question, vpn: str, scale: Scale) -> HeadlineCell | None:
    answer = headline.answers.get((vpn, question.key))
    if answer is None:
        return None
    absolute, relative = answer.absolute, answer.relative
    if vpn == BASELINE:
        below = FigureText("the baseline")
    elif vpn in headline.apart:
        below = FigureText("not comparable with the baseline here")
    elif question.column.absolute:  # a link without a VPN needs no start
        below = FigureText("")
    elif relative is None:
        below = FigureText("no baseline to compare with")
    else:
        below = _beside_baseline(question, relative)
    interval = scale.ends(absolute.value, absolute.low, absolute.high)
    winner = headline.winners.get(question.key)
    return HeadlineCell(
        main=scale.text(absolute.value, absolute.low, absolute.high),
        interval=interval or f"no interval, {plural(absolute.n, 'trial')}",
        below=below,
        bar=_bar(headline, question, answer),
        badge=_badge(winner, vpn),
        trials=plural(absolute.n, "trial"),
        rank=_rank(winner, vpn),
    )


def _beside_baseline(question: Question, relative: Estimate) -> FigureText:
    if question.column.effect is Effect.DIFFERENCE:
        return difference(question.unit, relative)
    words, of = (share, f"of {BASELINE}") if question.more_is_better else (times, BASELINE)
    figure = words(relative.value, relative.low, relative.high)
    return FigureText(f"{figure.main} {of}", figure.interval)


def _badge(winner: Winner | None, vpn: str) -> str:
    """``best`` or ``may be best`` by rank; empty if all VPNs share the place."""
    return str(leads(winner.ranks).get(vpn, "")) if winner else ""


def _rank(winner: Winner | None, vpn: str) -> str:
    """The rank among the VPNs, as a range if the data do not decide it."""
    rank = winner.ranks.get(vpn) if winner else None
    if winner is None or rank is None or rank.worst - rank.best == winner.contenders - 1:
        return ""
    return place(rank)


def _bar(headline: Headline, question: Question, answer: Answer) -> Bar | None:
    """The absolute figure as a share of the column's greatest."""
    ends = [
        found.absolute.high or found.absolute.value
        for (_, key), found in headline.answers.items()
        if key == question.key
    ]
    most = max(ends, default=0.0)
    if most <= 0:
        return None
    absolute = answer.absolute

    def fraction(value: float | None) -> float | None:
        return None if value is None else min(1.0, max(0.0, value / most))

    return Bar(fraction(absolute.value) or 0.0, fraction(absolute.low), fraction(absolute.high))
